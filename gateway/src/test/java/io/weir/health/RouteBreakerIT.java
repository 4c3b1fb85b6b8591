package io.weir.health;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** A route that fails, resets or hangs while the other routes of its backend are answered. */
class RouteBreakerIT extends GatewayTests {

    private static final int STALL_CALLS = 4;
    private static TestBackend second;
    private static TestBackend third;

    private static final TestBackend.Behaviour BAD_ROUTE_FAILS = (request, conversation) -> {
        if (request.target().contains("bad")) {
            conversation.answer(500, "backend failure");
        } else {
            TestBackend.ECHO.serve(request, conversation);
        }
    };

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        second = TestBackend.healthy();
        third = TestBackend.healthy();
        String breaker = "circuit-breaker: { minimum-number-of-calls: 4, sliding-window-size: 10, stall-calls: "
                + STALL_CALLS + ", stall-duration: 60ms }";
        String recovery = "recovery: { probe-interval: 100ms }";
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("one", backend.uri(), "deadline: 60s", breaker, recovery)
                .instances("three", List.of(backend.uri(), second.uri(), third.uri()), "deadline: 60s", recovery)
                .route("one-bad", "one")
                .route("one-good", "one")
                .route("three-bad", "three")
                .route("three-good", "three")
                .start();
    }

    @AfterAll
    static void stopOthers() {
        second.close();
        third.close();
    }

    private static void behaveAll(TestBackend.Behaviour behaviour) {
        List.of(backend, second, third).forEach(one -> one.behave(behaviour));
    }

    @Door.Any
    void refusesAFailingRouteAndNoOther(Door door) throws IOException {
        refusesABadRouteAlone(door, "one", "fails", BAD_ROUTE_FAILS);
    }

    @Door.Any
    void refusesAFailingRouteOfSeveralInstances(Door door) throws IOException {
        refusesABadRouteAlone(door, "three", "fails", BAD_ROUTE_FAILS);
    }

    @Door.Any
    void refusesARouteWhoseConnectionsBreak(Door door) throws IOException {
        refusesABadRouteAlone(door, "one", "resets", (request, conversation) -> {
            if (request.target().contains("bad")) {
                conversation.reset();
            } else {
                TestBackend.ECHO.serve(request, conversation);
            }
        });
    }

    private void refusesABadRouteAlone(Door door, String name, String how, TestBackend.Behaviour bad)
            throws IOException {
        behaveAll(bad);
        String badPath = door.path(name + "-bad", "bad");
        String goodPath = door.path(name + "-good", "good");
        RouteHealth route = health(door, name + "-bad");
        int sent = 0;
        while (route.health().state() != State.OPEN) {
            assertThat(sent++).as("calls until the route opens").isLessThan(60);
            TestCaller.get(gateway.port(), badPath);
            assertThat(TestCaller.get(gateway.port(), goodPath).status()).isEqualTo(200);
        }
        String refusedPath = door.path(name + "-bad", "bad-" + how);
        TestCaller.Answer refused = TestCaller.get(gateway.port(), refusedPath);
        assertRefused(gateway, door, name + "-bad", refusedPath, refused, Reason.CIRCUIT_OPEN);
        assertThat(refused.problem().path("detail").asString()).contains("the route " + door.id(name + "-bad"));
        for (int i = 0; i < 20; i++) {
            assertThat(TestCaller.get(gateway.port(), badPath).status()).isEqualTo(503);
            assertThat(TestCaller.get(gateway.port(), goodPath).status()).isEqualTo(200);
        }
        assertThat(gateway.backend(name).health().state()).isEqualTo(State.CLOSED);
        assertThat(gateway.backend(name).instances().out()).isEmpty();

        behaveAll(TestBackend.ECHO);
        await().until(() -> TestCaller.get(gateway.port(), badPath).status() == 200);
    }

    @Door.Any
    void givesThePermitsOfARouteThatHangsToTheOthers(Door door) throws Exception {
        behaveAll((request, conversation) -> {
            if (request.target().contains("bad")) {
                calls.serve(request, conversation);
            } else {
                TestBackend.ECHO.serve(request, conversation);
            }
        });
        String badPath = door.path("one-bad", "bad");
        RouteHealth route = health(door, "one-bad");
        List<CompletableFuture<TestCaller.Answer>> hanging = new ArrayList<>();
        for (int i = 0; i < STALL_CALLS; i++) {
            hanging.add(TestCaller.ask(gateway.port(), badPath));
        }
        await().until(() -> {
            assertThat(TestCaller.get(gateway.port(), door.path("one-good", "good"))
                            .status())
                    .isEqualTo(200);
            return route.health().state() == State.OPEN;
        });
        await().until(() -> gateway.backend("one").bulkhead().inUse() == 0);
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        assertThat(gateway.backend("one").health().state()).isEqualTo(State.CLOSED);
        assertRefused(TestCaller.get(gateway.port(), badPath), Reason.CIRCUIT_OPEN);

        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        await().until(() -> TestCaller.get(gateway.port(), badPath).status() == 200);
        await().until(() -> route.health().state() == State.CLOSED);
    }

    private static RouteHealth health(Door door, String name) {
        RouteHealth health = gateway.route(door.id(name)).health();
        assertThat(health).isNotNull();
        return health;
    }
}
