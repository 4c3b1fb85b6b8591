package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.CertificateBuilder.Algorithm;
import io.netty.pkitesting.X509Bundle;
import io.weir.config.check.TlsMaterial.Expiry;
import io.weir.config.check.TlsMaterial.Finding;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Decisions about keys and certificates. */
class TlsMaterialTest {

    private static final Instant NOW = Instant.parse("2026-06-01T12:00:00Z");
    private static final Instant BEGIN = NOW.minus(Duration.ofDays(30));
    private static final Instant END = NOW.plus(Duration.ofDays(30));

    private static CertificateBuilder certificate(String name) {
        return new CertificateBuilder()
                .subject("CN=" + name)
                .notBefore(BEGIN)
                .notAfter(END)
                .setIsCertificateAuthority(true);
    }

    private static X509Bundle of(Algorithm algorithm) throws Exception {
        return certificate("edge").algorithm(algorithm).buildSelfSigned();
    }

    private static KeyStore keys(PrivateKey key, X509Certificate... chain) throws Exception {
        // Unlike PKCS12, JKS takes any chain.
        KeyStore store = KeyStore.getInstance("JKS");
        store.load(null, null);
        store.setKeyEntry("edge", key, "changeit".toCharArray(), chain);
        return store;
    }

    private static KeyStore trusted(X509Certificate... certificates) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        for (int i = 0; i < certificates.length; i++) {
            store.setCertificateEntry("ca-" + i, certificates[i]);
        }
        return store;
    }

    private static List<Finding> findings(KeyStore keys) {
        return material(keys).findings(NOW);
    }

    private static TlsMaterial material(KeyStore keys) {
        return new TlsMaterial(keys, "changeit".toCharArray(), null, null);
    }

    private static PrivateKey key(X509Bundle bundle) {
        return bundle.getKeyPair().getPrivate();
    }

    @ParameterizedTest
    @EnumSource(
            value = Algorithm.class,
            names = {"rsa2048", "ecp256", "ecp384", "ed25519", "ed448"})
    void acceptsAKeyWithItsCertificateAndRefusesAnother(Algorithm algorithm) throws Exception {
        X509Bundle one = of(algorithm);
        X509Bundle other = of(algorithm);

        assertThat(findings(keys(key(one), one.getCertificate()))).isEmpty();
        assertThat(findings(keys(key(other), one.getCertificate())))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.isFatal()).isTrue();
                    assertThat(finding.text()).contains("does not match", "CN=edge");
                });
    }

    @ParameterizedTest
    @CsvSource({"rsa2048, ecp256", "ecp256, rsa2048", "ecp256, ecp384", "ed25519, ed448"})
    void refusesAKeyOfAnotherKind(Algorithm one, Algorithm other) throws Exception {
        assertThat(findings(keys(key(of(one)), of(other).getCertificate())))
                .singleElement()
                .satisfies(finding -> assertThat(finding.text()).contains("does not match"));
    }

    @Test
    void acceptsAChainInAnyOrder() throws Exception {
        X509Bundle root = certificate("root").ecp256().buildSelfSigned();
        X509Bundle between = certificate("between").ecp256().buildIssuedBy(root);
        X509Bundle edge = certificate("edge").ecp256().buildIssuedBy(between);

        assertThat(findings(keys(key(edge), edge.getCertificate(), between.getCertificate(), root.getCertificate())))
                .isEmpty();
        assertThat(findings(keys(key(edge), edge.getCertificate(), root.getCertificate(), between.getCertificate())))
                .isEmpty();
        assertThat(findings(keys(key(edge), edge.getCertificate()))).isEmpty();
    }

    /** The new intermediate has the name of the old one, and another key. */
    @Test
    void refusesAnIntermediateThatHasNotSignedTheCertificate() throws Exception {
        X509Bundle root = certificate("root").ecp256().buildSelfSigned();
        X509Bundle old = certificate("between").ecp256().buildIssuedBy(root);
        X509Bundle renewed = certificate("between").ecp256().buildIssuedBy(root);
        X509Bundle edge = certificate("edge").ecp256().buildIssuedBy(old);

        assertThat(findings(keys(key(edge), edge.getCertificate(), renewed.getCertificate())))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.isFatal()).isFalse();
                    assertThat(finding.text()).contains("CN=between");
                });
    }

    @ParameterizedTest
    @CsvSource({"-10, -1", "1, 10"})
    void refusesACertificateOutsideItsValidity(int fromDays, int toDays) throws Exception {
        X509Bundle root = certificate("root").ecp256().buildSelfSigned();
        X509Bundle outside = certificate("edge")
                .ecp256()
                .notBefore(NOW.plus(Duration.ofDays(fromDays)))
                .notAfter(NOW.plus(Duration.ofDays(toDays)))
                .buildIssuedBy(root);

        assertThat(findings(keys(key(outside), outside.getCertificate(), root.getCertificate())))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.isFatal()).isFalse();
                    assertThat(finding.text()).contains("CN=edge", "valid from");
                });
    }

    @Test
    void refusesAStoreWithoutAKey() throws Exception {
        assertThat(findings(trusted(of(Algorithm.ecp256).getCertificate())))
                .singleElement()
                .satisfies(finding -> assertThat(finding.isFatal()).isTrue());
    }

    @Test
    void acceptsTrustedAuthoritiesOfWhichSomeHaveExpired() throws Exception {
        X509Certificate valid = certificate("new").ecp256().buildSelfSigned().getCertificate();
        X509Certificate expired = certificate("old")
                .ecp256()
                .notAfter(NOW.minus(Duration.ofDays(1)))
                .buildSelfSigned()
                .getCertificate();

        assertThat(new TlsMaterial(null, null, null, trusted(valid, expired)).findings(NOW))
                .isEmpty();
        assertThat(new TlsMaterial(null, null, null, trusted(expired)).findings(NOW))
                .hasSize(1);
        assertThat(new TlsMaterial(null, null, null, trusted()).findings(NOW)).hasSize(1);
    }

    @Test
    void reportsTheEarliestExpiryOfAChain() throws Exception {
        X509Bundle root = certificate("root")
                .ecp256()
                .notAfter(END.minus(Duration.ofDays(7)))
                .buildSelfSigned();
        X509Bundle edge = certificate("edge").ecp256().buildIssuedBy(root);

        assertThat(new TlsMaterial(
                                keys(key(edge), edge.getCertificate(), root.getCertificate()),
                                "changeit".toCharArray(),
                                null,
                                trusted(root.getCertificate(), edge.getCertificate()))
                        .expiries())
                .containsExactly(
                        new Expiry("key", "edge", END.minus(Duration.ofDays(7))),
                        new Expiry("trust", "ca-0", END.minus(Duration.ofDays(7))),
                        new Expiry("trust", "ca-1", END));
    }
}
