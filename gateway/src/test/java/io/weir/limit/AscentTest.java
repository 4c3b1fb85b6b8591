package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** All calls have become slower: 8 at once take half a second each, instead of 1/64 s. */
class AscentTest extends KneeTests {

    private static final double SLOW = 1 / 2.;

    @BeforeEach
    void aFastBackendAnswers64CallsPerSecond() {
        trust(8, 1 / 64.);
    }

    /** The calls that fill the limit after the change; each finds those before it in flight. */
    private void fill(double first, double last) {
        now += first;
        for (int i = 1; i <= 8; i++) {
            end(first + (last - first) * (i - 1) / 7, i, 8);
        }
    }

    private void end(double latency, int inFlightAtStart, int inFlight) {
        knee.ended(now, latency, Evidence.ANSWERED, false, inFlightAtStart, inFlight);
    }

    @Test
    void triesMoreCallsIfTheFirstOnesAreAsSlowAsTheLast() {
        fill(SLOW, SLOW);

        assertThat(knee.wholeLimit()).isEqualTo(16);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH);
        assertThat(knee.baseLatency()).as("not known yet").isEqualTo(1 / 64.);
    }

    /** Few calls come: for a moment none waits. */
    @Test
    void aPermitThatIsFreeForAMomentHidesNoSlowAnswer() {
        now += SLOW;
        for (int i = 1; i <= 8; i++) {
            end(SLOW, i, i == 4 ? 7 : 8);
        }
        assertThat(knee.wholeLimit()).isEqualTo(16);
    }

    /** Each call waits for those that were sent before it. */
    @Test
    void triesNoMoreCallsIfTheyQueue() {
        fill(SLOW / 8, SLOW);

        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    /** All calls found the limit in use, so that they cannot be compared. */
    @ParameterizedTest
    @CsvSource({"11, 8", "12, 16"})
    void aLatencyOfTwelveBaseLatenciesIsNoQueueOfTheKneeEvenIfNoCallsCanBeCompared(int latencies, int limit) {
        now += latencies / 64.;
        for (int i = 0; i < 8; i++) {
            end(latencies / 64., 5, 8);
        }
        assertThat(knee.wholeLimit()).isEqualTo(limit);
    }

    @Test
    void triesNoMoreCallsWhileAsManyAreAnsweredAsBefore() {
        fill(1 / 20., 1 / 20.);

        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void triesNoMoreCallsIfOneOfTheLastIsFast() {
        now += SLOW;
        for (int i = 1; i <= 8; i++) {
            end(i == 7 ? 1 / 64. : SLOW, i, 8);
        }
        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void moreCallsThatBringMoreAnswersShowThatNothingQueues() {
        fill(SLOW, SLOW);

        now += SLOW;
        for (int i = 0; i < 11; i++) {
            end(SLOW, 16, 16);
        }
        assertThat(knee.baseLatency()).isEqualTo(1 / 64.);
        end(SLOW, 16, 16);

        assertThat(knee.baseLatency()).isEqualTo(SLOW);
        assertThat(knee.rate()).isEqualTo(32);
        assertThat(knee.wholeLimit())
                .as("all 16 are in use: even more are tried")
                .isEqualTo(32);
    }

    @Test
    void noMoreCallsAreTriedWhilePermitsAreFree() {
        fill(SLOW, SLOW);

        now += SLOW;
        for (int i = 0; i < 12; i++) {
            end(SLOW, 15, 15);
        }

        assertThat(knee.baseLatency()).isEqualTo(SLOW);
        assertThat(knee.wholeLimit()).isEqualTo(16);
    }

    /** As many answers as before, each after twice the time. */
    @Test
    void moreCallsThatBringNoMoreAnswersAreGivenBack() {
        fill(SLOW, SLOW);

        for (int i = 0; i < 9; i++) {
            now += SLOW / 8;
            end(2 * SLOW, 16, 16);
        }

        assertThat(knee.wholeLimit()).isEqualTo(8);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH_REVERTED);
        assertThat(knee.baseLatency()).isEqualTo(1 / 64.);
        fill(SLOW, SLOW);
        assertThat(knee.wholeLimit()).as("not again within four seconds").isEqualTo(8);
    }

    @Test
    void aHangDuringATrialIsNoReasonForMoreCalls() {
        fill(SLOW, SLOW);
        now += DEADLINE;
        for (int i = 0; i < 16; i++) {
            knee.ended(now, DEADLINE, Evidence.TIMED_OUT, false, 16, 16);
        }
        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    /** A base latency of more than half of the deadline is cut, unless more calls brought more answers. */
    @Test
    void aLatencyOfMoreThanHalfOfTheDeadlineIsBelievedOnceItIsProven() {
        double latency = 3 / 4. * DEADLINE;
        fill(latency, latency);
        now += latency;
        for (int i = 0; i < 16; i++) {
            end(latency, 16, 15);
        }
        assertThat(knee.wholeLimit()).isEqualTo(16);
        assertThat(knee.baseLatency()).isEqualTo(latency);

        for (int i = 0; i < 200; i++) {
            now += latency / 16;
            end(latency, 16, 16);
        }

        assertThat(knee.wholeLimit()).as("1.15 * rate * latency + 4").isGreaterThanOrEqualTo(22);
        assertThat(knee.baseLatency()).isEqualTo(latency, within(1e-9));
    }
}
