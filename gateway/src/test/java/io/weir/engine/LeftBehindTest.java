package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.TrafficSimulation.Ending;
import io.weir.engine.TrafficSimulation.Fault;
import java.time.Duration;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that hang or poll beside others, with the real engine and an adaptive limit in virtual time. */
class LeftBehindTest {

    private static final long SEED = 1;
    private static final int QUEUE = 10;
    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final Duration SERVICE = Duration.ofMillis(20);

    private static TrafficSimulation simulation(Duration deadline) {
        return new TrafficSimulation(deadline, TrafficSimulation.AUTO, QUEUE, SEED);
    }

    private static double answeredPercent(TrafficSimulation simulation, Predicate<Ending> filter) {
        long all = simulation.endings.stream().filter(filter).count();
        long answered = simulation.endings.stream()
                .filter(filter.and(Ending::isAnswered))
                .count();
        return 100.0 * answered / all;
    }

    /** As with a dead shard: 100/s on one route. */
    @ParameterizedTest
    @ValueSource(ints = {5, 10, 20})
    void answersTheOthersIfSomeCallsOfARouteHang(int percent) {
        TrafficSimulation simulation = simulation(Duration.ofSeconds(2));
        simulation.service = SERVICE;
        simulation.traffic(1, Duration.ofMillis(10), Duration.ofSeconds(4));
        Random random = new Random(SEED);
        for (int i = 0; i < 1000; i++) {
            simulation.call(simulation.route, random.nextInt(100) < percent);
            simulation.advance(Duration.ofMillis(10));
        }
        assertThat(simulation.openedAt()).as("opens").isNegative();
        simulation.advance(Duration.ofSeconds(2));

        assertThat(answeredPercent(simulation, ending -> !ending.hangs())).isGreaterThanOrEqualTo(97);
        assertThat(simulation.bulkhead.inUse()).isZero();
        assertThat(simulation.streams.inUse()).isZero();
    }

    /** The calls that hang arrive in random clusters. */
    @ParameterizedTest
    @CsvSource({"5, 150", "20, 100", "50, 100", "100, 100"})
    void answersTheOthersIfTwoOfFiveCallsOfARouteHang(int millis, int perSecond) {
        for (int seed = 1; seed <= 12; seed++) {
            TrafficSimulation simulation = simulation(Duration.ofSeconds(2));
            simulation.service = Duration.ofMillis(millis);
            Duration interval = Duration.ofSeconds(1).dividedBy(perSecond);
            simulation.traffic(1, interval, Duration.ofSeconds(4));
            Random random = new Random(seed);
            for (int i = 0; i < 10 * perSecond; i++) {
                simulation.call(simulation.route, random.nextInt(100) < 40);
                simulation.advance(interval);
            }
            assertThat(simulation.openedAt()).as("opens").isNegative();
            simulation.advance(Duration.ofSeconds(2));

            assertThat(answeredPercent(simulation, ending -> !ending.hangs()))
                    .as("seed " + seed)
                    .isGreaterThanOrEqualTo(97);
            assertThat(simulation.bulkhead.inUse()).isZero();
            assertThat(simulation.streams.inUse()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 85})
    void answersTheCallsBesideLongPollsThatAreTheFirstCallsOfABackend(int shortPerSecond) {
        TrafficSimulation simulation = simulation(Duration.ofSeconds(40));
        Route polls = simulation.otherRoute("polls");
        simulation.answerNanos = route -> route.id().equals(polls.id()) ? 30_000 * MS : 15 * MS;
        for (int i = 0; i < 20; i++) {
            simulation.call(polls, false);
        }
        simulation.traffic(1, Duration.ofSeconds(1).dividedBy(shortPerSecond), Duration.ofSeconds(10));
        simulation.advance(Duration.ofSeconds(40));

        assertThat(answeredPercent(simulation, ending -> !ending.route().equals(polls.id())))
                .isGreaterThanOrEqualTo(97);
    }

    /** Twice: after the first polls, the usual time of their route is known. */
    @ParameterizedTest
    @ValueSource(ints = {85, 10})
    void answersLongPollsAndTheCallsBesideThem(int shortPerSecond) {
        TrafficSimulation simulation = simulation(Duration.ofSeconds(40));
        Route polls = simulation.otherRoute("polls");
        simulation.answerNanos = route -> route.id().equals(polls.id()) ? 30_000 * MS : 15 * MS;
        Duration interval = Duration.ofSeconds(1).dividedBy(shortPerSecond);
        simulation.traffic(1, interval, Duration.ofSeconds(5));
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 20; i++) {
                simulation.call(polls, false);
            }
            simulation.traffic(1, interval, Duration.ofSeconds(35));
        }

        assertThat(simulation.endings).allMatch(Ending::isAnswered);
        assertThat(simulation.endings)
                .filteredOn(ending -> !ending.route().equals("polls"))
                .allMatch(ending -> ending.nanos() < 4000 * MS);
    }

    @ParameterizedTest
    @CsvSource({"20, 5", "20, 50", "20, 500", "60, 50"})
    void findsABackendThatSwallowedItsFirstCallsWithinASecondOfItsHeal(int deadlineSeconds, int perSecond) {
        TrafficSimulation simulation = simulation(Duration.ofSeconds(deadlineSeconds));
        simulation.service = SERVICE;
        Duration interval = Duration.ofSeconds(1).dividedBy(perSecond);
        simulation.fault = Fault.HANG;
        simulation.traffic(1, interval, Duration.ofSeconds(14));
        assertThat(simulation.inBackend()).as("swallowed").isLessThan(64);
        long healedAt = simulation.now();
        simulation.fault = Fault.NONE;
        simulation.traffic(1, interval, Duration.ofSeconds(4));

        assertThat(simulation.endings)
                .anyMatch(ending -> ending.isAnswered() && ending.endedAt() - healedAt < 1000 * MS);
        simulation.endings.removeIf(ending -> ending.arrivedAt() - healedAt < 1000 * MS);
        assertThat(simulation.endings).isNotEmpty().allMatch(Ending::isAnswered);
    }

    /** Four times the capacity of workers with a queue. The times of an uneven backend have no memory. */
    @ParameterizedTest
    @CsvSource({"10, 20, false", "10, 20, true", "40, 200, false", "40, 200, true"})
    void leavesHardlyAnyCallOfAnOverloadedBackendBehind(int workers, int millis, boolean isUneven) {
        TrafficSimulation simulation = simulation(Duration.ofSeconds(2));
        Random random = new Random(SEED);
        PriorityQueue<Long> free = new PriorityQueue<>();
        for (int i = 0; i < workers; i++) {
            free.add(0L);
        }
        simulation.answerNanos = route -> {
            double times = isUneven ? -Math.log(1 - random.nextDouble()) : 1;
            long end = Math.max(simulation.now(), free.remove()) + (long) (times * millis * MS);
            free.add(end);
            return end - simulation.now();
        };
        double perSecond = 1000.0 * workers / millis;
        simulation.traffic(1, Duration.ofNanos((long) (2e9 / perSecond)), Duration.ofSeconds(5));
        simulation.endings.clear();
        int moved = 0;
        Duration interval = Duration.ofNanos((long) (1e9 / perSecond / 4));
        for (int i = 0; i < 200; i++) {
            simulation.traffic(1, interval, Duration.ofMillis(50));
            moved = Math.max(moved, simulation.streams.inUse());
        }

        assertThat(moved).as("outside the limit").isLessThanOrEqualTo(4);
        long answered = simulation.endings.stream().filter(Ending::isAnswered).count();
        assertThat(answered / 10.0 / perSecond).as("share of the capacity").isGreaterThan(.9);
    }

    /**
     * All hang: nothing overtakes, and the breaker opens after the stall time. Until then the limit grows for
     * calls that take a quarter of the deadline, since nothing tells them from calls that hang.
     */
    @ParameterizedTest
    @ValueSource(ints = {50, 500})
    void opensAsEarlyAsEverIfAllCallsHang(int perSecond) {
        TrafficSimulation simulation = simulation(Duration.ofSeconds(2));
        simulation.service = SERVICE;
        Duration interval = Duration.ofSeconds(1).dividedBy(perSecond);
        simulation.traffic(1, interval, Duration.ofSeconds(4));
        long hangsAt = simulation.now();
        int limit = simulation.bulkhead.maxConcurrentCalls();
        simulation.fault = Fault.HANG;
        simulation.traffic(1, interval, Duration.ofSeconds(3));

        assertThat(simulation.openedAt() - hangsAt).isBetween(1000 * MS, 1100 * MS);
        double quarterOfDeadline = .5;
        assertThat((double) simulation.inBackendAtOpening())
                .as("with scouts")
                .isLessThanOrEqualTo(limit + 12 + 1.15 * quarterOfDeadline * perSecond);
    }
}
