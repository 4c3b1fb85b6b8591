package io.weir.instance;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** The path of an HTTP/2 connection dies without a FIN; the backend is healthy, and takes new connections. */
class SilentConnectionIT extends OneGatewayTests {

    private static final String ORDERS = "orders";

    private static final AtomicInteger delayMillis = new AtomicInteger();
    private static TestServer server;
    private static Path path;

    /** A path through the network, which can forget its present connections. */
    private static final class Path implements AutoCloseable {

        private final int to;
        private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final List<Socket> sockets = new CopyOnWriteArrayList<>();
        private final List<Socket> dead = new CopyOnWriteArrayList<>();
        private final AtomicInteger accepted = new AtomicInteger();

        Path(int to) throws IOException {
            this.to = to;
            Thread.ofVirtual().start(this::accept);
        }

        private void accept() {
            try {
                while (true) {
                    Socket near = listening.accept();
                    Socket far = new Socket(InetAddress.getLoopbackAddress(), to);
                    accepted.incrementAndGet();
                    sockets.addAll(List.of(near, far));
                    Thread.ofVirtual().start(() -> carry(near, far));
                    Thread.ofVirtual().start(() -> carry(far, near));
                }
            } catch (IOException e) {
                // The test is over.
            }
        }

        private void carry(Socket from, Socket into) {
            try (from;
                    into) {
                InputStream in = from.getInputStream();
                OutputStream out = into.getOutputStream();
                byte[] buffer = new byte[8192];
                for (int size = in.read(buffer); size >= 0; size = in.read(buffer)) {
                    if (!dead.contains(from)) {
                        out.write(buffer, 0, size);
                    }
                }
            } catch (IOException e) {
                // One of the two has closed.
            }
        }

        /** The present connections lead nowhere from now on. */
        void forget() {
            dead.addAll(sockets);
        }

        @Override
        public void close() throws IOException {
            listening.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    @BeforeAll
    static void start() throws IOException {
        server = TestServer.start(HttpServer.create()
                .protocol(HttpProtocol.H2C)
                .handle((request, response) -> Mono.delay(Duration.ofMillis(delayMillis.get()))
                        .then(response.sendString(Mono.just("ok")).then())));
        path = new Path(server.port());
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(
                        ORDERS,
                        "http://127.0.0.1:" + path.listening.getLocalPort(),
                        "protocol: h2",
                        "deadline: 2s",
                        "recovery: { probe-interval: 100ms }")
                .route(ORDERS, ORDERS)
                .start();
    }

    @BeforeEach
    void calm() {
        delayMillis.set(0);
        gateway.calm();
    }

    @AfterAll
    static void stop() throws IOException {
        gateway.close();
        path.close();
        server.close();
    }

    private static int status(Door door) throws IOException {
        return get(door, ORDERS, "1").status();
    }

    @Door.Each
    void callsGoOnOverANewConnection(Door door) throws IOException {
        await().atMost(PATIENCE).until(() -> status(door) == 200);
        int before = path.accepted.get();
        path.forget();

        await().atMost(PATIENCE).until(() -> status(door) == 200);

        assertThat(path.accepted.get()).isEqualTo(before + 1);
    }

    /** The backend answers PINGs while it works. */
    @Door.Each
    void aSlowAnswerKeepsItsConnection(Door door) throws IOException {
        await().atMost(PATIENCE).until(() -> status(door) == 200);
        int before = path.accepted.get();
        delayMillis.set(1_500);

        assertThat(status(door)).isEqualTo(200);

        assertThat(path.accepted.get()).isEqualTo(before);
    }
}
