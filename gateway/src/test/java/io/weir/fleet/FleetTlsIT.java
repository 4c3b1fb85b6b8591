package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.testing.NameServer;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.netty.http.client.HttpClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Two gateways whose management ports have TLS, and ask their clients for a certificate: a gateway proves its
 * identity by the name of all gateways.
 */
class FleetTlsIT {

    private static final String FIRST = "127.0.0.5";
    private static final String SECOND = "127.0.0.6";

    @TempDir
    private Path directory;

    private final NameServer dns = new NameServer("gateways.test", List.of(FIRST, SECOND));
    private final TestBackend backend = TestBackend.healthy();
    private final X509Bundle authority = authority();

    private static X509Bundle authority() {
        try {
            return new CertificateBuilder()
                    .subject("CN=authority")
                    .setIsCertificateAuthority(true)
                    .buildSelfSigned();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterEach
    void close() {
        backend.close();
        dns.close();
    }

    @Test
    void reachesAGatewayWithACertificateForTheNameOfAllGateways() throws Exception {
        JsonNode row = rowOfTheSecond("gateways.test");

        assertThat(row.has("problem")).as("%s", row).isFalse();
        assertThat(row.path("phase").asString()).isEqualTo("serving");
    }

    @Test
    void sendsNoTokenToAGatewayWithACertificateForAnotherName() throws Exception {
        assertThat(rowOfTheSecond("elsewhere.test").path("problem").asString()).startsWith("TLS failed: ");
    }

    private JsonNode rowOfTheSecond(String nameOfTheSecond) throws Exception {
        X509Bundle client = certificate("gateways.test");
        try (TestGateway first = TestGateway.startAt(file(client), FIRST, 0);
                TestGateway second =
                        TestGateway.startAt(file(certificate(nameOfTheSecond)), SECOND, first.managementPort())) {
            HttpClient caller = HttpClient.create()
                    .secure(spec -> spec.sslContext(tls(client)))
                    .baseUrl("https://" + FIRST + ':' + second.managementPort());
            return await().until(
                            () -> JsonMapper.shared()
                                    .readTree(caller.get()
                                            .uri("/actuator/weirfleet")
                                            .responseContent()
                                            .aggregate()
                                            .asString()
                                            .block())
                                    .at("/gateways/1"),
                            row -> row.path("address").asString("").equals(SECOND));
        }
    }

    private SslContext tls(X509Bundle client) {
        try {
            return SslContextBuilder.forClient()
                    .keyManager(client.toKeyManagerFactory())
                    .trustManager(authority.toTrustManagerFactory())
                    .build();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private X509Bundle certificate(String name) throws Exception {
        return new CertificateBuilder()
                .subject("CN=gateway")
                .addSanDnsName(name)
                // For the operator of the first gateway.
                .addSanIpAddress(FIRST)
                .buildIssuedBy(authority);
    }

    private Path file(X509Bundle certificate) throws Exception {
        String bundle = "spring.ssl.bundle.pem.management.";
        String yaml = """
                weir:
                  cluster: { gateways: gateways.test., dns-server: "%s", refresh-interval: 100ms }
                  backends:
                    orders: { uri: "%s" }
                management.server.ssl: { bundle: management, client-auth: need }
                """.formatted(dns.address(), backend.uri())
                + bundle + "keystore.certificate: |\n"
                + certificate.getCertificatePEM().strip().indent(2)
                + bundle + "keystore.private-key: |\n"
                + certificate.getPrivateKeyPEM().strip().indent(2)
                + bundle + "truststore.certificate: |\n"
                + authority.getCertificatePEM().strip().indent(2);
        return Files.writeString(Files.createTempFile(directory, "gateway", ".yml"), yaml);
    }
}
