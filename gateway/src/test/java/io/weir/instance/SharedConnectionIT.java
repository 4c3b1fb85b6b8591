package io.weir.instance;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import io.weir.testing.TestServer;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** Calls that one HTTP/2 connection cannot carry use another one. */
class SharedConnectionIT extends OneGatewayTests {

    private static final String ORDERS = "orders";
    private static final String UNREAD = "unread";
    /** More than a connection's window. */
    private static final int LARGE_BODY = 100_000;
    /** More than there are connections, which take turns. */
    private static final int IN_A_ROW = 10;

    private static final int STREAMS = 2;
    private static final int CALLS = 7;

    private static final AtomicBoolean waits = new AtomicBoolean();
    private static final AtomicInteger present = new AtomicInteger();
    private static TestServer server;
    private static TestHttp2Backend unread;

    @BeforeAll
    static void start() {
        server = TestServer.start(HttpServer.create()
                .protocol(HttpProtocol.H2C)
                .http2Settings(settings -> settings.maxConcurrentStreams(STREAMS))
                .handle((request, response) -> {
                    present.incrementAndGet();
                    return Mono.delay(Duration.ofMillis(10))
                            .repeat(waits::get)
                            .then(response.sendString(Mono.just("ok")).then())
                            .doFinally(_ -> present.decrementAndGet());
                }));
        unread = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(
                        ORDERS,
                        "http://127.0.0.1:" + server.port(),
                        "protocol: h2",
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 100 }")
                .route(ORDERS, ORDERS)
                .backend(
                        UNREAD,
                        unread.uri(),
                        "protocol: h2",
                        "deadline: 10m",
                        "connection: { connect-timeout: 500ms }",
                        "circuit-breaker: { enforce: false }")
                .route(UNREAD, UNREAD)
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        server.close();
        unread.close();
    }

    @Door.Any
    void furtherCallsUseFurtherConnections(Door door) {
        waits.set(true);
        List<CompletableFuture<TestCaller.Answer>> calls = Stream.generate(
                        () -> TestCaller.ask(gateway.port(), door.path(ORDERS, "1")))
                .limit(CALLS)
                .toList();

        try {
            await().atMost(PATIENCE).until(() -> present.get() == CALLS);
        } finally {
            waits.set(false);
        }

        assertThat(calls).allSatisfy(call -> assertThat(call.join().status()).isEqualTo(200));
    }

    /** The window of a connection is for all its streams: one upload that is not read uses it up. */
    @Test
    void uploadsGoOnWhileOneIsNotRead() throws Exception {
        CountDownLatch arrived = new CountDownLatch(1);
        unread.readBodies(false);
        unread.behave(stream -> arrived.countDown());
        try (TestCaller stuck = TestCaller.to(gateway.port())) {
            post(stuck, LARGE_BODY);
            assertThat(arrived.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            unread.readBodies(true);
            unread.behave(stream -> {
                if (stream.isReadToItsEnd()) {
                    stream.answer(200);
                }
            });

            await().atMost(PATIENCE).until(() -> areUploadsAnswered(IN_A_ROW));
        }
    }

    /** One after the other: calls at once open further connections. */
    private static boolean areUploadsAnswered(int uploads) throws IOException {
        for (int i = 0; i < uploads; i++) {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                // Only a stuck one takes as long. On a busy machine, another try follows.
                caller.socket().setSoTimeout(1_000);
                post(caller, 1);
                if (caller.answer().status() != 200) {
                    return false;
                }
            } catch (SocketTimeoutException e) {
                return false;
            }
        }
        return true;
    }

    private static void post(TestCaller caller, int bytes) throws IOException {
        caller.send(TestCaller.head("POST", Door.COMPILED.path(UNREAD, "1"), "Content-Length: " + bytes));
        caller.send(new byte[bytes]);
    }
}
