package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A backend with two primaries and two backups over sockets, with a cookie that determines the instance. */
class BackupsIT {

    private static final int CALLS = 40;

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(4).toList();
    private final ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();
    private TestGateway gateway;

    @BeforeEach
    void start() {
        gateway = TestGateway.start(yaml("true"));
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        servers.forEach(TestBackend::close);
        callers.shutdownNow();
    }

    /** The backups are listed first: the order has no effect. */
    private String yaml(String backup) {
        return yaml("false", backup);
    }

    /** Whether the servers of both pairs are backups. */
    private String yaml(String isFirstPair, String isSecondPair) {
        return """
            weir:
              backends:
                orders:
                  instances:
                    - { uri: "%s", backup: %s }
                    - { uri: "%s", backup: %s }
                    - { uri: "%s", backup: %s }
                    - { uri: "%s", backup: %s }
                  deadline: 60s
                  circuit-breaker: { stall-duration: 200ms }
                  bulkhead: { max-concurrent-calls: 200 }
                  retry-budget: { share: 100, floor: 100 }
                  load-balancing: { policy: hash, hash-key: "cookie:SID" }
            spring.cloud.gateway.server.webflux.routes:
              - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
              - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
            """.formatted(
                        servers.get(2).uri(),
                        isSecondPair,
                        servers.get(3).uri(),
                        isSecondPair,
                        servers.get(0).uri(),
                        isFirstPair,
                        servers.get(1).uri(),
                        isFirstPair);
    }

    private Instance instance(int server) {
        return gateway.backend("orders").instances().all().stream()
                .filter(one -> one.uri().getPort() == servers.get(server).port())
                .findFirst()
                .orElseThrow();
    }

    /** Sends calls of different sessions, and expects answers with 200. */
    private void call(Door door) throws IOException {
        for (int i = 0; i < CALLS; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path("orders", "call"), "Cookie: SID=" + i)
                            .status())
                    .isEqualTo(200);
        }
    }

    private int callsToBackups() {
        return servers.get(2).requests() + servers.get(3).requests();
    }

    private int callsToPrimaries() {
        return servers.get(0).requests() + servers.get(1).requests();
    }

    @Door.Each
    void serveWhileNoPrimaryAnswersAndLeaveTheCallsToThePrimariesAfterwards(Door door) throws IOException {
        call(door);
        assertThat(callsToBackups()).as("in calm").isZero();

        servers.get(0).behave((request, conversation) -> conversation.reset());
        call(door);
        call(door);
        assertThat(callsToBackups()).as("one primary resets its connections").isZero();

        servers.get(1).behave((request, conversation) -> conversation.reset());
        await().atMost(TestGateway.PATIENCE).until(() -> {
            call(door);
            return !instance(0).isIn() && !instance(1).isIn();
        });
        int before = callsToBackups();
        call(door);
        assertThat(callsToBackups() - before).as("sessions at the backups").isGreaterThanOrEqualTo(CALLS);
        assertThat(List.of(servers.get(2).requests(), servers.get(3).requests()))
                .as("each backup")
                .allMatch(requests -> requests > 0);
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);

        servers.get(0).behave(TestBackend.ECHO);
        servers.get(1).behave(TestBackend.ECHO);
        await().atMost(TestGateway.PATIENCE).until(() -> {
            call(door);
            return Stream.of(0, 1).allMatch(i -> instance(i).health().state() == State.CLOSED);
        });
        before = callsToBackups();
        call(door);
        assertThat(callsToBackups()).as("after the ramp").isEqualTo(before);
    }

    @Door.Each
    void areShownAndChangedLive(Door door) throws IOException {
        call(door);
        assertThat(callsToBackups()).isZero();
        String shown = TestCaller.get(gateway.managementPort(), "/actuator/weir/orders")
                .text();
        assertThat(shown).containsOnlyOnce("\"uri\":\"" + servers.get(2).uri() + "\",\"weight\":1,\"backup\":true");
        assertThat(shown).containsOnlyOnce("\"uri\":\"" + servers.get(0).uri() + "\",\"weight\":1,\"backup\":false");

        reload(yaml("false"));
        call(door);
        assertThat(callsToBackups()).as("primaries now").isPositive();

        reload(yaml("true"));
        int before = callsToPrimaries();
        int backups = callsToBackups();
        call(door);
        assertThat(callsToBackups()).as("backups again").isEqualTo(backups);
        assertThat(callsToPrimaries() - before).isEqualTo(CALLS);
    }

    @Door.Each
    void swapTheirTiersInAReloadWhileCallsAreUnderWay(Door door) throws Exception {
        String calm = yaml("true").replace("stall-duration: 200ms", "stall-duration: 60s");
        String swapped = yaml("true", "false").replace("stall-duration: 200ms", "stall-duration: 60s");
        reload(calm);
        CountDownLatch released = new CountDownLatch(1);
        TestBackend.Behaviour held = (request, conversation) -> {
            released.await();
            conversation.answer(200, "held");
        };
        servers.forEach(server -> server.behave(held));
        List<CompletableFuture<Integer>> underWay = new ArrayList<>(start(door));
        await().atMost(TestGateway.PATIENCE).until(() -> callsToPrimaries() == CALLS);

        reload(swapped);
        underWay.addAll(start(door));
        await().atMost(TestGateway.PATIENCE).until(() -> callsToBackups() == CALLS);
        reload(calm);
        underWay.addAll(start(door));
        await().atMost(TestGateway.PATIENCE).until(() -> callsToPrimaries() == 2 * CALLS);
        released.countDown();

        assertThat(underWay)
                .allSatisfy(call ->
                        assertThat(call).succeedsWithin(TestGateway.PATIENCE).isEqualTo(200));
        assertThat(callsToBackups()).as("each call is sent once").isEqualTo(CALLS);
        assertThat(callsToPrimaries()).as("each call is sent once").isEqualTo(2 * CALLS);
    }

    /** Calls of different sessions, under way at the same time. */
    private List<CompletableFuture<Integer>> start(Door door) {
        return IntStream.range(0, CALLS)
                .mapToObj(i -> CompletableFuture.supplyAsync(
                        () -> {
                            try {
                                return TestCaller.get(gateway.port(), door.path("orders", "call"), "Cookie: SID=" + i)
                                        .status();
                            } catch (IOException e) {
                                throw new UncheckedIOException(e);
                            }
                        },
                        callers))
                .toList();
    }

    private void reload(String yaml) throws IOException {
        gateway.rewrite(yaml);
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }
}
