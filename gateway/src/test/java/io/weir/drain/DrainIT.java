package io.weir.drain;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.drain.Drain.Phase;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The drain: announce, serve on, then refuse new requests while exchanges in flight end. */
class DrainIT {

    private static final String READINESS = "/actuator/health/readiness";

    @Test
    void announcesThenRefusesNewRequestsAndFinishesExchangesInFlight() throws Exception {
        HeldCalls calls = new HeldCalls();
        try (TestBackend backend = TestBackend.start((request, conversation) -> {
                    if (request.target().endsWith("held")) {
                        calls.serve(request, conversation);
                    } else {
                        TestBackend.ECHO.serve(request, conversation);
                    }
                });
                TestGateway gateway = TestGateway.setup()
                        .weir("drain: { delay: 5m, timeout: 2m }")
                        .backend("orders", backend.uri(), "deadline: 60s")
                        .route("orders", "orders")
                        .start()) {
            Drain drain = gateway.bean(Drain.class);
            assertThat(TestCaller.get(gateway.managementPort(), READINESS).status())
                    .isEqualTo(200);
            Map<Door, CompletableFuture<TestCaller.Answer>> inFlight = new EnumMap<>(Door.class);
            Map<Door, TestCaller> idle = new EnumMap<>(Door.class);
            Map<Door, TestCaller> halfSent = new EnumMap<>(Door.class);
            for (Door door : Door.values()) {
                inFlight.put(door, TestCaller.ask(gateway.port(), door.path("orders", "held")));
                idle.put(door, TestCaller.to(gateway.port()));
                assertThat(caller(idle, door)
                                .request("GET", door.path("orders", "before"))
                                .header("connection"))
                        .isNull();
            }
            await().until(() -> calls.inside() == 2);
            int port = gateway.port();
            int managementPort = gateway.managementPort();

            Closing stopping = new Closing(gateway);
            stopping.start();
            await().until(() -> drain.phase() == Phase.ANNOUNCED);

            // Readiness fails. New requests are still served, with Connection: close.
            await().until(() -> TestCaller.get(managementPort, READINESS).status() == 503);
            assertThat(TestCaller.get(managementPort, "/actuator/health/liveness")
                            .status())
                    .isEqualTo(200);
            for (Door door : Door.values()) {
                TestCaller.Answer served = TestCaller.get(port, door.path("orders", "announced"));
                assertThat(served.status()).isEqualTo(200);
                assertThat(served.header("connection")).isEqualTo("close");
                // The idle connection has no request in flight, so its close loses none.
                assertThat(caller(idle, door).isReset())
                        .as("idle connection reset")
                        .isFalse();
                // The gateway has received half of this request's head when it begins to refuse.
                TestCaller half = TestCaller.to(port);
                half.send("GET " + door.path("orders", "refused") + " HTTP/1.1\r\nHost: weir.test\r\n");
                halfSent.put(door, half);
            }
            assertThat(drain.phase()).as("phase within the delay").isEqualTo(Phase.ANNOUNCED);

            stopping.endDelay();
            await().until(() -> drain.phase() == Phase.REFUSING);
            for (Door door : Door.values()) {
                gateway.assertTold(door, "orders", door.path("orders", "announced"), 200, "2xx");
                TestCaller half = caller(halfSent, door);
                half.send("\r\n");
                TestCaller.Answer refused = half.answer();
                half.close();
                JsonNode line = assertRefused(
                        gateway, door, "orders", door.path("orders", "refused"), refused, Reason.SHUTTING_DOWN);
                assertThat(refused.header("connection")).isEqualTo("close");
                assertThat(line.path("attempts").asInt()).isZero();
                String late = door.path("orders", "late");
                assertRefused(TestCaller.get(port, late), Reason.SHUTTING_DOWN);
            }
            assertThat(inFlight.values()).noneMatch(CompletableFuture::isDone);
            assertThat(stopping.isAlive()).isTrue();

            calls.release();
            for (Door door : Door.values()) {
                TestCaller.Answer answer =
                        Objects.requireNonNull(inFlight.get(door)).join();
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.text()).isEqualTo(door.path("orders", "held"));
                assertThat(answer.header("connection")).isEqualTo("close");
            }
            assertThat(stopping.join(TestGateway.PATIENCE)).isTrue();
            await().until(() -> backend.connections() == 0);
        }
    }

    /** A request without an exchange, on a route of Spring Cloud Gateway alone. */
    @Test
    void finishesRequestsOnUnprotectedRoutes() throws Exception {
        HeldCalls calls = new HeldCalls();
        try (TestBackend backend = TestBackend.start(calls);
                TestGateway gateway = TestGateway.setup()
                        .weir("drain: { delay: 0s, timeout: 2m }")
                        .weir("allow-unprotected-routes: true")
                        .line("  - { id: open, uri: \"" + backend.uri() + "\", predicates: [\"Path=/open/**\"] }")
                        .start()) {
            int port = gateway.port();
            Drain drain = gateway.bean(Drain.class);
            CompletableFuture<TestCaller.Answer> inFlight = TestCaller.ask(port, "/open/held");
            HeldCalls.Held held = calls.next();

            Thread stopping = Thread.ofPlatform().start(gateway::close);
            await().until(() -> drain.phase() == Phase.REFUSING);
            assertRefused(TestCaller.get(port, "/open/late"), Reason.SHUTTING_DOWN);
            assertThat(calls.calls()).isOne();
            assertThat(stopping.isAlive()).isTrue();
            assertThat(inFlight.isDone()).isFalse();

            held.answer();
            assertThat(inFlight.join().status()).isEqualTo(200);
            assertThat(inFlight.join().text()).isEqualTo("/open/held");
            assertThat(stopping.join(TestGateway.PATIENCE)).isTrue();
        }
    }

    @Test
    void closesStreamsAtOnceAndEndsOtherExchangesAfterTheTimeout() throws Exception {
        HeldCalls calls = new HeldCalls();
        try (TestBackend backend = TestBackend.start((request, conversation) -> {
                    if (request.target().endsWith("stream") || request.target().endsWith("half")) {
                        conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
                    }
                    calls.serve(request, conversation);
                });
                TestGateway gateway = TestGateway.setup()
                        .weir("drain: { delay: 0s, timeout: 3s }")
                        .backend("orders", backend.uri(), "deadline: 60s")
                        .route("orders", "orders")
                        .route("stream", "orders", "mode: stream")
                        .start()) {
            Map<Door, TestCaller> streams = new EnumMap<>(Door.class);
            Map<Door, TestCaller> heads = new EnumMap<>(Door.class);
            Map<Door, TestCaller> hanging = new EnumMap<>(Door.class);
            Map<Door, TestCaller> halfAnswered = new EnumMap<>(Door.class);
            for (Door door : Door.values()) {
                streams.put(door, asking(gateway, door.path("stream", "stream")));
                assertThat(caller(streams, door).readHead().status()).isEqualTo(200);
                assertThat(caller(streams, door).chunk()).isEqualTo("x");
                heads.put(door, asking(gateway, door.path("stream", "no-head")));
                hanging.put(door, asking(gateway, door.path("orders", "hangs")));
                halfAnswered.put(door, asking(gateway, door.path("orders", "half")));
                assertThat(caller(halfAnswered, door).readHead().status()).isEqualTo(200);
            }
            await().until(() -> calls.inside() == 8);
            Drain drain = gateway.bean(Drain.class);

            Thread stopping = Thread.ofPlatform().start(gateway::close);

            await().until(() -> drain.phase() == Phase.REFUSING);
            for (Door door : Door.values()) {
                assertThat(caller(streams, door).isReset()).as("stream reset").isTrue();
                gateway.assertTold(door, "stream", door.path("stream", "stream"), 200, "shutting-down");
                TestCaller.Answer refused = caller(heads, door).answer();
                assertRefused(gateway, door, "stream", door.path("stream", "no-head"), refused, Reason.SHUTTING_DOWN);
            }
            // Calls have the drain's timeout to end.
            for (Door door : Door.values()) {
                assertRefused(caller(hanging, door).answer(), Reason.SHUTTING_DOWN);
                assertThat(caller(halfAnswered, door).isReset())
                        .as("half an answer reset")
                        .isTrue();
            }
            assertThat(stopping.join(TestGateway.PATIENCE)).isTrue();
            for (Door door : Door.values()) {
                assertThat(gateway.logged(door.path("orders", "hangs"))
                                .path("outcome")
                                .asString())
                        .isEqualTo("shutting-down");
                JsonNode half = gateway.logged(door.path("orders", "half"));
                assertThat(half.path("outcome").asString()).isEqualTo("shutting-down");
                assertThat(half.path("status").asInt()).isEqualTo(200);
            }
            calls.release();
            await().until(() -> backend.connections() == 0);
            for (Map<Door, TestCaller> callers : List.of(streams, heads, hanging, halfAnswered)) {
                for (TestCaller each : callers.values()) {
                    each.close();
                }
            }
        }
    }

    /** Closes a gateway. An interrupt ends the drain's delay, and has no further effect. */
    private static final class Closing extends Thread {

        private final TestGateway gateway;

        private Closing(TestGateway gateway) {
            this.gateway = gateway;
        }

        @Override
        public void run() {
            gateway.close();
        }

        private void endDelay() {
            super.interrupt();
        }

        @Override
        public void interrupt() {
            // The drain passes the interrupt on: it would end the stop of the gateway, too.
        }
    }

    private static TestCaller asking(TestGateway gateway, String path) throws IOException {
        TestCaller caller = TestCaller.to(gateway.port());
        caller.send(TestCaller.head("GET", path));
        return caller;
    }

    private static TestCaller caller(Map<Door, TestCaller> callers, Door door) {
        return Objects.requireNonNull(callers.get(door), "a caller");
    }
}
