package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.security.cert.Certificate;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CertificatePatternTest {

    private static X509Bundle authority;
    private static ClientCertificate batch;

    @BeforeAll
    static void create() throws Exception {
        authority = new CertificateBuilder()
                .subject("CN=authority")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        batch = certificate(
                "CN=batch,OU=night\\, late,O=Example,C=DE",
                "Batch.example",
                "a.batch.example",
                "spiffe://example.org/ns/shop/sa/batch");
    }

    private static ClientCertificate certificate(String subject, String... alternativeNames) throws Exception {
        CertificateBuilder builder = new CertificateBuilder().subject(subject);
        for (String name : alternativeNames) {
            if (name.contains("://")) {
                builder.addSanUriName(name);
            } else {
                builder.addSanDnsName(name);
            }
        }
        X509Bundle built = builder.buildIssuedBy(authority);
        return ClientCertificate.of(new Certificate[] {built.getCertificate()});
    }

    private static boolean matches(String pattern, ClientCertificate certificate) {
        return CertificatePattern.parse(pattern).matches(certificate);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "dns:batch.example",
                "dns:BATCH.example",
                "dns:*.batch.example",
                "dns:a.*.example",
                "dns:b*h.example",
                "uri:spiffe://example.org/ns/shop/sa/batch",
                "uri:spiffe://example.org/ns/*/sa/batch",
                "uri:spiffe://example.org/*",
                "uri:spiffe://*/ns/shop/sa/batch",
                "subject:CN=batch,OU=night\\, late,O=Example,C=DE",
                "subject:cn=batch, ou=night\\2C late, o=Example, c=DE",
                "subject:CN=*,OU=night\\, late,O=Example,C=DE",
                "subject:CN=batch,OU=night*,O=Example,C=DE"
            })
    void matchesTheCertificate(String pattern) {
        assertThat(matches(pattern, batch)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "dns:example",
                "dns:*.example.batch",
                "dns:*atch.example.org",
                "dns:batch*.example",
                "dns:*.example.org",
                // A wildcard covers no dot.
                "dns:*e",
                // The common name is no DNS name, and a URI neither.
                "dns:batch",
                "dns:example.org",
                "uri:batch.example",
                "uri:SPIFFE://example.org/ns/shop/sa/batch",
                "uri:spiffe://example.org/ns/shop/sa/batch/*",
                // A wildcard within a URI covers no slash.
                "uri:spiffe://example.org/*/batch",
                "subject:CN=batch",
                "subject:CN=Batch,OU=night\\, late,O=Example,C=DE",
                "subject:OU=night\\, late,CN=batch,O=Example,C=DE",
                "subject:CN=batch,OU=night\\, late,O=Example",
                // A wildcard covers one attribute.
                "subject:CN=*,C=DE",
                "subject:CN=batch,OU=night,O=Example,C=DE"
            })
    void doesNotMatchAnother(String pattern) {
        assertThat(matches(pattern, batch)).isFalse();
    }

    /** As text, the second subject may end like the pattern: RFC 4514 need not escape its equals sign. */
    @Test
    void isNotDeceivedByAnEscapedAttribute() throws Exception {
        assertThat(matches("subject:CN=*,O=Example", certificate("CN=mallory,O=Example")))
                .isTrue();
        ClientCertificate forged = certificate("CN=mallory\\,O=Example");
        assertThat(matches("subject:CN=mallory\\,O=Example", forged)).isTrue();
        assertThat(matches("subject:CN=*,O=Example", forged)).isFalse();
        assertThat(matches("subject:CN=*,O=Example", certificate("CN=mallory,OU=x,O=Example")))
                .isFalse();
        assertThat(matches("subject:CN=*,O=Example", certificate("CN=mallory+OU=x,O=Example")))
                .isFalse();
    }

    @Test
    void comparesAttributesInOneRelativeNameInAnyOrder() throws Exception {
        ClientCertificate both = certificate("CN=alice+UID=7,O=Example");

        assertThat(matches("subject:UID=7+CN=alice,O=Example", both)).isTrue();
        assertThat(matches("subject:UID=*+CN=alice,O=Example", both)).isTrue();
        assertThat(matches("subject:UID=8+CN=alice,O=Example", both)).isFalse();
        assertThat(matches("subject:CN=alice,O=Example", both)).isFalse();
    }

    @Test
    void readsAttributesAsOpenSslShowsThem() throws Exception {
        ClientCertificate mail = certificate("EMAILADDRESS=alice@example.org,SERIALNUMBER=17,CN=alice");

        assertThat(mail.name()).isEqualTo("emailAddress=alice@example.org,serialNumber=17,CN=alice");
        assertThat(matches("subject:emailAddress=*@example.org,serialNumber=17,CN=alice", mail))
                .isTrue();
    }

    @Test
    void namesACertificateWithoutASubjectByAnAlternativeName() throws Exception {
        ClientCertificate workload = certificate("", "spiffe://example.org/ns/shop/sa/batch");

        assertThat(workload.name()).isEqualTo("spiffe://example.org/ns/shop/sa/batch");
        assertThat(matches("uri:spiffe://example.org/ns/shop/*", workload)).isTrue();
        assertThat(matches("subject:CN=*", workload)).isFalse();
    }

    @Test
    void acceptsACertificateThatOnePatternOfARuleMatches() {
        assertThat(TestAuthentication.certificate("subject:CN=alice", "dns:batch.example")
                        .checkCertificate(batch))
                .isNull();
        assertThat(TestAuthentication.certificate().checkCertificate(batch)).isNull();
        assertThat(TestAuthentication.certificate("subject:CN=alice", "dns:other.example")
                        .checkCertificate(batch))
                .isNotNull();
        assertThat(TestAuthentication.certificate("dns:batch.example").checkCertificate(null))
                .isEqualTo(AuthenticationRefusal.NO_CERTIFICATE);
    }

    @ParameterizedTest
    @CsvSource({
        "a*b, ab, false",
        "a*b, axb, true",
        "a*b, axxb, true",
        "a*b, axxbc, false",
        "ab*ba, aba, false",
        "ab*ba, abba, false",
        "ab*ba, abxba, true",
        "*, a, true",
        "a*, a, false",
        "a, a, true",
        "a, ab, false",
        "a*b, a.b, false",
        "a*.b, a.b, false",
        "a*.b, ax.b, true",
        "a.*, a.b, true",
        // A wildcard in a certificate is an ordinary character.
        "a.b, *.b, false",
        "*.b, *.b, true"
    })
    void aWildcardStandsForOneOrMoreCharactersButNoDelimiter(String pattern, String text, boolean expected) {
        assertThat(Wildcard.matches(pattern, text, '.')).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "batch.example",
                "dns:",
                "uri:",
                "subject:",
                "dns:*.*.example",
                "dns:a b",
                "dns:.example",
                "dns:batch.example.",
                "dns:batch.example:443",
                "DNS:batch.example",
                "email:alice@example.org",
                "subject:alice",
                "subject:CN=alice,",
                "subject:=alice",
                "uri:spiffe://*/ns/*"
            })
    void refusesAnUnknownForm(String pattern) {
        assertThatIllegalArgumentException().isThrownBy(() -> CertificatePattern.parse(pattern));
    }

    @Test
    void readsTheNamesOfACertificate() {
        assertThat(batch.dnsNames()).isEqualTo(List.of("batch.example", "a.batch.example"));
        assertThat(batch.uris()).isEqualTo(List.of("spiffe://example.org/ns/shop/sa/batch"));
        assertThat(batch.subject()).hasToString("CN=batch,OU=night\\, late,O=Example,C=DE");
    }
}
