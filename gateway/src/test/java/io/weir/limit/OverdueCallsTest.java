package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class OverdueCallsTest {

    private static final long REMEMBERED = 1_000;

    private final OverdueCalls calls = new OverdueCalls();

    @Test
    void hangsOnceEnoughCallsHaveStalledSinceItsLastAnswer() {
        calls.answered(10);

        assertThat(calls.stalled(20, 3, REMEMBERED, 100)).isFalse();
        assertThat(calls.stalled(21, 3, REMEMBERED, 101)).isFalse();
        assertThat(calls.isHanging(101)).isFalse();
        assertThat(calls.stalled(22, 3, REMEMBERED, 102)).isTrue();

        assertThat(calls.isHanging(102)).isTrue();
        assertThat(calls.stalled(23, 3, REMEMBERED, 103))
                .as("begins to hang once")
                .isFalse();
    }

    @Test
    void doesNotHangForOneCall() {
        assertThat(calls.stalled(20, 1, REMEMBERED, 100)).isFalse();
        assertThat(calls.isHanging(100)).isFalse();

        assertThat(calls.stalled(21, 1, REMEMBERED, 101)).isTrue();
        assertThat(calls.isHanging(101)).isTrue();
    }

    @Test
    void doesNotHangForSlowCallsAmongAnsweredOnes() {
        calls.answered(50);

        for (int i = 0; i < 10; i++) {
            assertThat(calls.stalled(49, 2, REMEMBERED, 100 + i)).isFalse();
        }

        assertThat(calls.isHanging(110)).isFalse();
    }

    @Test
    void endsWithTheNextAnswer() {
        hang(0);

        calls.answered(200);

        assertThat(calls.isHanging(200)).isFalse();
    }

    @Test
    void endsIfNoFurtherCallStalls() {
        hang(0);
        assertThat(calls.isHanging(REMEMBERED - 1)).isTrue();
        assertThat(calls.isHanging(REMEMBERED)).isFalse();

        assertThat(calls.stalled(2 * REMEMBERED, 2, REMEMBERED, 2 * REMEMBERED)).isFalse();
        assertThat(calls.isHanging(2 * REMEMBERED)).as("counts from the start").isFalse();
    }

    @Test
    void holdsAtMostHalfOfTheLimitWithItsOverdueCalls() {
        calls.add();
        calls.add();
        calls.add();

        assertThat(calls.tryAcquire(8)).isTrue();
        assertThat(calls.tryAcquire(8)).isFalse();
        assertThat(calls.held()).isEqualTo(4);

        calls.release();
        assertThat(calls.tryAcquire(8)).isTrue();
        assertThat(calls.tryAcquire(7)).isFalse();
    }

    @Test
    void leavesARouteOfTheSmallestLimitOnePermit() {
        assertThat(calls.tryAcquire(1)).isTrue();
        assertThat(calls.tryAcquire(1)).isFalse();
    }

    private void hang(long now) {
        calls.stalled(now, 2, REMEMBERED, now);
        calls.stalled(now, 2, REMEMBERED, now);
    }
}
