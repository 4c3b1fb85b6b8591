package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The TLS records of an answer: each costs the gateway an encryption and a write to the socket. */
@Tag("tls")
class AnswerRecordsIT {

    private static final int APPLICATION_DATA = 23;
    private static final int ANSWER_BYTES = 4_000_000;
    /** More than the buffers of Netty's default, which become a record each. */
    private static final int LEAST_MEAN_BYTES = 8_500;

    /** Counts the records with data that a server sends over one connection. */
    private static final class RecordCounter implements AutoCloseable {

        final AtomicInteger records = new AtomicInteger();
        private final ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        private final int target;

        RecordCounter(int target) throws IOException {
            this.target = target;
            Thread.ofVirtual().start(this::relay);
        }

        int port() {
            return listener.getLocalPort();
        }

        private void relay() {
            try (Socket client = listener.accept();
                    Socket server = new Socket(InetAddress.getLoopbackAddress(), target)) {
                Thread.ofVirtual().start(() -> copy(client, server));
                DataInputStream in = new DataInputStream(server.getInputStream());
                OutputStream out = client.getOutputStream();
                while (true) {
                    byte[] head = in.readNBytes(5);
                    byte[] rest = in.readNBytes((head[3] & 0xff) << 8 | head[4] & 0xff);
                    if (head[0] == APPLICATION_DATA) {
                        records.incrementAndGet();
                    }
                    out.write(head);
                    out.write(rest);
                }
            } catch (EOFException | SocketException | ArrayIndexOutOfBoundsException closed) {
                // The end of the test.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static void copy(Socket from, Socket to) {
            try {
                from.getInputStream().transferTo(to.getOutputStream());
            } catch (IOException closed) {
                // The end of the test.
            }
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void ofALargeAnswerAreLarge(Version version) throws Exception {
        String body = "x".repeat(ANSWER_BYTES);
        SSLContext trustful = SSLContext.getInstance("TLS");
        trustful.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        try (TestBackend backend = TestBackend.start((request, conversation) -> conversation.answer(200, body));
                TestGateway gateway = TestGateway.setup()
                        .backend("b", backend.uri())
                        .route("b", "b")
                        .line(TestTls.serverLines())
                        .line("server.http2.enabled: " + (version == Version.HTTP_2))
                        .start();
                RecordCounter counter = new RecordCounter(gateway.port());
                HttpClient client = HttpClient.newBuilder()
                        .sslContext(trustful)
                        .version(version)
                        .build()) {
            for (Door door : Door.values()) {
                int before = counter.records.get();
                URI uri = URI.create("https://localhost:" + counter.port() + door.path("b", "x"));
                HttpResponse<String> answer =
                        client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());

                assertThat(answer.statusCode()).isEqualTo(200);
                assertThat(answer.body()).hasSize(ANSWER_BYTES);
                assertThat(ANSWER_BYTES / (counter.records.get() - before))
                        .as("bytes in a record, %s", door)
                        .isGreaterThan(LEAST_MEAN_BYTES);
            }
        }
    }
}
