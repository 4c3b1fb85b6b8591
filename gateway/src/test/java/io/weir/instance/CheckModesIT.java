package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.Unpooled;
import io.weir.health.HealthChecks;
import io.weir.health.HealthChecks.Verdict;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** Health checks of gRPC's health service, and by a TCP connection, without any call. */
@ExtendWith(Leaks.class)
class CheckModesIT {

    private static final String OFTEN = "interval: 100ms, timeout: 100ms";
    private static final int SERVING = 1;
    private static final int NOT_SERVING = 2;

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private volatile int status = SERVING;

    private TestServer grpcServer(boolean isWatched) {
        return TestServer.start(HttpServer.create()
                .protocol(HttpProtocol.H2C)
                .handle((request, response) -> request.receive()
                        .aggregate()
                        .asString(StandardCharsets.US_ASCII)
                        .flatMap(message -> {
                            asked.add(request.method() + " " + request.uri() + " " + message);
                            int now = isWatched ? status : SERVING;
                            return response.header("content-type", "application/grpc")
                                    .header("trailer", "grpc-status")
                                    .trailerHeaders(trailers -> trailers.set("grpc-status", 0))
                                    // A Mono would be sent without trailers.
                                    .send(Flux.concat(Mono.just(
                                            Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 0, 2, 8, (byte) now}))))
                                    .then();
                        })));
    }

    private static Instance first(TestGateway gateway) {
        return gateway.backend("orders").instances().all().getFirst();
    }

    private static boolean hasVerdict(TestGateway gateway, Verdict verdict) {
        HealthChecks.Status check = first(gateway).health().check();
        return check != null && check.verdict() == verdict;
    }

    private static void eventually(Callable<Boolean> condition) {
        await().atMost(TestGateway.PATIENCE).until(condition);
    }

    @Test
    void asksTheHealthServiceOfGrpc() {
        try (TestServer watched = grpcServer(true);
                TestServer other = grpcServer(false);
                TestGateway gateway = TestGateway.setup()
                        .instances(
                                "orders",
                                List.of("http://127.0.0.1:" + watched.port(), "http://127.0.0.1:" + other.port()),
                                "protocol: h2",
                                "health-check: { probe: grpc-health, grpc-service: shop.Orders, " + OFTEN + " }")
                        .route("orders", "orders")
                        .start()) {
            eventually(() -> hasVerdict(gateway, Verdict.PASSING));

            status = NOT_SERVING;
            eventually(() -> !first(gateway).health().isIn());

            assertThat(first(gateway).health().why())
                    .contains("its health check fails: grpc-health of shop.Orders is not SERVING");
            assertThat(asked).containsOnly("POST /grpc.health.v1.Health/Check \0\0\0\0\r\n\013shop.Orders");

            status = SERVING;
            eventually(() -> first(gateway).health().isIn());
        }
    }

    @Test
    void opensAConnectionAndClosesIt() {
        TestBackend watched = TestBackend.healthy();
        try (TestBackend other = TestBackend.healthy();
                TestGateway gateway = TestGateway.setup()
                        .instances(
                                "orders",
                                List.of(watched.uri(), other.uri()),
                                "health-check: { probe: tcp, " + OFTEN + " }")
                        .route("orders", "orders")
                        .start()) {
            eventually(() -> hasVerdict(gateway, Verdict.PASSING));
            // What it would answer does not matter.
            watched.behave((request, conversation) -> conversation.answer(503, ""));
            eventually(() -> watched.connections() == 0 && other.connections() == 0);
            assertThat(first(gateway).health().isIn()).isTrue();

            watched.close();
            eventually(() -> !first(gateway).health().isIn());

            assertThat(first(gateway).health().why()).contains("its health check fails: tcp failed: ");
            assertThat(watched.requests() + other.requests()).isZero();
        } finally {
            watched.close();
        }
    }
}
