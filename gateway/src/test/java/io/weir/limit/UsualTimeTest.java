package io.weir.limit;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class UsualTimeTest {

    private static final double BUCKET_PERCENT = 100.0 / 32;
    private static final long MILLI = 1_000_000;

    // A nanosecond clock may be negative, and may overflow.
    private long now = Long.MAX_VALUE - 1_000_000_000;
    private final UsualTime usual = new UsualTime();

    @Test
    void isUnknownUntilFiveCallsAreRecorded() {
        record(4, 20 * MILLI);
        assertThat(nanos()).isZero();

        record(1, 20 * MILLI);
        assertThat(nanos()).isCloseTo(20 * MILLI, withinPercentage(BUCKET_PERCENT));
    }

    @Test
    void isTheMedianSoThatAFewSlowCallsDoNotChangeIt() {
        record(60, 10 * MILLI);
        record(40, 3_000 * MILLI);

        assertThat(nanos()).isCloseTo(10 * MILLI, withinPercentage(BUCKET_PERCENT));
    }

    @Test
    void isForgottenAfterAMinuteWithoutACall() {
        record(100, 20 * MILLI);

        advance(Duration.ofSeconds(60));
        assertThat(nanos()).isPositive();
        advance(Duration.ofNanos(1));
        assertThat(nanos()).isZero();
    }

    @Test
    void countsNoCallFromBeforeTheForgottenMinute() {
        record(100, 20 * MILLI);
        advance(Duration.ofSeconds(61));

        record(4, 900 * MILLI);
        assertThat(nanos()).isZero();
        record(1, 900 * MILLI);
        assertThat(nanos()).isCloseTo(900 * MILLI, withinPercentage(BUCKET_PERCENT));
    }

    @Test
    void followsABackendThatHasBecomeSlowerWithinTwoHalvings() {
        secondsOfTraffic(60, 100, 10 * MILLI);
        assertThat(nanos()).isCloseTo(10 * MILLI, withinPercentage(BUCKET_PERCENT));

        secondsOfTraffic(20, 100, 400 * MILLI);
        assertThat(nanos()).isCloseTo(400 * MILLI, withinPercentage(BUCKET_PERCENT));
    }

    @Test
    void isStableAtOneCallEveryTwentySeconds() {
        for (int i = 0; i < 30; i++) {
            record(1, i % 5 == 4 ? 2_000 * MILLI : 10 * MILLI);
            if (i >= UsualTime.MIN_SAMPLES) {
                assertThat(nanos()).isCloseTo(10 * MILLI, withinPercentage(BUCKET_PERCENT));
            }
            advance(Duration.ofSeconds(20));
        }
    }

    @Test
    void keepsItsMedianWhileThreadsRecordAndHalve() throws Exception {
        int threads = 4;
        int each = 20_000;
        // A median every ten samples, a halving every thousand.
        long step = 10 * MILLI;
        AtomicLong clock = new AtomicLong(now);
        CyclicBarrier together = new CyclicBarrier(threads);
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                running.add(pool.submit(() -> {
                    together.await();
                    for (int i = 0; i < each; i++) {
                        usual.record(oneOfThreeIsSlow(i), clock.addAndGet(step));
                    }
                    return null;
                }));
            }
            for (Future<?> thread : running) {
                thread.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
        }
        now = clock.get();
        // A thread that the machine held up may have cleared or halved the counts last: a median of few
        // samples.
        for (int i = 0; i < 100; i++) {
            now += step;
            record(1, oneOfThreeIsSlow(i));
        }
        assertThat(nanos()).isCloseTo(5 * MILLI, withinPercentage(BUCKET_PERCENT));
    }

    private static long oneOfThreeIsSlow(int i) {
        return i % 3 == 0 ? 900 * MILLI : 5 * MILLI;
    }

    private void secondsOfTraffic(int seconds, int callsPerSecond, long nanos) {
        for (int i = 0; i < seconds * callsPerSecond; i++) {
            record(1, nanos);
            advance(Duration.ofSeconds(1).dividedBy(callsPerSecond));
        }
    }

    private void record(int calls, long nanos) {
        for (int i = 0; i < calls; i++) {
            usual.record(nanos, now);
        }
    }

    private long nanos() {
        return usual.nanos(now);
    }

    private void advance(Duration time) {
        now += time.toNanos();
    }
}
