package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Priority;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An event loop in virtual time: each iteration works off the requests that arrived during the one before,
 * and the answers that are due. A request costs 100 µs if it is admitted, half of it for its answer, which
 * comes 5 ms later; it costs 20 µs if it is refused. Callers do not wait for each other.
 */
class LoadShedderTest {

    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SECOND = 1_000 * MS;
    private static final long HALF_NANOS = 50_000;
    private static final long REFUSAL_NANOS = 20_000;
    private static final long OVERHEAD_NANOS = 10_000;
    private static final int BACKEND_MILLIS = 5;
    private static final double CAPACITY = 1e9 / (2 * HALF_NANOS);

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - SECOND);
    private final VirtualLoop loop = new VirtualLoop(clock);
    private final LoadShedder shedder = new LoadShedder(10 * MS, 500 * MS, 100 * MS, 42);
    private final AtomicInteger sheddingLoops = new AtomicInteger();
    private final LoopDelay delay =
            new LoopDelay(loop, clock::get, () -> this.waitedNanos, 250 * MS, shedder, sheddingLoops);
    private final Random random = new Random(7);
    /** Answers by the millisecond at which they are due. */
    private final Map<Long, Integer> answers = new HashMap<>();

    private final Map<Priority, Integer> sent = new EnumMap<>(Priority.class);
    private final Map<Priority, Integer> refused = new EnumMap<>(Priority.class);
    private double criticalShare;
    private double sheddableShare;
    /** The time that a request costs at this moment, relative to that on a warm JVM. */
    private DoubleSupplier cost = () -> 1;

    /** The time that other threads take of the processor for each nanosecond of the loop. */
    private double othersPerNano;

    /** The time that they take in each iteration, in one piece. */
    private long othersSliceNanos;

    private long waitedNanos;

    private double backlog;
    private long startNanos;
    private long answeredUntilMillis;
    private long iterations;
    private long iterationNanos;

    @BeforeEach
    void start() {
        delay.start();
        loop.idle(1_000);
        startNanos = clock.get();
    }

    @ParameterizedTest(name = "at {0} % load")
    @ValueSource(ints = {10, 50, 70, 90})
    void refusesNothingAfterAPauseOf400Milliseconds(int loadPercent) {
        run(loadPercent / 100.0, SECOND);
        pause(400);
        run(loadPercent / 100.0, 10 * SECOND);

        assertThat(refused()).isZero();
        assertThat(sheddingLoops).hasValue(0);
    }

    @ParameterizedTest(name = "at {0} % load")
    @ValueSource(ints = {30, 80, 95})
    void refusesNothingBelowTheCapacity(int loadPercent) {
        run(loadPercent / 100.0, 20 * SECOND);

        assertThat(refused()).isZero();
    }

    @Test
    void refusesNothingInAClosedLoopOfAHundredConnections() {
        runClosedLoop(100, 10 * SECOND);

        assertThat(sent()).isGreaterThan(50_000);
        assertThat(refused()).isZero();
    }

    /** The number of the callers, and not their load, keeps the loop some milliseconds above the target. */
    @ParameterizedTest(name = "{0} connections, a request costs {1} times as much as usual")
    @CsvSource({"100, 3, 0.05", "200, 1, 0.01", "400, 1, 0.15"})
    void refusesLittleInAClosedLoopThatStandsAboveTheTarget(int connections, double factor, double most) {
        cost = () -> factor;
        runClosedLoop(connections, 5 * SECOND);

        assertThat((double) refused() / sent()).isLessThan(most);
        assertThat(iterationNanos / iterations).as("delay").isLessThan(25 * MS);
    }

    /**
     * 500 requests a second on two loops, each of which costs up to 3 ms at first and varies by its factor.
     */
    @ParameterizedTest(name = "seed {0}")
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void refusesNothingAtAColdStartBelowTheCapacity(int seed) {
        Random noise = new Random(seed);
        long from = clock.get();
        cost = () -> {
            double mean = 1 + 30 * Math.exp(-(clock.get() - from) / (5. * SECOND));
            // The compiler's threads take the processor now and then, for up to 10 ms.
            double stolen = noise.nextDouble() < 0.03 ? 200 * noise.nextDouble() : 0;
            return mean * Math.exp(0.7 * noise.nextGaussian() - 0.245) + stolen;
        };
        run(250 / CAPACITY, 10 * SECOND);

        assertThat(sent()).isGreaterThan(2_400);
        assertThat(refused()).isZero();
    }

    /** As while compilers share a single processor with the loop. */
    @Test
    void refusesNothingWhileTheLoopOnlyWaitsForAProcessor() {
        othersSliceNanos = 30 * MS;
        run(0.1, 10 * SECOND);

        assertThat(iterationNanos / iterations).as("iteration").isGreaterThan(30 * MS);
        assertThat(refused()).isZero();
    }

    /** To refuse more would not end the loop's waits, and waste the part of the processor that it has. */
    @ParameterizedTest(name = "{0} times the capacity of all the processor")
    @ValueSource(doubles = {0.6, 0.8, 1.2})
    void serveWithTheirPartOfTheProcessorWhatThatPartCan(double load) {
        othersPerNano = 1.5;
        double part = 1 / (1 + othersPerNano);
        run(load, 3 * SECOND);
        forget();
        run(load, 5 * SECOND);

        double cost = 2.0 * HALF_NANOS / REFUSAL_NANOS;
        double possible = part * CAPACITY * (cost - load / part) / (cost - 1);
        assertThat((sent() - refused()) / 5.0).as("goodput").isGreaterThan(0.9 * possible);
        assertThat(iterationNanos / iterations).as("iteration").isLessThan(50 * MS);
    }

    /** The calls cost more than the loop has time for, until their code is compiled. */
    @Test
    void letsCallsWaitWhileCompilersTakeTheProcessor() {
        long from = clock.get();
        cost = () -> 1 + 6 * Math.exp(-(clock.get() - from) / (double) SECOND);
        shedder.setPatient(true);
        run(0.5, 4 * SECOND);
        shedder.setPatient(false);
        run(0.5, 4 * SECOND);

        assertThat(refused()).isZero();
    }

    /** Without patience, the same calls are refused. */
    @Test
    void refusesCallsThatCostMoreThanTheLoopHas() {
        long from = clock.get();
        cost = () -> 1 + 6 * Math.exp(-(clock.get() - from) / (double) SECOND);
        run(0.5, 4 * SECOND);

        assertThat(refused()).isGreaterThan(100);
    }

    @Test
    void keepsTheDelayBelowASecondWhileCompilersTakeTheProcessor() {
        shedder.setPatient(true);
        run(1.5, 5 * SECOND);
        forget();
        run(1.5, 5 * SECOND);

        assertThat(refused()).isPositive();
        assertThat(iterationNanos / iterations).as("iteration").isLessThan(SECOND);
    }

    @Test
    void refusesNothingAtFirstJustAboveTheTarget() {
        for (int i = 0; i < 8; i++) {
            arrive(5);
            loop.iterate(18);
        }

        assertThat(shedder.isShedding()).isTrue();
        assertThat(shedder.takeHighestShare()).isZero();
    }

    @Test
    void refusesAShareOnceTheDelayHasStoodJustAboveTheTargetForSeconds() {
        for (int i = 0; i < 300; i++) {
            arrive(5);
            loop.iterate(15);
        }

        assertThat(shedder.takeHighestShare()).isBetween(0.01, 0.05);
    }

    /**
     * As while the first request of a kind loads its classes, or while a compiler has the processor. Nothing
     * is shed, so nothing is reported.
     */
    @ParameterizedTest(name = "iterations of {0} ms")
    @ValueSource(ints = {50, 300})
    void doesNotShedIfTheRequestsAreTooFewToCauseTheDelay(int millis) {
        for (int i = 0; i < 50; i++) {
            arrive(3);
            loop.iterate(millis);
            assertThat(sheddingLoops).hasValue(0);
            assertThat(delay.refusesAll()).isFalse();
            assertThat(delay.refuses(Priority.SHEDDABLE)).isFalse();
        }

        assertThat(shedder.takeHighestShare()).isZero();
    }

    /** The share begins with the first delay that requests can have caused. */
    @Test
    void ignoresDelaysBeforeTheRequestsWereMany() {
        for (int i = 0; i < 50; i++) {
            arrive(3);
            loop.iterate(50);
        }
        arrive(20);
        loop.iterate(50);

        assertThat(shedder.share()).isBetween(0.15, 0.3);
    }

    @Test
    void shedsAfterThreeIterationsAboveTheTarget() {
        for (int i = 0; i < 2; i++) {
            arrive(20);
            loop.iterate(50);
        }
        assertThat(shedder.isShedding()).isFalse();

        for (int i = 0; i < 2; i++) {
            arrive(20);
            loop.iterate(50);
        }

        assertThat(shedder.isShedding()).isTrue();
        assertThat(sheddingLoops).hasValue(1);
        assertThat(shedder.share()).isGreaterThan(0.15);
        assertThat(shedder.takeHighestShare()).isEqualTo(shedder.share());
    }

    @Test
    void refusesEverythingAboveTheHardLimit() {
        for (int i = 0; i < 4; i++) {
            arrive(20);
            loop.iterate(300);
        }

        arrive(20);
        assertThat(delay.refusesAll()).isTrue();
        for (Priority priority : Priority.values()) {
            assertThat(delay.refuses(priority)).as("%s", priority).isTrue();
        }
    }

    @ParameterizedTest(name = "{0} times the capacity")
    @CsvSource({"1.1, 0.11", "1.5, 0.42", "2, 0.625", "3, 0.833"})
    void convergesToTheShareThatTheLoopCannotServe(double load, double share) {
        run(load, 3 * SECOND);
        forget();
        run(load, 5 * SECOND);

        double refusedShare = (double) refused() / sent();
        assertThat(refusedShare).isBetween(share - 0.03, share + 0.03);
        assertThat(iterationNanos / iterations).as("delay").isBetween(7 * MS, 14 * MS);
        double cost = 2.0 * HALF_NANOS / REFUSAL_NANOS;
        double possible = CAPACITY * (cost - load) / (cost - 1);
        assertThat((sent() - refused()) / 5.0).as("goodput").isGreaterThan(0.95 * possible);
    }

    @Test
    void refusesNothingAnyMoreSoonAfterTheOverload() {
        run(2, 5 * SECOND);
        run(0.5, SECOND);
        forget();
        run(0.5, 5 * SECOND);

        assertThat(refused()).isZero();
        assertThat(shedder.share()).isZero();
        assertThat(sheddingLoops).hasValue(0);
    }

    @Test
    void refusesLittleInTheFirstSecondAfterTheOverload() {
        run(2, 5 * SECOND);
        forget();
        run(0.5, SECOND);

        assertThat((double) refused() / sent()).isLessThan(0.1);
    }

    @Test
    void refusesSheddableRequestsFirst() {
        criticalShare = 0.1;
        sheddableShare = 0.6;
        run(1.5, SECOND);
        forget();
        run(1.5, 5 * SECOND);

        assertThat(refused(Priority.CRITICAL)).isZero();
        assertThat(part(Priority.NORMAL)).isLessThan(0.02);
        assertThat(part(Priority.SHEDDABLE)).isBetween(0.6, 0.8);
    }

    @Test
    void refusesNormalRequestsBeforeCriticalOnes() {
        criticalShare = 0.1;
        sheddableShare = 0.2;
        run(2, 20 * SECOND);

        assertThat(part(Priority.CRITICAL)).isLessThan(0.001);
        assertThat(part(Priority.NORMAL)).isBetween(0.5, 0.7);
        assertThat(part(Priority.SHEDDABLE)).isGreaterThan(0.95);
    }

    @Test
    void refusesCriticalRequestsIfThereAreNoOthers() {
        criticalShare = 1;
        run(2, 3 * SECOND);
        forget();
        run(2, 5 * SECOND);

        assertThat(part(Priority.CRITICAL)).isBetween(0.59, 0.66);
        assertThat(iterationNanos / iterations).isBetween(7 * MS, 14 * MS);
    }

    @Test
    void forgetsItsShareWhenItEnds() {
        run(2, 5 * SECOND);
        delay.close();
        loop.iterate(1);

        assertThat(delay.refuses(Priority.SHEDDABLE)).isFalse();
        assertThat(shedder.share()).isZero();
        assertThat(sheddingLoops).hasValue(0);
    }

    private void arrive(int requests) {
        for (int i = 0; i < requests; i++) {
            delay.arrived();
            delay.refuses(Priority.NORMAL);
        }
    }

    private void run(double load, long nanos) {
        long end = clock.get() + nanos;
        long arrivedUntil = clock.get();
        while (clock.get() - end < 0) {
            long now = clock.get();
            backlog += load * CAPACITY * (now - arrivedUntil) / SECOND * (0.9 + 0.2 * random.nextDouble());
            arrivedUntil = now;
            long work = OVERHEAD_NANOS + answer(now);
            for (; backlog >= 1; backlog--) {
                work += take(now);
            }
            iterate(work);
        }
    }

    /** Callers of whom each sends a request as soon as the one before is answered or refused. */
    private void runClosedLoop(int connections, long nanos) {
        long end = clock.get() + nanos;
        int arrived = connections;
        while (clock.get() - end < 0) {
            long now = clock.get();
            int before = refused();
            int answered = answered(now);
            long work = OVERHEAD_NANOS + work(answered);
            for (int i = 0; i < arrived; i++) {
                work += take(now);
            }
            arrived = answered + refused() - before;
            iterate(work);
        }
    }

    private void iterate(long work) {
        long now = clock.get();
        if (work == OVERHEAD_NANOS) {
            loop.idle(1);
        } else {
            long waits = Math.round(work * othersPerNano) + othersSliceNanos;
            waitedNanos += waits;
            loop.iterateNanos(work + waits);
        }
        iterations++;
        iterationNanos += clock.get() - now;
    }

    private long answer(long now) {
        return work(answered(now));
    }

    private long work(int due) {
        long work = 0;
        for (int i = 0; i < due; i++) {
            work += Math.round(HALF_NANOS * cost.getAsDouble());
        }
        return work;
    }

    /** The answers that are due. */
    private int answered(long now) {
        int all = 0;
        for (; answeredUntilMillis < millis(now); answeredUntilMillis++) {
            Integer due = answers.remove(answeredUntilMillis);
            all += due == null ? 0 : due;
        }
        return all;
    }

    private long millis(long now) {
        return (now - startNanos) / MS;
    }

    private long take(long now) {
        double choice = random.nextDouble();
        Priority priority = choice < criticalShare
                ? Priority.CRITICAL
                : choice < criticalShare + sheddableShare ? Priority.SHEDDABLE : Priority.NORMAL;
        sent.merge(priority, 1, Integer::sum);
        delay.arrived();
        if (delay.refuses(priority)) {
            refused.merge(priority, 1, Integer::sum);
            return Math.round(REFUSAL_NANOS * cost.getAsDouble());
        }
        answers.merge(millis(now) + BACKEND_MILLIS, 1, Integer::sum);
        return Math.round(HALF_NANOS * cost.getAsDouble());
    }

    /** Requests that arrive in the pause wait for its end. */
    private void pause(long millis) {
        loop.iterate(millis);
        backlog += CAPACITY * millis / 1_000 * 0.9;
    }

    private void forget() {
        sent.clear();
        refused.clear();
        iterations = 0;
        iterationNanos = 0;
    }

    private int sent() {
        return sent.values().stream().mapToInt(Integer::intValue).sum();
    }

    private int refused() {
        return refused.values().stream().mapToInt(Integer::intValue).sum();
    }

    private int refused(Priority priority) {
        return refused.getOrDefault(priority, 0);
    }

    private double part(Priority priority) {
        return (double) refused(priority) / sent.getOrDefault(priority, 1);
    }
}
