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

class LittlesLawTest {

    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long WINDOW = 10 * SECOND;

    /** Far from zero, and about to overflow, as {@link System#nanoTime} may be. */
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5 * SECOND);

    private final AtomicBoolean trusted = new AtomicBoolean(true);
    private final LittlesLaw law =
            new LittlesLaw(new LittlesLawProperties(Duration.ofSeconds(10), 1.5), trusted::get, clock::get);

    @Test
    void knowsNothingAtFirst() {
        LittlesLaw.Figures figures = law.figures();

        assertThat(figures).isEqualTo(new LittlesLaw.Figures(0, 0, 0, 0, 0, 0));
        assertThat(figures.activeCalls()).isZero();
        assertThat(figures.waitingShare()).isZero();
        assertThat(law.typicalNanos()).isZero();
    }

    @Test
    void tellsRateTimesAndConcurrencyOfASteadyStream() {
        for (int i = 0; i < 3_000; i++) {
            clock.addAndGet(10 * MS);
            law.waited(5 * MS);
            law.served(45 * MS);
        }

        LittlesLaw.Figures figures = law.figures();
        assertThat(figures.arrivalRate()).isCloseTo(100, withinPercentage(1));
        assertThat(figures.serviceNanos()).isEqualTo(45 * MS);
        assertThat(figures.waitingNanos()).isEqualTo(5 * MS);
        assertThat(figures.activeCalls()).isCloseTo(4.5, withinPercentage(1));
        assertThat(figures.waitingCalls()).isCloseTo(0.5, withinPercentage(1));
        assertThat(figures.waitingShare()).isCloseTo(0.1, offset(1e-9));
        assertThat(figures.retired()).isEqualTo(3_000);
    }

    @Test
    void tellsOfTheWindowOnly() {
        feed(100, 200 * MS, 20 * SECOND);

        feed(10, 20 * MS, WINDOW + SECOND);

        assertThat(law.figures().arrivalRate()).isCloseTo(10, withinPercentage(1));
        assertThat(law.figures().serviceNanos()).isEqualTo(20 * MS);
    }

    @Test
    void isNotMisledByAnIdleHour() {
        feed(100, 20 * MS, 20 * SECOND);
        clock.addAndGet(TimeUnit.HOURS.toNanos(1));

        assertThat(law.figures().arrivalRate()).isZero();

        feed(100, 20 * MS, WINDOW);
        assertThat(law.figures().arrivalRate()).isCloseTo(100, withinPercentage(2));
    }

    @Test
    void seesABurstAfterAnIdleHourEvenIfNobodyRead() {
        feed(100, 20 * MS, 20 * SECOND);
        clock.addAndGet(TimeUnit.HOURS.toNanos(1));

        feed(100, 20 * MS, 5 * SECOND);

        // Five seconds of a ten-second window.
        assertThat(law.figures().arrivalRate()).isCloseTo(50, withinPercentage(10));
    }

    @Test
    void takesNoMillisecondForAWholeRate() {
        clock.addAndGet(MS);
        law.served(MS);

        assertThat(law.figures().arrivalRate()).isEqualTo(1);
    }

    @Test
    void suggestsRateTimesUncongestedTimeTimesHeadroomRoundedUp() {
        feed(200, 47 * MS, 2 * WINDOW);

        assertThat(law.figures().uncongestedNanos()).isEqualTo(47.0 * MS);
        // 200/s x 0.047 s x 1.5 = 14.1
        assertThat(law.figures().suggestedLimit()).isEqualTo(15);
    }

    @Test
    void keepsTheUncongestedTimeWhileTheBackendIsCongested() {
        feed(200, 47 * MS, 2 * WINDOW);

        feed(200, 400 * MS, 3 * WINDOW);

        LittlesLaw.Figures figures = law.figures();
        assertThat(figures.activeCalls()).isCloseTo(80, withinPercentage(1));
        assertThat(figures.uncongestedNanos()).isEqualTo(47.0 * MS);
        assertThat(figures.suggestedLimit()).isEqualTo(15);
    }

    @Test
    void forgetsTheUncongestedTimeOfABackendThatHasBecomeSlower() {
        feed(200, 50 * MS, 2 * WINDOW);

        feed(200, 400 * MS, LittlesLaw.EPOCHS * LittlesLaw.EPOCH_WINDOWS * WINDOW + WINDOW);

        assertThat(law.figures().uncongestedNanos()).isEqualTo(400.0 * MS);
    }

    @Test
    void forgetsTheUncongestedTimeOfABackendThatNobodyCalls() {
        feed(200, 50 * MS, 2 * WINDOW);

        clock.addAndGet(LittlesLaw.EPOCHS * LittlesLaw.EPOCH_WINDOWS * WINDOW);

        assertThat(law.typicalNanos()).isZero();
    }

    @Test
    void remembersTheUncongestedTimeForAtLeastOneEpoch() {
        feed(200, 50 * MS, 2 * WINDOW);

        feed(200, 400 * MS, (LittlesLaw.EPOCH_WINDOWS - 1) * WINDOW);

        assertThat(law.figures().uncongestedNanos()).isEqualTo(50.0 * MS);
    }

    @Test
    void believesNoHandfulOfCalls() {
        feed(1, 10 * MS, (LittlesLaw.ENOUGH - 2) * SECOND);

        assertThat(law.typicalNanos()).isZero();

        feed(1, 10 * MS, 5 * SECOND);
        assertThat(law.typicalNanos()).isCloseTo(10 * MS, withinPercentage(4));
    }

    @Test
    void doesNotTakeFastErrorsForAFastBackend() {
        feed(200, 50 * MS, 2 * WINDOW);
        trusted.set(false);
        feed(200, MS, 2 * WINDOW);
        trusted.set(true);

        feed(200, 50 * MS, WINDOW);

        assertThat(law.figures().uncongestedNanos()).isEqualTo(50.0 * MS);
    }

    @Test
    void tellsTheMedianAsTypicalAndTheMeanAsUncongested() {
        for (int i = 0; i < 2_000; i++) {
            clock.addAndGet(10 * MS);
            law.served(i % 10 == 0 ? 500 * MS : 10 * MS);
        }

        assertThat(law.typicalNanos()).isCloseTo(10 * MS, withinPercentage(4));
        assertThat(law.figures().uncongestedNanos()).isCloseTo(59.0 * MS, withinPercentage(1));
    }

    @Test
    void agreesWithConcurrencySampledIndependently() {
        long seed = 20_260_301;
        Simulation simulation = new Simulation(seed, 10);
        // Until the queue has settled, then for a window.
        simulation.runUntil(3 * WINDOW, law, clock);
        simulation.forgetSamples();
        simulation.runUntil(4 * WINDOW, law, clock);

        LittlesLaw.Figures figures = law.figures();
        assertThat(figures.activeCalls())
                .as("calls in service, seed %d", seed)
                .isCloseTo(simulation.meanInService(), withinPercentage(3));
        assertThat(figures.waitingCalls())
                .as("calls waiting, seed %d", seed)
                .isCloseTo(simulation.meanWaiting(), withinPercentage(6));
        // So that the agreement is about something: the backend is busy, and calls do wait.
        assertThat(simulation.meanInService()).isGreaterThan(7);
        assertThat(simulation.meanWaiting()).isGreaterThan(1);
    }

    @Test
    void addsUpWhatManyThreadsFeed() throws InterruptedException {
        Thread[] feeders = new Thread[8];
        for (int i = 0; i < feeders.length; i++) {
            feeders[i] = Thread.ofPlatform().start(() -> {
                for (int call = 0; call < 10_000; call++) {
                    clock.addAndGet(MS / 10);
                    law.waited(MS);
                    law.served(3 * MS);
                }
            });
        }
        for (Thread feeder : feeders) {
            feeder.join();
        }

        LittlesLaw.Figures figures = law.figures();
        assertThat(figures.retired()).isEqualTo(80_000);
        assertThat(figures.waitingShare()).isCloseTo(0.25, offset(0.01));
        assertThat(figures.uncongestedNanos()).isCloseTo(3.0 * MS, withinPercentage(1));
    }

    private void feed(int perSecond, long serviceNanos, long forNanos) {
        long interval = SECOND / perSecond;
        for (long passed = 0; passed < forNanos; passed += interval) {
            clock.addAndGet(interval);
            law.served(serviceNanos);
        }
    }

    /**
     * A backend with some permits, a queue without end, Poisson arrivals and exponential service times; looked at by
     * somebody who comes by at random moments and counts.
     */
    private static final class Simulation {

        private static final double ARRIVALS_PER_NANO = 180.0 / SECOND;
        private static final double MEAN_SERVICE = 50.0 * MS;
        private static final double LOOKS_PER_NANO = 2_000.0 / SECOND;

        private record InService(long began, long leaves) {}

        private final RandomGenerator random;
        private final int permits;
        private final PriorityQueue<InService> inService =
                new PriorityQueue<>(Comparator.comparingLong(InService::leaves));
        private final Queue<Long> waiting = new ArrayDeque<>();
        private long now;
        private long nextArrival;
        private long nextLook;
        private long looks;
        private long seenInService;
        private long seenWaiting;

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
                    nextLook = now + exponential(1 / LOOKS_PER_NANO);
                    looks++;
                    seenInService += inService.size();
                    seenWaiting += waiting.size();
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
            long next = Math.min(nextArrival, nextLook);
            return first == null ? next : Math.min(next, first.leaves());
        }

        void forgetSamples() {
            looks = 0;
            seenInService = 0;
            seenWaiting = 0;
        }

        double meanInService() {
            return (double) seenInService / looks;
        }

        double meanWaiting() {
            return (double) seenWaiting / looks;
        }

        private long exponential(double mean) {
            return Math.max(1, Math.round(mean * random.nextExponential()));
        }
    }
}
