package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.Backend;
import io.weir.health.HealthChecks;
import io.weir.health.HealthChecks.Verdict;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Health checks over sockets: their effect on the instances, what is shown, and a reload. */
class HealthCheckIT {

    private static final String CHECK = "health-check: { path: /up, interval: 100ms, timeout: 100ms }";
    private static final int CALLS = 30;

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(3).toList();
    private TestGateway gateway;

    @BeforeEach
    void start() {
        gateway = TestGateway.setup()
                .instances("orders", servers.stream().map(TestBackend::uri).toList(), "deadline: 20s", CHECK)
                .backend("single", servers.getFirst().uri(), CHECK)
                .route("orders", "orders")
                .route("single", "single")
                .start();
    }

    @AfterEach
    void close() {
        gateway.close();
        await().untilAsserted(() -> assertThat(servers).allMatch(server -> server.connections() == 0));
        servers.forEach(TestBackend::close);
    }

    private Backend backend() {
        return gateway.backend("orders");
    }

    private Instance instance(int index) {
        return backend().instances().all().get(index);
    }

    private static HealthChecks.Status check(Instance instance) {
        HealthChecks.Status none = new HealthChecks.Status(Verdict.UNKNOWN, false, 0, null, null);
        return Objects.requireNonNullElse(instance.health().check(), none);
    }

    /** The server answers its checks with this status, and everything else with 200. */
    private static void answerChecks(TestBackend server, int status) {
        server.behave((request, conversation) -> {
            boolean isCheck = request.target().equals("/up");
            if (isCheck && !"health-check".equals(request.header("weir-probe"))) {
                conversation.answer(500, "not marked as a check");
            } else {
                conversation.answer(isCheck ? status : 200, "");
            }
        });
    }

    private void call(String backend, int calls) throws IOException {
        for (int i = 0; i < calls; i++) {
            for (Door door : Door.values()) {
                assertThat(TestCaller.get(gateway.port(), door.path(backend, "call"))
                                .status())
                        .isEqualTo(200);
            }
        }
    }

    private static void eventually(Callable<Boolean> condition) {
        await().atMost(TestGateway.PATIENCE).until(condition);
    }

    private JsonNode shown(String backend) throws IOException {
        return TestCaller.get(gateway.managementPort(), "/actuator/weir/" + backend)
                .problem();
    }

    @Test
    void takesOutAnInstanceThatFailsItsChecksWithoutACallAndShowsIt() throws IOException {
        eventually(() -> check(instance(0)).verdict() == Verdict.PASSING);
        answerChecks(servers.getFirst(), 503);
        eventually(() -> instance(0).health().state() == State.OPEN);

        assertThat(instance(0).health().why()).contains("its health check fails: GET /up answered 503");
        assertThat(backend().health().resilience4j().getMetrics().getNumberOfBufferedCalls())
                .as("checks are no calls")
                .isZero();
        call("orders", CALLS);
        assertThat(instance(0).inFlight()).isZero();
        JsonNode shown = shown("orders").path("instances").path(0);
        assertThat(shown.path("check").path("verdict").asString()).isEqualTo("failing");
        assertThat(shown.path("check").path("lastFailure").asString()).isEqualTo("answered 503");
        assertThat(shown.path("breaker").path("state").asString()).isEqualTo("open");
        assertThat(shown.path("breaker").path("nextProbeMs").isNumber())
                .as("a probe is due")
                .isFalse();
        assertThat(gateway.metered(Door.COMPILED.id("orders"), "2xx")).isEqualTo(CALLS);

        answerChecks(servers.getFirst(), 200);
        eventually(() -> instance(0).health().isIn());
        eventually(() -> {
            call("orders", 1);
            return instance(0).health().state() == State.CLOSED;
        });
    }

    @Test
    void takesOutAnInstanceThatRefusesConnections() throws IOException {
        eventually(() -> check(instance(2)).verdict() == Verdict.PASSING);
        servers.get(2).close();
        eventually(() -> !instance(2).health().isIn());
        assertThat(check(instance(2)).lastFailure()).isNotNull();
        call("orders", CALLS);
    }

    @Test
    void ignoresChecksThatFailEverywhere() throws IOException {
        eventually(() -> check(instance(2)).verdict() == Verdict.PASSING);
        servers.forEach(server -> answerChecks(server, 404));
        eventually(() -> backend().instances().all().stream()
                .allMatch(instance -> check(instance).isIgnored()));
        // Copies of calls serve as probes of those that had been taken out.
        eventually(() -> {
            call("orders", 1);
            return backend().instances().all().stream()
                    .allMatch(instance -> instance.health().state() == State.CLOSED);
        });
        assertThat(shown("orders")
                        .path("instances")
                        .path(1)
                        .path("check")
                        .path("ignored")
                        .asBoolean())
                .isTrue();

        eventually(() -> check(gateway.backend("single").instances().first()).isIgnored());
        call("single", CALLS);
        assertThat(gateway.backend("single").health().state()).isEqualTo(State.CLOSED);
        assertThat(shown("single").path("check").path("ignored").asBoolean()).isTrue();
    }

    @Test
    void aReloadWithoutChecksReturnsTheInstanceAndStopsThem() throws IOException {
        answerChecks(servers.getFirst(), 503);
        eventually(() -> instance(0).health().isHeldByCheck());
        // Another part of the backend changes: the verdicts stay.
        reload("deadline: 20s", "deadline: 30s");
        assertThat(instance(0).health().isHeldByCheck()).isTrue();

        reload(CHECK, "stream-idle-timeout: 60s");

        eventually(() -> instance(0).health().check() == null);
        eventually(() -> {
            call("orders", 1);
            return instance(0).health().state() == State.CLOSED;
        });
        gateway.assertNothingHeld();
        servers.forEach(server -> server.behave((request, conversation) -> {
            throw new AssertionError(request.line());
        }));
        int before = servers.stream().mapToInt(TestBackend::requests).sum();
        await().during(Duration.ofMillis(500))
                .until(() -> servers.stream().mapToInt(TestBackend::requests).sum() == before);
    }

    private void reload(String part, String next) throws IOException {
        gateway.rewrite(Files.readString(gateway.file()).replace(part, next));
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }
}
