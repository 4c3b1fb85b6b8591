package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LittlesLawTest {

    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long WINDOW = 10 * SECOND;

    /** Close to an overflow, as {@link System#nanoTime} may be. */
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5 * SECOND);

    private final AtomicBoolean trusted = new AtomicBoolean(true);
    private final LittlesLaw law =
            new LittlesLaw(new LittlesLawProperties(Duration.ofSeconds(10)), trusted::get, clock::get);

    @Test
    void allFiguresAreZeroWithoutCalls() {
        LittlesLaw.Figures figures = figures();

        assertThat(figures).isEqualTo(new LittlesLaw.Figures(0, 0, 0, 0, 0, 0));
        assertThat(figures.activeCalls()).isZero();
        assertThat(figures.waitingShare()).isZero();
        assertThat(law.typicalNanos()).isZero();
    }

    @Test
    void computesRateTimesAndConcurrencyOfASteadyStream() {
        for (int i = 0; i < 3_000; i++) {
            clock.addAndGet(10 * MS);
            law.waited(5 * MS);
            law.served(45 * MS);
        }

        LittlesLaw.Figures figures = figures();
        assertThat(figures.arrivalRate()).isCloseTo(100, withinPercentage(1));
        assertThat(figures.serviceNanos()).isEqualTo(45 * MS);
        assertThat(figures.waitingNanos()).isEqualTo(5 * MS);
        assertThat(figures.activeCalls()).isCloseTo(4.5, withinPercentage(1));
        assertThat(figures.waitingCalls()).isCloseTo(0.5, withinPercentage(1));
        assertThat(figures.waitingShare()).isCloseTo(0.1, offset(1e-9));
        assertThat(figures.retired()).isEqualTo(3_000);
    }

    @Test
    void usesOnlyCallsWithinTheWindow() {
        record(100, 200 * MS, 20 * SECOND);

        record(10, 20 * MS, WINDOW + SECOND);

        assertThat(figures().arrivalRate()).isCloseTo(10, withinPercentage(1));
        assertThat(figures().serviceNanos()).isEqualTo(20 * MS);
    }

    @Test
    void computesARateOfZeroAfterAnIdleHour() {
        record(100, 20 * MS, 20 * SECOND);
        clock.addAndGet(TimeUnit.HOURS.toNanos(1));

        assertThat(figures().arrivalRate()).isZero();

        record(100, 20 * MS, WINDOW);
        assertThat(figures().arrivalRate()).isCloseTo(100, withinPercentage(2));
    }

    @Test
    void countsABurstAfterAnIdleHourWithoutReads() {
        record(100, 20 * MS, 20 * SECOND);
        clock.addAndGet(TimeUnit.HOURS.toNanos(1));

        record(100, 20 * MS, 5 * SECOND);

        // Calls arrived in 5 s of a 10 s window.
        assertThat(figures().arrivalRate()).isCloseTo(50, withinPercentage(10));
    }

    @Test
    void doesNotExtrapolateARateFromOneMillisecond() {
        clock.addAndGet(MS);
        law.served(MS);

        assertThat(figures().arrivalRate()).isEqualTo(1);
    }

    @Test
    void suggestsTheLimitAtWhichAnAdaptiveOneWouldRest() {
        record(200, 47 * MS, 2 * WINDOW);

        assertThat(figures().uncongestedNanos()).isEqualTo(47.0 * MS);
        // 1.15 x 200/s x 0.047 s + the root of 14.6 = 14.6
        assertThat(figures().suggestedLimit()).isEqualTo(15);
    }

    @ParameterizedTest
    @CsvSource({
        // limit, calls per second, milliseconds each; 0: no suggestion
        "64,  1,  50,  0",
        "64, 50,  20,  0",
        "64, 50,  79,  0",
        "64, 50,  81,  8",
        "2,   1,  50,  0",
        "2,  50,  18,  0",
        "2,  50,  22,  3",
        "2, 100,  20,  5"
    })
    void suggestsNothingFromTooLittleTraffic(int limit, int perSecond, long millis, int suggested) {
        record(perSecond, millis * MS, LittlesLaw.MIN_BATCH_CALLS * SECOND + 2 * WINDOW);

        assertThat(law.figures(new FixedLimit(limit)).suggestedLimit()).isEqualTo(suggested);
    }

    @Test
    void suggestsALowerLimitForABackendInWhichCallsQueueEvenIfItsWorkersAreFew() {
        record(50, 20 * MS, 2 * WINDOW);

        // One worker of 20 ms, and 64 calls in the backend.
        record(50, 1_280 * MS, WINDOW);

        assertThat(figures().suggestedLimit()).isEqualTo(3);
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "200, 0", "200, 30"})
    void suggestsTheAdaptiveLimitItself(int perSecond, long baseMillis) {
        record(perSecond, 47 * MS, LittlesLaw.MIN_BATCH_CALLS * SECOND + 2 * WINDOW);

        LittlesLaw.Figures figures = law.figures(adaptive(23, baseMillis * MS));

        assertThat(figures.suggestedLimit()).isEqualTo(23);
        assertThat(figures.uncongestedNanos()).isEqualTo(baseMillis == 0 ? 47.0 * MS : baseMillis * MS);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.1, 1, 9.4, 100, 5_000})
    void suggestsALimitThatAnAdaptiveOneWouldNotChange(double calls) {
        double limit = Knee.limitFor(calls);

        // The target of Knee, at this limit.
        assertThat(1.15 * calls + Math.sqrt(limit)).isCloseTo(limit, withinPercentage(.001));
    }

    private LittlesLaw.Figures figures() {
        return law.figures(new FixedLimit(64));
    }

    /** An adaptive limit with this number and base latency. */
    private static Limit adaptive(int value, long baseNanos) {
        AdaptiveLimit limit = new AdaptiveLimit(new LimitBounds(2, 1_000, value), 800 * MS, 0, 0, () -> {});
        for (int i = 0; i < 100 && baseNanos > 0; i++) {
            limit.ended(i * SECOND, limit.started(i * SECOND, 1), baseNanos, Limit.Evidence.ANSWERED, 1);
        }
        return limit;
    }

    @Test
    void keepsTheUncongestedTimeWhileTheBackendIsCongested() {
        record(200, 47 * MS, 2 * WINDOW);

        record(200, 400 * MS, 3 * WINDOW);

        LittlesLaw.Figures figures = figures();
        assertThat(figures.activeCalls()).isCloseTo(80, withinPercentage(1));
        assertThat(figures.uncongestedNanos()).isEqualTo(47.0 * MS);
        assertThat(figures.suggestedLimit()).isEqualTo(15);
    }

    @Test
    void adoptsALongerTimeAfterAllRememberedEpochs() {
        record(200, 50 * MS, 2 * WINDOW);

        record(200, 400 * MS, LittlesLaw.EPOCHS * LittlesLaw.EPOCH_WINDOWS * WINDOW + WINDOW);

        assertThat(figures().uncongestedNanos()).isEqualTo(400.0 * MS);
    }

    @Test
    void forgetsTheUncongestedTimeWithoutCalls() {
        record(200, 50 * MS, 2 * WINDOW);

        clock.addAndGet(LittlesLaw.EPOCHS * LittlesLaw.EPOCH_WINDOWS * WINDOW);

        assertThat(law.typicalNanos()).isZero();
    }

    @Test
    void remembersTheUncongestedTimeForAtLeastOneEpoch() {
        record(200, 50 * MS, 2 * WINDOW);

        record(200, 400 * MS, (LittlesLaw.EPOCH_WINDOWS - 1) * WINDOW);

        assertThat(figures().uncongestedNanos()).isEqualTo(50.0 * MS);
    }

    @Test
    void needsAFullBatchForAnEstimate() {
        record(1, 10 * MS, (LittlesLaw.MIN_BATCH_CALLS - 2) * SECOND);

        assertThat(law.typicalNanos()).isZero();

        record(1, 10 * MS, 5 * SECOND);
        assertThat(law.typicalNanos()).isCloseTo(10 * MS, withinPercentage(4));
    }

    @Test
    void ignoresBatchesWhileTheBackendIsFailing() {
        record(200, 50 * MS, 2 * WINDOW);
        trusted.set(false);
        record(200, MS, 2 * WINDOW);
        trusted.set(true);

        record(200, 50 * MS, WINDOW);

        assertThat(figures().uncongestedNanos()).isEqualTo(50.0 * MS);
    }

    @Test
    void typicalTimeIsTheMedianAndUncongestedTimeIsTheMean() {
        for (int i = 0; i < 2_000; i++) {
            clock.addAndGet(10 * MS);
            law.served(i % 10 == 0 ? 500 * MS : 10 * MS);
        }

        assertThat(law.typicalNanos()).isCloseTo(10 * MS, withinPercentage(4));
        assertThat(figures().uncongestedNanos()).isCloseTo(59.0 * MS, withinPercentage(1));
    }

    @Test
    void matchesIndependentlySampledConcurrency() {
        long seed = 20_260_301;
        Simulation simulation = new Simulation(seed, 10);
        // Three windows until the queue is stationary, then one window to compare.
        simulation.runUntil(3 * WINDOW, law, clock);
        simulation.forgetSamples();
        simulation.runUntil(4 * WINDOW, law, clock);

        LittlesLaw.Figures figures = figures();
        assertThat(figures.activeCalls())
                .as("calls in service, seed %d", seed)
                .isCloseTo(simulation.meanInService(), withinPercentage(3));
        assertThat(figures.waitingCalls())
                .as("calls waiting, seed %d", seed)
                .isCloseTo(simulation.meanWaiting(), withinPercentage(6));
        // Precondition of a meaningful comparison: the backend is busy, and calls wait.
        assertThat(simulation.meanInService()).isGreaterThan(7);
        assertThat(simulation.meanWaiting()).isGreaterThan(1);
    }

    @Test
    void sumsTheCallsOfManyThreads() throws InterruptedException {
        Thread[] recorders = new Thread[8];
        for (int i = 0; i < recorders.length; i++) {
            recorders[i] = Thread.ofPlatform().start(() -> {
                for (int call = 0; call < 10_000; call++) {
                    clock.addAndGet(MS / 10);
                    law.waited(MS);
                    law.served(3 * MS);
                }
            });
        }
        for (Thread recorder : recorders) {
            recorder.join();
        }

        LittlesLaw.Figures figures = figures();
        assertThat(figures.retired()).isEqualTo(80_000);
        assertThat(figures.waitingShare()).isCloseTo(0.25, offset(0.01));
        assertThat(figures.uncongestedNanos()).isCloseTo(3.0 * MS, withinPercentage(1));
    }

    private void record(int perSecond, long serviceNanos, long forNanos) {
        long interval = SECOND / perSecond;
        for (long passed = 0; passed < forNanos; passed += interval) {
            clock.addAndGet(interval);
            law.served(serviceNanos);
        }
    }

    /**
     * A simulated backend with a number of permits, an unbounded queue, Poisson arrivals and exponential
     * service times. It samples the number of calls at random moments.
     */
    private static final class Simulation {

        private static final double ARRIVALS_PER_NANO = 180.0 / SECOND;
        private static final double MEAN_SERVICE = 50.0 * MS;
        private static final double SAMPLES_PER_NANO = 2_000.0 / SECOND;

        private record InService(long began, long leaves) {}

        private final RandomGenerator random;
        private final int permits;
        private final PriorityQueue<InService> inService =
                new PriorityQueue<>(Comparator.comparingLong(InService::leaves));
        private final Queue<Long> waiting = new ArrayDeque<>();
        private long now;
        private long nextArrival;
        private long nextSample;
        private long samples;
        private long sampledInService;
        private long sampledWaiting;

        Simulation(long seed, int permits) {
            this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
            this.permits = permits;
        }

        void runUntil(long end, LittlesLaw law, AtomicLong clock) {
            long origin = clock.get() - now;
            while (nextEvent() < end) {
                now = nextEvent();
                clock.set(origin + now);
                InService first = inService.peek();
                if (first != null && now == first.leaves()) {
                    inService.remove();
                    law.served(now - first.began());
                } else if (now == nextArrival) {
                    nextArrival = now + exponential(1 / ARRIVALS_PER_NANO);
                    waiting.add(now);
                } else {
                    nextSample = now + exponential(1 / SAMPLES_PER_NANO);
                    samples++;
                    sampledInService += inService.size();
                    sampledWaiting += waiting.size();
                }
                while (inService.size() < permits && !waiting.isEmpty()) {
                    law.waited(now - waiting.remove());
                    inService.add(new InService(now, now + exponential(MEAN_SERVICE)));
                }
            }
            now = end;
            clock.set(origin + end);
        }

        private long nextEvent() {
            InService first = inService.peek();
            long next = Math.min(nextArrival, nextSample);
            return first == null ? next : Math.min(next, first.leaves());
        }

        void forgetSamples() {
            samples = 0;
            sampledInService = 0;
            sampledWaiting = 0;
        }

        double meanInService() {
            return (double) sampledInService / samples;
        }

        double meanWaiting() {
            return (double) sampledWaiting / samples;
        }

        private long exponential(double mean) {
            return Math.max(1, Math.round(mean * random.nextExponential()));
        }
    }
}
