package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoopDelayTest {

    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 500 * MS);
    private final VirtualLoop loop = new VirtualLoop(clock);
    private final LoadShedder shedder = new LoadShedder(10 * MS, 500 * MS, 100 * MS, 1);
    private final AtomicInteger sheddingLoops = new AtomicInteger();
    private final LoopDelay delay =
            new LoopDelay(loop, clock::get, () -> this.waitedNanos, 250 * MS, shedder, sheddingLoops);
    private long waitedNanos;
    /** Iterations that end overloaded. */
    private int overloads;

    @BeforeEach
    void start() {
        delay.start();
        loop.idle(1_000);
    }

    @Test
    void isZeroOnAnIdleLoop() {
        loop.idle(60_000);

        assertThat(delay.standingNanos()).isZero();
        assertThat(delay.takeHighestNanos()).isZero();
        assertThat(loop.pendingTimers()).isEqualTo(1);
    }

    @Test
    void ignoresASinglePause() {
        iterate(2_000);
        iterate(1);
        loop.idle(1_000);

        assertThat(overloads).isZero();
        assertThat(delay.takeHighestNanos()).isLessThan(2 * MS);
    }

    @Test
    void measuresThePausesBeyondTwoTicks() {
        long before = delay.nanos(clock.get());
        loop.idle(60_000);
        iterate(LoopDelay.LONGEST_TICK_MILLIS / 2);
        assertThat(delay.nanos(clock.get()) - before).as("ordinary iterations").isZero();

        clock.addAndGet(2_000 * MS);
        long present = delay.nanos(clock.get()) - before;
        assertThat(present).as("the present pause").isBetween(1_950 * MS, 2_000 * MS);

        loop.runDueTimers();
        assertThat(delay.nanos(clock.get()) - before).as("after it").isEqualTo(present);
        loop.idle(1_000);
        assertThat(delay.nanos(clock.get()) - before).isEqualTo(present);
    }

    /** A queue with a load of three quarters needs four times the pause to drain. */
    @Test
    void fadesTheLatestPauseForFourTimesAsLongAsItLasted() {
        assertThat(delay.recentNanos(clock.get())).isZero();

        clock.addAndGet(2_000 * MS);
        long present = delay.recentNanos(clock.get());
        assertThat(present).as("the present pause").isBetween(2_000 * MS, 2_050 * MS);
        loop.runDueTimers();
        assertThat(delay.recentNanos(clock.get())).as("after it").isEqualTo(present);

        loop.idle(4_000);
        assertThat(delay.recentNanos(clock.get())).isBetween(present - 1_000 * MS, present - 990 * MS);
        clock.addAndGet(100 * MS);
        loop.runDueTimers();
        assertThat(delay.recentNanos(clock.get())).as("a shorter one follows").isGreaterThan(800 * MS);
        loop.idle(8_000);
        assertThat(delay.recentNanos(clock.get())).isZero();
    }

    /** So calls may wait in a backend's queue that its capacity would not let in. */
    @Test
    void hasARecentPauseWhileCompilersTakeTheProcessor() {
        delay.setPatient(true);
        assertThat(delay.recentNanos(clock.get())).isEqualTo(500 * MS);

        delay.setPatient(false);
        assertThat(delay.recentNanos(clock.get())).isZero();
    }

    @Test
    void measuresNoPauseAfterItsEnd() {
        long before = delay.nanos(clock.get());
        delay.close();
        loop.idle(60_000);

        assertThat(delay.nanos(clock.get())).isEqualTo(before);
    }

    @Test
    void ignoresPausesASecondApart() {
        for (int i = 0; i < 10; i++) {
            iterate(800);
            iterate(3);
            loop.idle(197);
        }

        assertThat(overloads).isZero();
    }

    @ParameterizedTest(name = "at {0} % load")
    @ValueSource(ints = {20, 50, 70, 90})
    void ignoresTheBacklogOfASinglePause(int loadPercent) {
        for (double millis = 2_000; millis >= 1; millis = millis * loadPercent / 100) {
            iterate((long) millis);
        }

        assertThat(overloads).isZero();
    }

    @Test
    void ignoresShortIterationsBetweenLongOnes() {
        for (int i = 0; i < 20; i++) {
            iterate(300);
            iterate(300);
            iterate(6);
        }

        assertThat(overloads).isZero();
    }

    @ParameterizedTest(name = "from {0} ms after the last timer on")
    @ValueSource(longs = {0, 10, 24})
    void isOverloadedWithinASecondOfAStandingDelay(long offsetMillis) {
        loop.idle(offsetMillis);

        for (int i = 0; i < 3; i++) {
            iterate(300);
        }

        assertThat(delay.isOverloaded()).isTrue();
        assertThat(sheddingLoops).hasValue(1);
        assertThat(delay.standingNanos()).isBetween(275 * MS, 300 * MS);
    }

    @Test
    void isOverloadedWhileIterationsGrow() {
        LongStream.of(260, 300, 400, 600).forEach(this::iterate);

        assertThat(delay.isOverloaded()).isTrue();
        assertThat(delay.standingNanos()).isEqualTo(300 * MS);
    }

    @Test
    void isOverloadedWhileIterationsVary() {
        for (long millis : List.of(300L, 260L, 330L, 270L, 310L, 290L, 350L, 300L)) {
            iterate(millis);
        }

        assertThat(overloads).isGreaterThanOrEqualTo(5);
    }

    @Test
    void returnsToZeroWithTheFirstShortIteration() {
        for (int i = 0; i < 10; i++) {
            iterate(300);
        }
        assertThat(delay.isOverloaded()).isTrue();

        iterate(1);

        assertThat(delay.isOverloaded()).isFalse();
        // The sampler still sees that the loop was overloaded, once.
        assertThat(delay.takeHighestNanos()).isEqualTo(300 * MS);
        assertThat(delay.takeHighestNanos()).isLessThanOrEqualTo(MS);
    }

    @Test
    void measuresEachOfSuccessiveIterations() {
        for (int i = 0; i < 20; i++) {
            iterate(12);
        }
        assertThat(delay.standingNanos()).isEqualTo(12 * MS);

        for (int i = 0; i < 20; i++) {
            iterate(40);
        }
        assertThat(delay.standingNanos()).isEqualTo(40 * MS);
    }

    @Test
    void excludesTheWaitForAProcessor() {
        for (int i = 0; i < 20; i++) {
            waitedNanos += 280 * MS;
            iterate(300);
        }

        assertThat(delay.standingNanos()).isEqualTo(20 * MS);
        assertThat(overloads).isZero();
        assertThat(loop.pendingTimers()).isEqualTo(1);
    }

    /** A wait before the timer was due. */
    @Test
    void isNotNegative() {
        waitedNanos += 300 * MS;
        iterate(30);

        assertThat(delay.standingNanos()).isZero();
        for (int i = 0; i < 20; i++) {
            iterate(12);
        }
        assertThat(delay.standingNanos()).isEqualTo(12 * MS);
    }

    @Test
    void needsAHundredMilliseconds() {
        for (int i = 0; i < 7; i++) {
            iterate(12);
            assertThat(delay.standingNanos()).isLessThan(12 * MS);
        }
    }

    @Test
    void isZeroWhileTheLoopIsStuck() {
        clock.addAndGet(60_000 * MS);

        assertThat(delay.standingNanos()).isZero();
        assertThat(delay.isOverloaded()).isFalse();
        assertThat(clock.get() - delay.dueAtNanos()).isGreaterThan(59_000 * MS);
    }

    @Test
    void isZeroForAStoppedLoop() {
        for (int i = 0; i < 5; i++) {
            iterate(300);
        }
        loop.stop();
        iterate(300);

        assertThat(delay.isOverloaded()).isFalse();
        assertThat(delay.isClosed()).isTrue();
    }

    @Test
    void endsWithItsClosing() {
        for (int i = 0; i < 5; i++) {
            iterate(300);
        }
        delay.close();
        assertThat(delay.isOverloaded()).isFalse();

        iterate(300);

        assertThat(loop.pendingTimers()).isZero();
        assertThat(sheddingLoops).hasValue(0);
    }

    /** An iteration with enough requests to be the cause of its delay. */
    private void iterate(long millis) {
        for (int i = 0; i < 20; i++) {
            delay.arrived();
        }
        loop.iterate(millis);
        overloads += delay.isOverloaded() ? 1 : 0;
    }
}
