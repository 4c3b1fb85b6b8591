package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LostPermitsTest {

    private static final long MILLI = 1_000_000;
    private static final long SECOND = 1_000 * MILLI;
    private static final int LIMIT = 8;
    private static final int LARGEST = 1_000;

    private final LostPermits lost = new LostPermits();
    private long now = 60 * SECOND;

    @ParameterizedTest
    @ValueSource(longs = {100 * MILLI, SECOND, 40 * SECOND})
    void oneCallRaisesALimitByOnePermitForThreeSecondsAtMost(long held) {
        assertThat(lost.add(held, now)).isTrue();
        assertThat(raised()).isEqualTo(1);

        now += 3 * SECOND;
        assertThat(lost.hasFaded(now)).isTrue();
        assertThat(raised()).isZero();
        assertThat(lost.hasFaded(now)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5, 40})
    void callsAtOnceRaiseALimitByAsManyPermits(int calls) {
        leaveBehind(calls, SECOND, 0);

        assertThat(raised()).isEqualTo(calls);
    }

    @Test
    void aCallThatFollowsASilenceCountsAlone() {
        leaveBehind(40, SECOND, 10 * MILLI);
        now += 10 * SECOND;

        leaveBehind(1, SECOND, 0);

        assertThat(raised()).isEqualTo(1);
    }

    /** The mean of random arrivals, and two standard deviations. */
    @Test
    void callsAtARateRaiseALimitByThePermitsThatTheyHold() {
        leaveBehind(400, 100 * MILLI, 25 * MILLI);

        assertThat(raised()).isBetween(7, 9);
        assertThat(lost.without(20)).isEqualTo(20 - raised());
        assertThat(lost.without(3)).isEqualTo(1);
    }

    @Test
    void theLargestLimitIsNotExceeded() {
        leaveBehind(40, SECOND, 0);

        assertThat(lost.addTo(LIMIT, 10)).isEqualTo(10);
        assertThat(lost.addTo(LARGEST + 1, LARGEST)).isEqualTo(LARGEST + 1);
    }

    private void leaveBehind(int calls, long held, long interval) {
        for (int i = 0; i < calls; i++) {
            now += interval;
            lost.add(held, now);
        }
    }

    private int raised() {
        return lost.addTo(LIMIT, LARGEST) - LIMIT;
    }
}
