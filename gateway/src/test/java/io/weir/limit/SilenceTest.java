package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** 64 calls per second of 1/64 s; then calls hold all 8 permits, and none ends. */
class SilenceTest extends KneeTests {

    private static final double SHORT = 1 / 64.;

    private double silentSince;

    @BeforeEach
    void shortCallsAreKnown() {
        trust(8, SHORT);
        silentSince = now;
    }

    /** A call has to wait, so long after the last end. */
    private void queuedAfter(double silence) {
        now = silentSince + silence;
        knee.queued(now);
    }

    @Test
    void growsAsTheSilenceLasts() {
        queuedAfter(4 * SHORT);
        assertThat(knee.wholeLimit()).as("less than a fifth more").isEqualTo(8);

        queuedAfter(1 / 8.);
        int first = knee.wholeLimit();
        queuedAfter(1 / 4.);
        int second = knee.wholeLimit();

        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH);
        assertThat(first).as("64/s in 1/8 s").isBetween(10, 14);
        assertThat(second).as("64/s in 1/4 s").isBetween(18, 25);
    }

    @Test
    void growsForAQuarterOfTheDeadlineAtMost() {
        queuedAfter(1 / 4.);
        int most = knee.wholeLimit();

        queuedAfter(3 / 4.);

        assertThat(knee.wholeLimit()).isEqualTo(most);
    }

    /** The wait counts from the last free permit: short calls among long ones do not hide these. */
    @Test
    void aShortCallBetweenDoesNotHideTheLongOnes() {
        now = silentSince + 1 / 8.;
        answer(0, SHORT, 8);

        queuedAfter(1 / 8. + 3 * SHORT);
        assertThat(knee.wholeLimit()).isEqualTo(8);

        queuedAfter(1 / 4.);
        assertThat(knee.wholeLimit()).as("64/s in 1/4 s").isBetween(18, 25);
    }

    @Test
    void doesNotGrowWhereCallsHadToWaitBefore() {
        for (int i = 0; i < 5; i++) {
            answer(1 / 16., SHORT, 8);
        }
        knee.queued(now + 1 / 4.);

        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void doesNotGrowAfterATimeout() {
        end(1 / 16., DEADLINE, Evidence.TIMED_OUT, 8);

        knee.queued(now + 1 / 8.);

        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void doesNotGrowWhileNothingIsKnown() {
        knee = limit(8);
        knee.ended(0, LONG, Evidence.NONE, false, 1, 1);

        knee.queued(1 / 4.);

        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    /** Four of them are more than a quarter of the deadline. */
    @Test
    void doesNotGrowForCallsThatUsuallyTakeLong() {
        trust(8, 1 / 8.);

        knee.queued(now + 5 / 8.);

        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void returnsWhereTheBackendHangs() {
        queuedAfter(1 / 4.);

        end(3 / 4., DEADLINE, Evidence.TIMED_OUT, 20);

        assertThat(knee.wholeLimit()).isEqualTo(8);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH_REVERTED);
    }

    @Test
    void staysIfALongCallIsAnsweredBeforeAnotherTimesOut() {
        queuedAfter(1 / 4.);
        int grown = knee.wholeLimit();

        answer(1 / 4., 1 / 2., 20);
        end(1 / 2., DEADLINE, Evidence.TIMED_OUT, 20);

        assertThat(knee.wholeLimit()).isEqualTo(grown);
    }

    @Test
    void returnsOnceCallsAreShortAndFewAgain() {
        queuedAfter(1 / 4.);
        int grown = knee.wholeLimit();

        answer(SHORT, SHORT, 8);
        assertThat(knee.wholeLimit()).as("all of the former permits are in use").isEqualTo(grown);
        answer(SHORT, SHORT * 2, 7);
        assertThat(knee.wholeLimit()).as("the call was sent before the growth").isEqualTo(grown);
        answer(SHORT, SHORT, 7);

        assertThat(knee.wholeLimit()).isEqualTo(8);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH_REVERTED);
    }

    /** More calls at once have brought no more answers: what takes long is a queue. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void doesNotGrowSoonAfterMoreCallsWereTriedInVain(boolean isSoon) {
        now += 1 / 2.;
        for (int i = 1; i <= 8; i++) {
            knee.ended(now, 1 / 2., Evidence.ANSWERED, false, i, 8);
        }
        assertThat(knee.wholeLimit()).as("a trial").isEqualTo(16);
        now += 1;
        knee.ended(now, 1, Evidence.ANSWERED, false, 16, 16);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH_REVERTED);
        int limit = knee.wholeLimit();

        now += isSoon ? 0 : 4;
        knee.ended(now, 1 / 2., Evidence.NONE, false, 1, 1);
        knee.queued(now + 1 / 4.);

        assertThat(knee.wholeLimit() > limit).isEqualTo(!isSoon);
    }
}
