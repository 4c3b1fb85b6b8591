package io.weir.instance;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** The path of an HTTP/2 connection dies without a FIN; the backend is healthy, and takes new connections. */
class SilentConnectionIT extends OneGatewayTests {

    private static final String ORDERS = "orders";
    /** A backend with a long deadline, and a path of its own. */
    private static final String PATIENT = "patient";
    /** A connection is silent after three of these times. */
    private static final String CONNECTION = "connection: { connect-timeout: 500ms }";
    /** More than there are connections, which take turns. */
    private static final int IN_A_ROW = 10;

    private static final AtomicInteger delayMillis = new AtomicInteger();
    private static TestServer server;
    private static Path path;
    private static Path patientPath;

    /** A path through the network, which can forget its present connections. */
    private static final class Path implements AutoCloseable {

        private final int to;
        private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final List<Socket> sockets = new CopyOnWriteArrayList<>();
        private final List<Socket> dead = new CopyOnWriteArrayList<>();
        /** Connections that wait, until the test lets them go on. */
        private final List<Socket> paused = new CopyOnWriteArrayList<>();

        private final CountDownLatch resumed = new CountDownLatch(1);
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
                    if (paused.contains(from)) {
                        resumed.await();
                    }
                    if (!dead.contains(from)) {
                        out.write(buffer, 0, size);
                    }
                }
            } catch (IOException e) {
                // One of the two has closed.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** The present connections lead nowhere from now on. */
        void forget() {
            dead.addAll(sockets);
        }

        @Override
        public void close() throws IOException {
            resumed.countDown();
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
        patientPath = new Path(server.port());
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(
                        ORDERS,
                        "http://127.0.0.1:" + path.listening.getLocalPort(),
                        "protocol: h2",
                        "deadline: 2s",
                        CONNECTION,
                        "recovery: { probe-interval: 100ms }")
                .backend(
                        PATIENT,
                        "http://127.0.0.1:" + patientPath.listening.getLocalPort(),
                        "protocol: h2",
                        "deadline: 10m",
                        CONNECTION,
                        "circuit-breaker: { enforce: false }",
                        "bulkhead: { max-concurrent-calls: 1000 }")
                .route(ORDERS, ORDERS)
                .route(PATIENT, PATIENT)
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
        patientPath.close();
        server.close();
    }

    private static int status(Door door) throws IOException {
        return get(door, ORDERS, "1").status();
    }

    @Door.Any
    void callsGoOnOverANewConnection(Door door) throws IOException {
        await().atMost(PATIENCE).until(() -> status(door) == 200);
        int before = path.accepted.get();
        path.forget();

        await().atMost(PATIENCE).until(() -> status(door) == 200);

        assertThat(path.accepted.get()).isEqualTo(before + 1);
    }

    /** Such as of a backend that collects garbage: other calls use another connection meanwhile. */
    @Test
    void aCallOnAPausedConnectionIsAnsweredAfterThePause() throws Exception {
        await().atMost(PATIENCE).until(() -> get(Door.COMPILED, PATIENT, "1").status() == 200);
        patientPath.paused.addAll(patientPath.sockets);
        try (Waiting waiting = new Waiting()) {
            waiting.ask();

            await().atMost(PATIENCE).until(() -> waiting.areAnswered(IN_A_ROW));
            patientPath.resumed.countDown();

            waiting.assertAllAnswered();
        }
    }

    /** Callers who wait for their answers. */
    private static final class Waiting implements AutoCloseable {

        private final List<TestCaller> callers = new ArrayList<>();

        TestCaller ask() throws IOException {
            TestCaller caller = TestCaller.to(gateway.port());
            callers.add(caller);
            caller.send(TestCaller.head("GET", Door.COMPILED.path(PATIENT, "next")));
            return caller;
        }

        /** One after the other: calls at once open further connections. */
        boolean areAnswered(int calls) throws IOException {
            for (int i = 0; i < calls; i++) {
                TestCaller caller = ask();
                // Only a call on the paused connection takes as long. On a busy machine, another try follows.
                caller.socket().setSoTimeout(1_000);
                try {
                    assertThat(caller.answer().status()).isEqualTo(200);
                } catch (SocketTimeoutException e) {
                    return false;
                }
                callers.remove(caller);
                caller.close();
            }
            return true;
        }

        void assertAllAnswered() throws IOException {
            for (TestCaller caller : callers) {
                caller.socket().setSoTimeout((int) PATIENCE.toMillis());
                assertThat(caller.answer().status()).isEqualTo(200);
            }
        }

        @Override
        public void close() throws IOException {
            for (TestCaller caller : callers) {
                caller.close();
            }
        }
    }

    /** The backend answers PINGs while it works. */
    @Door.Any
    void aSlowAnswerKeepsItsConnection(Door door) throws IOException {
        await().atMost(PATIENCE).until(() -> status(door) == 200);
        int before = path.accepted.get();
        delayMillis.set(1_500);

        assertThat(status(door)).isEqualTo(200);

        assertThat(path.accepted.get()).isEqualTo(before);
    }
}
