package io.weir.hedge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.metrics.BackendMeters;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A backend with three instances, one of which answers some calls late, over sockets. */
class HedgeIT {

    private static final int CALLS = 600;
    /** Of 200 calls to one instance, six are late: 1 % of all. */
    private static final int LATE_ONE_IN = 33;

    private static final long LATE_MILLIS = 5_000;

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(3).toList();
    private final AtomicInteger late = new AtomicInteger();
    private final AtomicInteger cancelled = new AtomicInteger();
    private @Nullable TestGateway started;

    private void start(String... ofRoute) {
        started = TestGateway.setup()
                .instances(
                        "orders",
                        servers.stream().map(TestBackend::uri).toList(),
                        "deadline: 60s",
                        "load-balancing: { policy: round-robin }",
                        "bulkhead: { max-concurrent-calls: 8 }")
                .route("orders", "orders", ofRoute)
                .route("plain", "orders")
                .start();
    }

    private TestGateway gateway() {
        return Objects.requireNonNull(started);
    }

    @AfterEach
    void close() {
        gateway().assertNothingHeld();
        gateway().close();
        servers.forEach(TestBackend::close);
    }

    /** The first instance answers one call in {@link #LATE_ONE_IN} late, unless it is cancelled before. */
    private void makeSomeLate() {
        AtomicInteger received = new AtomicInteger();
        servers.getFirst().behave((request, conversation) -> {
            if (received.incrementAndGet() % LATE_ONE_IN == 0) {
                late.incrementAndGet();
                answerLate(conversation);
            } else {
                conversation.answer(200, "in time");
            }
        });
    }

    private void answerLate(TestBackend.Conversation conversation) throws IOException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LATE_MILLIS);
        try {
            // Its end: the gateway has closed the connection.
            conversation.awaitNext((int) LATE_MILLIS);
            if (System.nanoTime() < end) {
                cancelled.incrementAndGet();
                conversation.close();
                return;
            }
        } catch (IOException e) {
            // No byte has come.
        }
        conversation.answer(200, "late");
    }

    private int requests() {
        return servers.stream().mapToInt(TestBackend::requests).sum();
    }

    private long hedges(HedgeResult result) {
        return gateway().backend("orders").observer() instanceof BackendMeters meters
                ? meters.hedges().getOrDefault(result.word(), 0L)
                : -1;
    }

    /** The slowest of some calls, one after the other, in milliseconds, as the access log has it. */
    private double slowestMillis(Door door, String route, int calls) throws IOException {
        for (int i = 0; i < calls; i++) {
            assertThat(TestCaller.get(gateway().port(), door.path(route, route)).status())
                    .isEqualTo(200);
        }
        String path = door.path(route, route);
        await().until(() -> gateway().lines(path).size() == calls);
        return gateway().lines(path).stream()
                .mapToDouble(line -> line.get("total_ms").asDouble())
                .max()
                .orElseThrow();
    }

    @Door.Each
    void answersLateCallsFromAnotherInstanceWithFewMoreAttempts(Door door) throws IOException {
        start("hedge: { after: 500ms }");
        makeSomeLate();

        double slowest = slowestMillis(door, "orders", CALLS);
        int attempts = requests();

        assertThat(late).hasValueGreaterThanOrEqualTo(CALLS / 3 / LATE_ONE_IN - 1);
        assertThat(attempts - CALLS).as("attempts beyond the calls").isBetween(late.get(), CALLS * 3 / 100);
        assertThat(hedges(HedgeResult.WON)).isGreaterThanOrEqualTo(late.get());
        assertThat(hedges(HedgeResult.STARTED)).isEqualTo(attempts - CALLS);
        await().untilAsserted(() -> assertThat(cancelled).as("closed").hasValue(late.get()));
        assertThat(gateway().backend("orders").health().failureRate()).isLessThanOrEqualTo(0);
        List<JsonNode> won = gateway().lines(door.path("orders", "orders")).stream()
                .filter(line ->
                        line.has("hedge") && line.get("hedge").asString().equals("won"))
                .toList();
        assertThat(won).hasSizeGreaterThanOrEqualTo(late.get()).allSatisfy(line -> {
            assertThat(line.get("attempts").asInt()).isEqualTo(2);
            assertThat(line.get("instance").asString())
                    .isNotEqualTo("127.0.0.1:" + servers.getFirst().port());
        });

        double without = slowestMillis(door, "plain", LATE_ONE_IN * 3);
        assertThat(without).isGreaterThanOrEqualTo(LATE_MILLIS);
        assertThat(slowest).as("the slowest call").isLessThan(without / 2);
    }

    @Door.Any
    void learnsAfterWhatTime(Door door) throws IOException {
        start("hedge: { after: p95 }");
        for (int i = 0; i < 150; i++) {
            TestCaller.get(gateway().port(), door.path("orders", "learning"));
        }
        servers.getFirst().behave((request, conversation) -> answerLate(conversation));
        long before = hedges(HedgeResult.WON);
        for (int i = 0; i < 3; i++) {
            assertThat(TestCaller.get(gateway().port(), door.path("orders", "late"))
                            .status())
                    .isEqualTo(200);
        }
        assertThat(hedges(HedgeResult.WON)).isGreaterThan(before);
    }

    @Door.Any
    void endsBothIfTheCallerLeaves(Door door) throws Exception {
        start("hedge: { after: 20ms }");
        CountDownLatch both = new CountDownLatch(2);
        servers.forEach(server -> server.behave((request, conversation) -> {
            both.countDown();
            answerLate(conversation);
        }));
        try (TestCaller caller = TestCaller.to(gateway().port())) {
            caller.send(TestCaller.head("GET", door.path("orders", "leaves")));
            assertThat(both.await(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                    .isTrue();
            caller.reset();
        }
        await().untilAsserted(() -> assertThat(cancelled).hasValue(2));
        JsonNode line = gateway().logged(door.path("orders", "leaves"));
        assertThat(line.get("outcome").asString()).isEqualTo("client-closed");
        assertThat(line.get("hedge").asString()).isEqualTo("started");
    }

    @Door.Any
    void endsBothAtTheDeadline(Door door) throws Exception {
        start("hedge: { after: 20ms }", "deadline: 1s");
        servers.forEach(server -> server.behave((request, conversation) -> answerLate(conversation)));

        assertThat(TestCaller.get(gateway().port(), door.path("orders", "expires"))
                        .reason())
                .isEqualTo("deadline-exceeded");
        await().untilAsserted(() -> assertThat(cancelled).hasValue(2));
        assertThat(gateway()
                        .logged(door.path("orders", "expires"))
                        .get("attempts")
                        .asInt())
                .isEqualTo(2);
    }

    /** A call keeps its route: a reload takes the hedge from the calls that come later. */
    @Test
    void keepsTheHedgeOfACallWhileAReloadTakesItFromItsRoute() throws Exception {
        start("hedge: { after: 1s }");
        CountDownLatch reached = new CountDownLatch(1);
        servers.getFirst().behave((request, conversation) -> {
            reached.countDown();
            answerLate(conversation);
        });
        Door door = Door.COMPILED;
        // One of them goes to the first instance. On a busy machine, any of them may be the first to arrive.
        List<CompletableFuture<TestCaller.Answer>> asked = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            asked.add(TestCaller.ask(gateway().port(), door.path("orders", "call-" + i)));
        }
        assertThat(reached.await(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        gateway().rewrite(Files.readString(gateway().file()).replace("hedge: { after: 1s }", "priority: normal"));
        gateway().bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");

        for (CompletableFuture<TestCaller.Answer> each : asked) {
            assertThat(each.get(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
                            .status())
                    .isEqualTo(200);
        }
        assertThat(hedges(HedgeResult.WON)).isOne();
        assertThat(gateway().route(door.id("orders")).hedge()).isNull();
    }

    @Test
    void resetsTheStreamOfACancelledAttemptOverHttp2() throws Exception {
        AtomicInteger reached = new AtomicInteger();
        AtomicInteger resets = new AtomicInteger();
        try (TestHttp2Backend slow = new TestHttp2Backend();
                TestHttp2Backend fast = new TestHttp2Backend()) {
            slow.behave(stream -> {
                reached.incrementAndGet();
                if (!stream.isReadToItsEnd()) {
                    resets.incrementAndGet();
                }
            });
            fast.behave(stream -> stream.answer(200));
            started = TestGateway.setup()
                    .instances(
                            "orders",
                            List.of(slow.uri(), fast.uri()),
                            "protocol: h2",
                            "deadline: 60s",
                            "load-balancing: { policy: round-robin }")
                    .route("orders", "orders", "hedge: { after: 50ms }")
                    .start();
            for (int i = 0; i < 6; i++) {
                assertThat(TestCaller.get(gateway().port(), Door.COMPILED.path("orders", "h2"))
                                .status())
                        .isEqualTo(200);
            }
            assertThat(hedges(HedgeResult.WON)).isPositive();
            // It never answers: a call that began there was won by its hedge, and a hedge there has lost.
            assertThat(reached.get()).isGreaterThanOrEqualTo((int) hedges(HedgeResult.WON));
            await().untilAsserted(() -> assertThat(resets).hasValue(reached.get()));
            assertThat(slow.connections()).as("the connection stays").isOne();
        }
    }
}
