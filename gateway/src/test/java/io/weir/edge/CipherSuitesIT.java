package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.io.IOException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The cipher suites of the gateway's server. */
@Tag("tls")
class CipherSuitesIT {

    private static final String[] CBC = {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"};

    private static X509Bundle certificate;

    @BeforeAll
    static void createCertificate() throws Exception {
        certificate = new CertificateBuilder()
                .subject("CN=a")
                .setIsCertificateAuthority(true)
                .rsa2048()
                .buildSelfSigned();
    }

    private static TestGateway start(TestBackend backend, String server, String options) {
        return TestGateway.setup()
                .backend("b", backend.uri())
                .route("b", "b")
                .line("server: { ssl.bundle: edge" + server + " }")
                .line("spring.ssl.bundle.pem.edge:" + options)
                .line("  keystore:")
                .line("    certificate: |\n"
                        + certificate.getCertificatePEM().strip().indent(6))
                .line("    private-key: |\n"
                        + certificate.getPrivateKeyPEM().strip().indent(6))
                .start();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void offersNoCbcSuiteByDefault(boolean http2) throws Exception {
        try (TestBackend backend = TestBackend.healthy();
                TestGateway gateway = start(backend, ", http2.enabled: " + http2, "")) {
            for (String suite :
                    new String[] {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
                    }) {
                assertThat(negotiated(gateway.port(), suite)).isEqualTo(suite);
            }
            for (String suite : CBC) {
                assertThatThrownBy(() -> negotiated(gateway.port(), suite))
                        .as(suite)
                        .isInstanceOf(SSLHandshakeException.class);
            }
        }
    }

    @Test
    void offersTheSuitesThatABundleNames() throws Exception {
        String suite = CBC[0];
        try (TestBackend backend = TestBackend.healthy();
                TestGateway gateway =
                        start(backend, ", http2.enabled: false", "\n  options.ciphers: [" + suite + "]")) {
            assertThat(negotiated(gateway.port(), suite)).isEqualTo(suite);
        }
    }

    private static String negotiated(int port, String suite) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
            socket.setEnabledProtocols(new String[] {"TLSv1.2"});
            socket.setEnabledCipherSuites(new String[] {suite});
            socket.startHandshake();
            return socket.getSession().getCipherSuite();
        } catch (SSLHandshakeException e) {
            throw e;
        } catch (IOException e) {
            throw new AssertionError(suite, e);
        }
    }
}
