package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.apply.RetiredGenerations;
import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.instance.Instance;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.SteadyCallers;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reloads that change the instances of a backend under load. */
class InstancesReloadIT {

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(4).toList();
    private final TestGateway gateway = TestGateway.start(yaml(new int[] {0}));

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
        gateway.close();
        servers.forEach(TestBackend::close);
    }

    private String yaml(int[] instances, int... weights) {
        String listed = IntStream.range(0, instances.length)
                .mapToObj(i -> "{ uri: \"%s\", weight: %d }"
                        .formatted(servers.get(instances[i]).uri(), i < weights.length ? weights[i] : 1))
                .collect(Collectors.joining(", "));
        return """
                weir:
                  backends:
                    orders: { instances: [%s], deadline: 1m, bulkhead: { max-concurrent-calls: 3, max-wait-duration: 1m }, circuit-breaker: { stall-duration: 1m }, recovery: { probe: caller } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(listed);
    }

    private void reload(int[] instances, int... weights) {
        gateway.rewrite(yaml(instances, weights));
        ConfigurationChange change = gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
        assertThat(change.problems()).isEmpty();
        assertThat(backend().instances().all()).hasSize(instances.length);
    }

    private Backend backend() {
        return gateway.backend("orders");
    }

    private Instance instance(int server) {
        return backend().instances().all().stream()
                .filter(instance ->
                        instance.uri().getPort() == servers.get(server).port())
                .findFirst()
                .orElseThrow();
    }

    /** More callers than permits: most calls wait in the queue when their instances are replaced. */
    @Test
    void losesNothingWhileInstancesComeLeaveAndChangeTheirWeights() {
        SteadyCallers callers = new SteadyCallers(8, gateway.port(), "orders", "POST");
        int[][] steps = {{0, 1}, {0, 1, 2}, {1, 2}, {3}, {0, 1, 2, 3}, {2, 3}, {0, 1}, {2}, {1}, {0, 3}};
        for (int[] step : steps) {
            callers.awaitMore(40);
            reload(step, step.length > 2 ? 3 : 1, 2);
        }
        for (int i = 0; i < 10; i++) {
            reload(new int[] {i % 4});
            reload(new int[] {(i + 1) % 4, (i + 2) % 4}, 1, i + 1);
        }
        callers.awaitMore(40);
        assertThat(callers.stop()).isEmpty();
        assertThat(servers).allSatisfy(server -> assertThat(server.requests()).isPositive());
    }

    @Test
    void keepsWhatIsKnownAboutAnInstanceThatStays() {
        Health health = backend().health();
        reload(new int[] {0, 1, 2});
        Health second = instance(1).health();
        instance(1).health().resilience4j().transitionToOpenState();
        reload(new int[] {1, 2, 3}, 5);
        assertThat(instance(1).health()).isSameAs(second);
        assertThat(instance(1).weight()).isEqualTo(5);
        assertThat(second.state()).isEqualTo(State.OPEN);
        assertThat(backend().health()).isSameAs(health);
        assertThat(health.state()).isEqualTo(State.CLOSED);

        reload(new int[] {1});
        assertThat(health.state()).as("of the only instance").isEqualTo(State.OPEN);
        reload(new int[] {1, 0});
        assertThat(instance(1).health().state()).isEqualTo(State.OPEN);
        assertThat(instance(0).health().state()).isEqualTo(State.CLOSED);
        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void keepsWhatAnOperatorHasForced() {
        backend().health().operator().forceOpen();
        reload(new int[] {0, 1});
        assertThat(backend().health().state()).isEqualTo(State.FORCED_OPEN);
        assertThat(instance(1).health().state()).isEqualTo(State.FORCED_OPEN);
        reload(new int[] {1, 2, 3});
        assertThat(instance(3).health().state()).isEqualTo(State.FORCED_OPEN);
        backend().health().operator().release();
        assertThat(instance(3).health().state()).isEqualTo(State.CLOSED);

        instance(2).health().operator().forceOpen();
        reload(new int[] {2});
        assertThat(backend().health().state())
                .as("an operator has drained one instance")
                .isEqualTo(State.CLOSED);
    }
}
