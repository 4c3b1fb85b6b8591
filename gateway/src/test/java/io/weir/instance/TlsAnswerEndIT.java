package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/**
 * An answer over TLS that ends with its connection is complete only if the backend has ended TLS in order
 * (RFC 9112, 9.8).
 */
@Tag("tls")
class TlsAnswerEndIT extends OneGatewayTests {

    private static final String ORDERS = "orders";

    private static ServerSocket server;
    private static SSLContext tls;
    private static volatile String answer = "";
    private static volatile boolean endsInOrder;

    @BeforeAll
    static void start() throws Exception {
        X509Bundle certificate = new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        tls = SSLContext.getInstance("TLS");
        tls.init(certificate.toKeyManagerFactory().getKeyManagers(), null, null);
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(TlsAnswerEndIT::accept);
        gateway = TestGateway.setup()
                .withoutPauses()
                .line("spring.ssl.bundle.pem.trusted.truststore.certificate: |\n"
                        + certificate.getCertificatePEM().strip().indent(2).stripTrailing())
                .backend(
                        ORDERS,
                        "https://127.0.0.1:" + server.getLocalPort(),
                        "deadline: 20s",
                        "connection: { connect-timeout: 10s, ssl-bundle: trusted }")
                .route(ORDERS, ORDERS)
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    @AfterAll
    static void stop() throws IOException {
        gateway.close();
        server.close();
    }

    private static void accept() {
        try {
            while (true) {
                Socket connection = server.accept();
                Thread.ofVirtual().start(() -> serve(connection));
            }
        } catch (IOException e) {
            // The test is over.
        }
    }

    private static void serve(Socket connection) {
        try (connection) {
            SSLSocket secured = (SSLSocket) tls.getSocketFactory().createSocket(connection, "127.0.0.1", 0, false);
            secured.setUseClientMode(false);
            TestCaller request = TestCaller.over(secured);
            while (!request.line().isEmpty()) {
                // The request's head.
            }
            secured.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
            secured.getOutputStream().flush();
            if (endsInOrder) {
                secured.close();
            }
        } catch (IOException e) {
            // The gateway has closed the connection.
        }
    }

    private static TestCaller.Answer ask(Door door) throws IOException {
        return get(door, ORDERS, "1");
    }

    @Door.Any
    void failsAnAnswerThatEndsWithoutTheEndOfTls(Door door) throws IOException {
        answer = "HTTP/1.1 200 OK\r\n\r\nabc";
        endsInOrder = false;

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path(ORDERS, "1")));
            assertThat(caller.isReset()).isTrue();
        }
        gateway.assertFed(ORDERS, 1, 1, 0);
    }

    @Door.Any
    void passesOnAnAnswerThatEndsInOrder(Door door) throws IOException {
        answer = "HTTP/1.1 200 OK\r\n\r\nabc";
        endsInOrder = true;

        assertThat(ask(door).text()).isEqualTo("abc");
    }

    @Door.Any
    void passesOnAnAnswerWithALength(Door door) throws IOException {
        answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        endsInOrder = false;

        assertThat(ask(door).text()).isEqualTo("abc");
    }
}
