package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.weir.testing.SteadyCallers;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/** A backend with HTTP/2 that announces the end of its connections, as in a rolling restart. */
class GoAwayIT {

    /** Requests on a connection before its GOAWAY. */
    private static final int REQUESTS = 25;

    private static final int RESTARTS = 20;
    private static final long LINGER_MILLIS = 300;

    private final Map<Channel, AtomicInteger> requests = new ConcurrentHashMap<>();
    private final Set<Channel> ended = ConcurrentHashMap.newKeySet();
    private final AtomicInteger afterGoAway = new AtomicInteger();

    private final TestServer server =
            TestServer.start(HttpServer.create().protocol(HttpProtocol.H2C).handle(this::handle));
    private final TestGateway gateway = TestGateway.setup()
            .backend(
                    "orders",
                    "http://127.0.0.1:" + server.port(),
                    "protocol: h2",
                    "deadline: 10s",
                    "retry-budget: { share: 100, floor: 100 }")
            .route("orders", "orders")
            .start();

    @SuppressWarnings("FutureReturnValueIgnored") // The end of a connection that has just ended needs none.
    private Publisher<Void> handle(HttpServerRequest request, HttpServerResponse response) {
        request.withConnection(connection -> {
            Channel parent = Objects.requireNonNull(connection.channel().parent());
            if (ended.contains(parent)) {
                afterGoAway.incrementAndGet();
            }
            if (requests.computeIfAbsent(parent, added -> new AtomicInteger()).incrementAndGet() == REQUESTS) {
                // Requests of other streams may be on their way now: the backend ignores them.
                parent.writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR));
                ended.add(parent);
                parent.eventLoop().schedule(() -> parent.close(), LINGER_MILLIS, TimeUnit.MILLISECONDS);
            }
        });
        return response.sendString(Mono.just("answer"));
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        server.close();
    }

    @Test
    void losesNothingAndSendsNoNewCallsOnTheConnection() {
        SteadyCallers callers = new SteadyCallers(8, gateway.port(), "orders", "POST");
        await().atMost(TestGateway.PATIENCE)
                .until(() -> ended.size() >= RESTARTS || !callers.lost().isEmpty());
        assertThat(callers.stop()).isEmpty();
        assertThat(afterGoAway).hasValue(0);
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
    }
}
