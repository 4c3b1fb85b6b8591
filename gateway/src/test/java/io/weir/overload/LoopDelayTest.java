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
    void isNothingWhileNothingHasBeenMeasured() {
        assertThat(delay.sample()).isZero();
    }

    @Test
    void isTheTimeFromHandOverToRunIfItStands() {
        round(30);
        round(40);

        assertThat(delay.sample()).isEqualTo(30);
    }

    @Test
    void doesNotCountASinglePause() {
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
        // One task stands for the loop; they do not pile up.
        assertThat(tasks).hasSize(1);
    }

    @Test
    void recoversWhenTheLoopDoes() {
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
    void isNothingForALoopThatHasStopped() {
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

    /** A measurement in which the loop runs its task late. */
    private void round(long late) {
        delay.sample();
        clock.addAndGet(late);
        run();
    }

    private void run() {
        Runnable task = tasks.poll();
        if (task != null) {
            task.run();
        }
    }
}
