package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LoopDelayTest {

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 50);
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final LoopDelay delay = new LoopDelay(tasks::add, clock::get);

    @Test
    void isZeroBeforeTheFirstMeasurement() {
        assertThat(delay.sample()).isZero();
    }

    @Test
    void isTheTimeFromSubmissionToExecutionOfAStandingDelay() {
        round(30);
        round(40);

        assertThat(delay.sample()).isEqualTo(30);
    }

    @Test
    void ignoresASinglePause() {
        round(1);
        round(300);
        round(2);

        assertThat(delay.sample()).isEqualTo(2);
    }

    @Test
    void growsWhileALoopIsStuck() {
        delay.sample();
        clock.addAndGet(100);
        assertThat(delay.sample()).isZero();
        clock.addAndGet(100);
        assertThat(delay.sample()).isEqualTo(100);
        clock.addAndGet(100);
        assertThat(delay.sample()).isEqualTo(200);
        // Tasks do not accumulate: one measurement is pending at a time.
        assertThat(tasks).hasSize(1);
    }

    @Test
    void returnsToZeroWhenTheLoopRecovers() {
        delay.sample();
        clock.addAndGet(1_000);
        delay.sample();
        run();
        delay.sample();
        run();
        delay.sample();

        assertThat(delay.sample()).isZero();
    }

    @Test
    void isZeroForAStoppedLoop() {
        LoopDelay stopped = new LoopDelay(
                task -> {
                    throw new RejectedExecutionException("event executor terminated");
                },
                clock::get);
        for (int i = 0; i < 5; i++) {
            clock.addAndGet(1_000);
            assertThat(stopped.sample()).isZero();
        }
    }

    /** One measurement with this delay. */
    private void round(long delayNanos) {
        delay.sample();
        clock.addAndGet(delayNanos);
        run();
    }

    private void run() {
        Runnable task = tasks.poll();
        if (task != null) {
            task.run();
        }
    }
}
