package io.weir.instance;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** Calls that one HTTP/2 connection cannot carry use another one. */
class SharedConnectionIT extends OneGatewayTests {

    private static final String ORDERS = "orders";
    private static final int STREAMS = 2;
    private static final int CALLS = 7;

    private static final AtomicBoolean waits = new AtomicBoolean();
    private static final AtomicInteger present = new AtomicInteger();
    private static TestServer server;

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
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(
                        ORDERS,
                        "http://127.0.0.1:" + server.port(),
                        "protocol: h2",
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 100 }")
                .route(ORDERS, ORDERS)
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        server.close();
    }

    @Door.Each
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
}
