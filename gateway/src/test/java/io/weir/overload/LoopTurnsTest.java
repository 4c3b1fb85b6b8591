package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class LoopTurnsTest {

    private final List<Runnable> timers = new ArrayList<>();
    private final LoopTurns turns = new LoopTurns((timer, delayNanos) -> timers.add(timer));
    private final List<Integer> ran = new ArrayList<>();

    @Test
    void beginsOneTaskInEachIteration() {
        for (int i = 0; i < 3; i++) {
            assertThat(turns.take(task(i))).isEqualTo(i == 0);
        }

        nextIteration();
        assertThat(ran).containsExactly(1);
        // Those that wait go first.
        assertThat(turns.take(task(3))).isFalse();
        nextIteration();
        nextIteration();
        assertThat(ran).containsExactly(1, 2, 3);
        nextIteration();
        assertThat(turns.take(task(4))).isTrue();
    }

    @Test
    void setsNoTimerWithoutTasks() {
        turns.take(task(0));
        nextIteration();

        assertThat(timers).isEmpty();
    }

    @Test
    void skipsATaskThatHasLeft() {
        turns.take(task(0));
        Runnable gone = task(1);
        turns.take(gone);
        turns.take(task(2));

        turns.leave(gone);
        nextIteration();

        assertThat(ran).containsExactly(2);
    }

    @Test
    void runsEveryTaskWhenItCloses() {
        for (int i = 0; i < 4; i++) {
            turns.take(task(i));
        }
        turns.close();

        assertThat(ran).containsExactly(1, 2, 3);
    }

    @Test
    void keepsNoTaskOfALoopThatHasStopped() {
        LoopTurns stopped = new LoopTurns((timer, delayNanos) -> {
            throw new RejectedExecutionException();
        });
        for (int i = 0; i < 3; i++) {
            stopped.take(task(i));
        }
        stopped.close();

        assertThat(ran).isEmpty();
    }

    private void nextIteration() {
        assertThat(timers).hasSize(1);
        timers.removeFirst().run();
    }

    private Runnable task(int number) {
        return new Runnable() {
            @Override
            public void run() {
                ran.add(number);
            }
        };
    }
}
