package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.Backend;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/**
 * A backend with three instances over sockets: one that fails is ejected and returns; callers lose nothing.
 */
@Timeout(60)
class InstancesIT {

    private static final int CALLS = 60;

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(3).toList();
    private TestGateway gateway;

    @BeforeEach
    void start() {
        gateway = TestGateway.setup()
                .instances(
                        "orders",
                        servers.stream().map(TestBackend::uri).toList(),
                        "deadline: 2s",
                        "circuit-breaker: { stall-duration: 200ms }",
                        "retry-budget: { share: 100, floor: 100 }")
                .route("orders", "orders")
                .start();
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        servers.forEach(TestBackend::close);
    }

    private Backend backend() {
        return gateway.backend("orders");
    }

    private Instance instance(int index) {
        return backend().instances().all().get(index);
    }

    /** Sends calls, one after the other, and returns the number of answers with 200. */
    private int answered(Door door, int calls) throws IOException {
        int good = 0;
        for (int i = 0; i < calls; i++) {
            if (TestCaller.get(gateway.port(), door.path("orders", "call-" + i)).status() == 200) {
                good++;
            }
        }
        return good;
    }

    /** Sends calls until the instance has opened, at most so many. */
    private void callUntilOpen(Door door, int index) throws IOException {
        for (int i = 0; i < 2000 && instance(index).health().isIn(); i++) {
            TestCaller.get(gateway.port(), door.path("orders", "until-open"));
        }
        assertThat(instance(index).health().state()).isEqualTo(State.OPEN);
    }

    private void assertReturns(Door door, int index) {
        await().atMost(TestGateway.PATIENCE).until(() -> {
            answered(door, 1);
            return instance(index).health().state() == State.CLOSED;
        });
        int before = servers.get(index).requests();
        await().atMost(TestGateway.PATIENCE).until(() -> {
            answered(door, 1);
            return servers.get(index).requests() > before;
        });
        assertThat(backend().health().state()).isEqualTo(State.CLOSED);
    }

    @Door.Each
    void sharesTheCallsAndShowsTheInstance(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        assertThat(servers).allSatisfy(server -> assertThat(server.requests()).isPositive());
        List<String> authorities =
                servers.stream().map(server -> "127.0.0.1:" + server.port()).toList();
        assertThat(authorities)
                .contains(gateway.logged(door.path("orders", "call-7"))
                        .get("instance")
                        .asString());
    }

    @Door.Each
    void ejectsTheInstanceThatAnswersFailuresAndTakesItBack(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        servers.getFirst().behave((request, conversation) -> conversation.answer(500, "broken"));
        callUntilOpen(door, 0);
        assertThat(backend().health().state()).isEqualTo(State.CLOSED);
        assertThat(answered(door, CALLS)).as("while it is out").isEqualTo(CALLS);
        servers.getFirst().behave(TestBackend.ECHO);
        assertReturns(door, 0);
    }

    @Door.Each
    void movesUnsentCallsFromAnInstanceThatRefusesConnections(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        servers.getFirst().close();
        assertThat(answered(door, CALLS)).as("unsent calls go elsewhere").isEqualTo(CALLS);
        assertThat(backend().health().state()).isEqualTo(State.CLOSED);
    }

    @Door.Each
    void opensTheBackendWhereAllInstancesFail(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        servers.forEach(server -> server.behave((request, conversation) -> conversation.answer(500, "broken")));
        for (int i = 0; i < 400 && backend().health().state() != State.OPEN; i++) {
            TestCaller.get(gateway.port(), door.path("orders", "failing"));
        }
        assertThat(backend().health().state()).isEqualTo(State.OPEN);
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "refused"))
                        .status())
                .isEqualTo(503);
        servers.forEach(server -> server.behave(TestBackend.ECHO));
        for (int i = 0; i < servers.size(); i++) {
            assertReturns(door, i);
        }
    }
}
