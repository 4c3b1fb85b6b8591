package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.weir.testing.Leaks;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** Probes of gRPC's health service over HTTP/2, without any traffic of callers. */
@ExtendWith(Leaks.class)
class GrpcHealthIT {

    private static final String BACKEND = "orders";

    private static final List<String> SEEN = new CopyOnWriteArrayList<>();
    private static volatile Answer answer = Answer.NOT_SERVING;
    private static TestServer backend;
    private static TestGateway gateway;

    /** An answer of a health service. */
    enum Answer {
        NOT_SERVING(new byte[] {0, 0, 0, 0, 2, 8, 2}, 0),
        /** The service does not know the name that was asked for. */
        SERVICE_UNKNOWN(new byte[] {0, 0, 0, 0, 2, 8, 3}, 0),
        /** The field with the default value is left out. */
        UNKNOWN(new byte[] {0, 0, 0, 0, 0}, 0),
        /** Without a health service: the answer is its trailers. */
        UNIMPLEMENTED(new byte[0], 12),
        /** The message is there, but the call failed. */
        SERVING_BUT_FAILED(new byte[] {0, 0, 0, 0, 2, 8, 1}, 14);

        @SuppressWarnings("ImmutableEnumChecker") // Nobody changes it.
        private final byte[] message;

        private final int status;

        Answer(byte[] message, int status) {
            this.message = message;
            this.status = status;
        }
    }

    private static volatile boolean isServing;

    @BeforeAll
    static void start() {
        backend = TestServer.start(HttpServer.create()
                .protocol(HttpProtocol.H2C)
                .handle((request, response) -> request.receive()
                        .aggregate()
                        .asByteArray()
                        .defaultIfEmpty(new byte[0])
                        .flatMap(message -> {
                            SEEN.add(request.protocol() + " " + request.method() + " " + request.uri() + " "
                                    + request.requestHeaders().get("content-type") + " "
                                    + request.requestHeaders().get("te") + " " + message.length);
                            byte[] answered = isServing ? new byte[] {0, 0, 0, 0, 2, 8, 1} : answer.message;
                            int status = isServing ? 0 : answer.status;
                            response.header("content-type", "application/grpc");
                            if (answered.length == 0) {
                                return response.header("grpc-status", Integer.toString(status))
                                        .send();
                            }
                            // A Flux: a Mono would be sent with Content-Length and without trailers.
                            Flux<ByteBuf> body = Flux.concat(Mono.just(Unpooled.wrappedBuffer(answered)));
                            return response.header("trailer", "grpc-status")
                                    .trailerHeaders(trailers -> trailers.set("grpc-status", status))
                                    .send(body)
                                    .then();
                        })));
        gateway = TestGateway.setup()
                .backend(
                        BACKEND,
                        "http://127.0.0.1:" + backend.port(),
                        "protocol: h2",
                        "deadline: 2s",
                        "circuit-breaker: { stall-duration: 1s }",
                        "recovery: { probe: grpc-health, probe-interval: 20ms }")
                .route(BACKEND, BACKEND)
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @BeforeEach
    void fail() {
        isServing = false;
        gateway.calm();
        SEEN.clear();
    }

    @Test
    void closesTheBreakerOnlyWhenTheBackendServes() {
        gateway.backend(BACKEND).health().resilience4j().transitionToOpenState();
        for (Answer given : Answer.values()) {
            answer = given;
            // Two: the first check may have begun before this answer.
            SEEN.clear();
            await().until(() -> SEEN.size() >= 2);
            assertThat(gateway.backend(BACKEND).health().state())
                    .as("%s", given)
                    .isEqualTo(State.OPEN);
            assertThat(SEEN).containsOnly("HTTP/2.0 POST /grpc.health.v1.Health/Check application/grpc trailers 5");
        }

        isServing = true;
        await().until(() -> gateway.backend(BACKEND).health().state() == State.CLOSED);
        gateway.assertNothingHeld();
    }
}
