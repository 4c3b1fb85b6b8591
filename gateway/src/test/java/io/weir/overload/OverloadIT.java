package io.weir.overload;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.weir.engine.Engine;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.http.client.ReactorResourceFactory;
import tools.jackson.databind.JsonNode;

/**
 * The gateway's own overload: new requests are refused, requests in flight continue. The event loops are late
 * in a time of the test ({@link LoopTime}).
 */
class OverloadIT extends GatewayTests {

    private static final int MAX_IN_FLIGHT = 100;

    /** Places of each of the four backends: its equal part. */
    private static final int GUARANTEED = 4;

    /** 95 % of the places that no backend is guaranteed. */
    private static final int MAX_SHARED_NORMAL = 80;

    /** One busy backend alone uses nearly the whole pot. */
    private static final int MAX_NORMAL = GUARANTEED + MAX_SHARED_NORMAL;

    /** With each of two or more event loops, more callers than requests are needed for a shedding. */
    private static final int MANY = 80;

    private static LoopTime time;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("overload: { max-in-flight: " + MAX_IN_FLIGHT
                        + ", target-event-loop-delay: 10ms, max-event-loop-delay: 250ms }")
                .weir("edge: { priority-header: X-Priority, trusted-proxies: [127.0.0.1] }")
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 16 }",
                        // A pause of an event loop must not end a connect.
                        "connection: { connect-timeout: 20s }")
                .backend("others", backend.uri(), "bulkhead: { max-concurrent-calls: 100 }")
                .backend("hung", backend.uri(), "bulkhead: { max-concurrent-calls: 100 }")
                .route("orders", "orders")
                .route("others", "others", "fallback: { body: prepared }")
                .route("hung", "hung")
                .route("extras", "others", "priority: sheddable")
                .start();
        time = new LoopTime(loops(), gateway.bean(OverloadSampler.class), gateway.bean(OverloadGuard.class));
    }

    @AfterAll
    static void endTime() {
        time.close();
    }

    /** Takes samples until a condition holds, as often as the gateway does: a late loop is not stuck. */
    private static void awaitSampled(BooleanSupplier condition) {
        await().pollInterval(Duration.ofMillis(OverloadSampler.PERIOD_MILLIS)).until(() -> {
            time.sample();
            return condition.getAsBoolean();
        });
    }

    @Door.Any
    void refusesRequestsAboveTheLimitInFlight(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < MAX_NORMAL; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("others", "fills" + i)));
        }
        await().until(() -> calls.inside() == MAX_NORMAL);
        String path = door.path("others", "too-much");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        // No fallback applies: the gateway itself is overloaded, not the backend.
        JsonNode line = assertRefused(gateway, door, "others", path, refused, Reason.GATEWAY_OVERLOADED);
        assertThat(line.path("attempts").asInt()).isZero();
        assertThat(gateway.bean(Engine.class).inFlight()).isEqualTo(MAX_NORMAL);
        assertThat(calls.calls()).isEqualTo(MAX_NORMAL);

        calls.release();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        gateway.assertNothingHeld();
        assertThat(TestCaller.get(gateway.port(), path + "-after").status()).isEqualTo(200);
        gateway.assertFed("others", MAX_NORMAL + 1, 0, 0);
    }

    /** Five times the pot; the healthy backend is the neighbour, whose share is an equal one. */
    @Door.Any
    void servesAHealthyBackendWhileOthersHangAndHoldAllThatTheyMay(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < 5 * MAX_IN_FLIGHT; i++) {
            String route = i % 2 == 0 ? "hung" : "others";
            answers.add(TestCaller.ask(gateway.port(), door.path(route, "hangs" + i)));
        }
        await().until(() -> calls.inside()
                        + answers.stream().filter(CompletableFuture::isDone).count()
                == answers.size());

        for (int i = 0; i < 20; i++) {
            gateway.assertNeighbourUnharmed();
        }
        int held = MAX_SHARED_NORMAL + 2 * GUARANTEED;
        assertThat(calls.inside()).isEqualTo(held);
        assertThat(gateway.bean(OverloadGuard.class).sharedInFlight()).isEqualTo(MAX_SHARED_NORMAL);

        calls.release();
        List<TestCaller.Answer> all =
                answers.stream().map(CompletableFuture::join).toList();
        assertThat(all).filteredOn(answer -> answer.status() == 200).hasSize(held);
        all.stream()
                .filter(answer -> answer.status() != 200)
                .forEach(answer -> assertRefused(answer, Reason.GATEWAY_OVERLOADED));
        gateway.assertNothingHeld();
        assertThat(gateway.bean(OverloadGuard.class).sharedInFlight()).isZero();
    }

    @Door.Any
    void refusesOnAnEventLoopWithAStandingDelayAndServesOnTheOthers(Door door) throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        String path = door.path("orders", "late");
        // Connect first: the late loop may be the accepting one.
        List<TestCaller> callers = connect(door);
        EventLoop late = loops().next();
        long refusedBefore = guard.refused(ShedCause.DELAY, Priority.NORMAL);
        AtomicLong refused = new AtomicLong();
        time.delay(late, 300, () -> refused.addAndGet(requests(guard, late)));
        try {
            awaitSampled(guard::isOverloaded);
            awaitSampled(() -> guard.loopDelayNanos() > TimeUnit.MILLISECONDS.toNanos(250));
            List<TestCaller.Answer> answers = callers.stream()
                    .map(caller -> ask(caller, path))
                    .map(CompletableFuture::join)
                    .toList();
            assertRefused(
                    answers.stream()
                            .filter(answer -> answer.status() != 200)
                            .findFirst()
                            .orElseThrow(),
                    Reason.GATEWAY_OVERLOADED);
            assertThat(answers).anyMatch(answer -> answer.status() == 200);
            // The connections stay open.
            List<TestCaller.Answer> next = callers.stream()
                    .map(caller -> ask(caller, path))
                    .map(CompletableFuture::join)
                    .toList();
            assertThat(next).allMatch(answer -> answer.status() == 200 || answer.status() == 503);
            refused.addAndGet(Stream.concat(answers.stream(), next.stream())
                    .filter(answer -> answer.status() != 200)
                    .count());
        } finally {
            time.endDelay(late);
        }
        awaitSampled(() -> !guard.isOverloaded());
        assertThat(guard.refused(ShedCause.DELAY, Priority.NORMAL) - refusedBefore)
                .isEqualTo(refused.get());
        for (TestCaller caller : callers) {
            caller.close();
        }
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "in-time"))
                        .status())
                .isEqualTo(200);
    }

    @Door.Both
    void refusesByPriorityBelowTheHardLimit(Door door) throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        String path = door.path("extras", "late");
        List<TestCaller> callers = connect(door);
        EventLoop late = loops().next();
        time.delay(late, 100, () -> requests(guard, late));
        try {
            awaitSampled(() -> guard.share() == 1);
            long refusedBefore = guard.refused(ShedCause.DELAY, Priority.SHEDDABLE);
            List<TestCaller.Answer> answers = callers.stream()
                    .map(caller -> ask(caller, path))
                    .map(CompletableFuture::join)
                    .toList();
            List<TestCaller.Answer> refused =
                    answers.stream().filter(answer -> answer.status() != 200).toList();
            assertThat(refused).isNotEmpty();
            refused.forEach(answer -> assertRefused(answer, Reason.GATEWAY_OVERLOADED));
            assertThat(answers).anyMatch(answer -> answer.status() == 200);
            assertThat(guard.refused(ShedCause.DELAY, Priority.SHEDDABLE) - refusedBefore)
                    .isEqualTo(refused.size());
        } finally {
            time.endDelay(late);
        }
        awaitSampled(() -> !guard.isOverloaded());
        for (TestCaller caller : callers) {
            assertThat(caller.request("GET", path).status()).isEqualTo(200);
            caller.close();
        }
        gateway.assertNothingHeld();
    }

    /** A request of no route that is not refused at its head gets 404. */
    @Test
    void refusesAtTheHeadByThePriorityThatATrustedProxyHasSet() throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        List<TestCaller> callers = connect(Door.COMPILED);
        EventLoop late = loops().next();
        time.delay(late, 100, () -> requests(guard, late));
        try {
            awaitSampled(() -> guard.share() == 1);
            List<Integer> sheddable = statuses(callers, "X-Priority: sheddable");
            assertThat(sheddable).contains(503).allMatch(status -> status == 503 || status == 404);
            assertThat(statuses(callers)).containsOnly(404);
            assertThat(statuses(callers, "X-Priority: urgent")).containsOnly(404);
        } finally {
            time.endDelay(late);
        }
        awaitSampled(() -> !guard.isOverloaded());
        for (TestCaller caller : callers) {
            caller.close();
        }
    }

    /** The statuses of requests of no route, one of each caller. */
    private static List<Integer> statuses(List<TestCaller> callers, String... fields) {
        return callers.stream()
                .map(caller -> ask(caller, "/nowhere", fields))
                .map(CompletableFuture::join)
                .map(TestCaller.Answer::status)
                .toList();
    }

    /** The callers' own requests are counted, also while no event loop sheds. */
    @Test
    void refusesRequestsThatAreTheCauseOfAStandingDelay() throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        long refusedBefore = guard.refused(ShedCause.DELAY, Priority.NORMAL);
        String path = Door.COMPILED.path("orders", "many");
        List<TestCaller> callers = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            callers.add(TestCaller.to(gateway.port()));
            callers.getLast().request("GET", path);
        }
        AtomicBoolean isOver = new AtomicBoolean();
        EventLoop late = loops().next();
        time.delay(late, 100, () -> {});
        List<CompletableFuture<Set<Integer>>> statuses =
                callers.stream().map(caller -> askUntil(caller, path, isOver)).toList();
        try {
            await().until(() -> guard.refused(ShedCause.DELAY, Priority.NORMAL) > refusedBefore);
        } finally {
            isOver.set(true);
            time.endDelay(late);
        }
        statuses.forEach(CompletableFuture::join);
        for (TestCaller caller : callers) {
            caller.close();
        }
        awaitSampled(() -> !guard.isOverloaded());
    }

    /** As many normal requests as can be the cause of a delay. Returns how many of them are refused. */
    private static long requests(OverloadGuard guard, EventLoop late) {
        return IntStream.range(0, 20)
                .filter(_ -> guard.refusesHead(late, null) || guard.refusesRequest(late, null, Priority.NORMAL))
                .count();
    }

    @Door.Any
    void refusesNothingBecauseOfASinglePauseOfAllEventLoops(Door door) throws Exception {
        calls.release();
        List<TestCaller> callers = connect(door);
        AtomicBoolean isOver = new AtomicBoolean();
        List<CompletableFuture<Set<Integer>>> statuses = callers.stream()
                .map(caller -> askUntil(caller, door.path("orders", "paused"), isOver))
                .toList();

        List<Future<?>> pauses = new ArrayList<>();
        loops().forEach(loop -> pauses.add(loop.submit(() -> {
            // Requests arrive meanwhile.
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            time.pause(loop, 1_000);
        })));
        for (Future<?> pause : pauses) {
            pause.get();
        }
        // Requests that came during the pause are served now.
        TestCaller.get(gateway.port(), door.path("orders", "after"));
        isOver.set(true);

        for (CompletableFuture<Set<Integer>> each : statuses) {
            assertThat(each.join()).containsExactly(200);
        }
        for (TestCaller caller : callers) {
            caller.close();
        }
    }

    @Test
    void refusesNothingOnOtherLoopsWhileAnEventLoopIsStuck() throws Exception {
        calls.release();
        List<TestCaller> callers = connect(Door.COMPILED);
        CountDownLatch stuck = new CountDownLatch(1);
        EventLoop loop = loops().next();
        loop.execute(() -> {
            try {
                stuck.await(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        AtomicBoolean isOver = new AtomicBoolean();
        List<CompletableFuture<Set<Integer>>> statuses = callers.stream()
                .map(caller -> askUntil(caller, Door.COMPILED.path("orders", "stuck"), isOver))
                .toList();
        try {
            for (int i = 0; i < StuckLoops.STUCK_SECONDS * 1_000 / OverloadSampler.PERIOD_MILLIS; i++) {
                assertThat(time.stuckLoops()).isZero();
                awaitIterationOfOthers(loop);
                time.sample();
            }
            // The first samples may have come before the loop was late.
            awaitSampled(() -> time.stuckLoops() == 1);
            assertThat(gateway.bean(OverloadGuard.class).isOverloaded()).isFalse();
        } finally {
            isOver.set(true);
            stuck.countDown();
        }

        for (CompletableFuture<Set<Integer>> each : statuses) {
            assertThat(each.join()).containsExactly(200);
        }
        for (TestCaller caller : callers) {
            caller.close();
        }
    }

    private static void awaitIterationOfOthers(EventLoop stuck) {
        for (EventExecutor other : loops()) {
            int before = time.iterations(other);
            if (other != stuck) {
                await().until(() -> time.iterations(other) > before);
            }
        }
    }

    @Door.Any
    void refusesWhileMemoryIsAboveTheLimit(Door door) throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        String path = door.path("orders", "short-of-memory");
        time.fillMemory(91);
        time.sample();
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        time.fillMemory(0);
        time.sample();

        assertRefused(refused, Reason.GATEWAY_OVERLOADED);
        assertThat(guard.isOverloaded()).isFalse();
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "enough-memory"))
                        .status())
                .isEqualTo(200);
        gateway.assertMetered(door.id("orders"), "gateway-overloaded");
    }

    private static EventLoopGroup loops() {
        return gateway.bean(ReactorResourceFactory.class).getLoopResources().onServer(true);
    }

    /** Callers whose connections are on all event loops. */
    private static List<TestCaller> connect(Door door) throws IOException {
        List<TestCaller> callers = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            TestCaller caller = TestCaller.to(gateway.port());
            caller.request("GET", door.path("orders", "connects"));
            callers.add(caller);
        }
        return callers;
    }

    /** Sends requests, one after the other, until the end; returns the statuses of all answers. */
    private static CompletableFuture<Set<Integer>> askUntil(TestCaller caller, String path, AtomicBoolean isOver) {
        return inBackground(() -> {
            Set<Integer> statuses = new HashSet<>();
            do {
                statuses.add(caller.request("GET", path).status());
                Thread.sleep(5);
            } while (!isOver.get());
            return statuses;
        });
    }

    private static CompletableFuture<TestCaller.Answer> ask(TestCaller caller, String path, String... fields) {
        return inBackground(() -> caller.request("GET", path, fields));
    }

    private static <T> CompletableFuture<T> inBackground(Callable<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                result.complete(task.call());
            } catch (Exception e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }
}
