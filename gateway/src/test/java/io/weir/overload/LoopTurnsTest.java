package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoopTurnsTest {

    private final LoopTurns turns = new LoopTurns();
    private final List<Integer> ran = new ArrayList<>();

    @Test
    void beginsEveryTaskWhileTheLoopDoesNotShed() {
        for (int i = 0; i < 100; i++) {
            assertThat(turns.take(false, task(i))).isTrue();
        }
        assertThat(turns.areWaiting()).isFalse();
    }

    @Test
    void beginsTwoTasksInEachIterationWhileTheLoopSheds() {
        for (int i = 0; i < 5; i++) {
            assertThat(turns.take(true, task(i))).isEqualTo(i < LoopTurns.PER_ITERATION);
        }

        turns.nextIteration();
        assertThat(ran).containsExactly(2, 3);
        // Those that wait go first, also when the loop no longer sheds.
        assertThat(turns.take(false, task(5))).isFalse();
        turns.nextIteration();
        assertThat(ran).containsExactly(2, 3, 4, 5);
        assertThat(turns.areWaiting()).isFalse();
    }

    @Test
    void skipsATaskThatHasLeft() {
        turns.take(true, task(0));
        turns.take(true, task(1));
        Runnable gone = task(2);
        turns.take(true, gone);
        turns.take(true, task(3));

        turns.leave(gone);
        turns.nextIteration();

        assertThat(ran).containsExactly(3);
    }

    @Test
    void runsEveryTaskWhenItCloses() {
        for (int i = 0; i < 7; i++) {
            turns.take(true, task(i));
        }
        turns.close();

        assertThat(ran).containsExactly(2, 3, 4, 5, 6);
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
