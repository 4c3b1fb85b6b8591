package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SlidingWindowTest {

    @Test
    void countsTheIncreaseSinceItsCreation() {
        SlidingWindow window = new SlidingWindow(new long[] {100, 7});

        window.add(new long[] {103, 7});
        window.add(new long[] {104, 9});

        assertThat(window.sum()).containsExactly(4, 2);
        assertThat(window.lastSecond()).isEqualTo(3);
        assertThat(window.lastSecond(index -> index == 1)).isEqualTo(2);
    }

    @Test
    void removesASecondAfterTheLengthOfTheWindow() {
        SlidingWindow window = new SlidingWindow(new long[] {0});
        window.add(new long[] {5});

        for (int i = 1; i < SlidingWindow.SECONDS; i++) {
            window.add(new long[] {5});
            assertThat(window.sum()).as("after %s more seconds", i).containsExactly(5);
        }
        window.add(new long[] {6});

        assertThat(window.sum()).containsExactly(1);
    }
}
