package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.security.cert.X509Certificate;
import java.util.Base64;
import org.junit.jupiter.api.Test;

class ClientCertificateTest {

    @Test
    void isWrittenAsByteSequencesOfRfc9440() throws Exception {
        X509Bundle authority = new CertificateBuilder()
                .subject("CN=authority")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        X509Bundle own = new CertificateBuilder().subject("CN=alice").buildIssuedBy(authority);
        X509Certificate[] shown = {own.getCertificate(), authority.getCertificate()};
        ClientCertificate certificate = ClientCertificate.of(shown);

        assertThat(written(certificate, ClientCertificateMode.NONE).isEmpty()).isTrue();
        HttpHeaders leaf = written(certificate, ClientCertificateMode.LEAF);
        assertThat(leaf.get("client-cert")).isEqualTo(sequence(shown[0]));
        assertThat(leaf.get("client-cert-chain")).isNull();
        HttpHeaders chain = written(certificate, ClientCertificateMode.CHAIN);
        assertThat(chain.get("client-cert-chain")).isEqualTo(sequence(shown[1]));
        assertThat(written(
                                ClientCertificate.of(new X509Certificate[] {shown[0], shown[1], shown[1]}),
                                ClientCertificateMode.CHAIN)
                        .get("client-cert-chain"))
                .isEqualTo(sequence(shown[1]) + ", " + sequence(shown[1]));
    }

    private static HttpHeaders written(ClientCertificate certificate, ClientCertificateMode mode) {
        HttpHeaders head = new DefaultHttpHeaders();
        certificate.writeTo(head, mode);
        return head;
    }

    private static String sequence(X509Certificate certificate) throws Exception {
        return ':' + Base64.getEncoder().encodeToString(certificate.getEncoded()) + ':';
    }
}
