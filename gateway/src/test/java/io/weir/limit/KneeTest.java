package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The rules of growth, of the base latency and of the probes, one by one. {@link KneeSignsTest} has the other
 * rules; {@link LimitCasesTest} shows what they achieve together.
 */
class KneeTest extends KneeTests {

    // ---------------------------------------------------------------- growth

    /** Growth stops at six tenths of the deadline, as if the whole latency were a queue. */
    @ParameterizedTest
    @CsvSource({
        // latency in 64ths of the deadline, limit
        " 4, 32",
        "16, 19",
        "24, 16",
        "32, 12"
    })
    void aSlowStartGrowsByTwoToFourWhileTheLatencyLeavesRoomInTheDeadline(int latency, int limit) {
        saturate(17, latency / 64.);

        assertThat(knee.wholeLimit()).isEqualTo(limit);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH);
        assertThat(knee.baseLatency()).isEqualTo(latency / 64.);
        assertThat(knee.changes(Change.GROWTH)).isEqualTo(1);
    }

    @Test
    void neverGrowsBeyondTheMaximum() {
        knee = new Knee(new LimitBounds(2, 20, 8), DEADLINE, 0);

        saturate(17, LATENCY);

        assertThat(knee.wholeLimit()).isEqualTo(20);
    }

    @ParameterizedTest
    @CsvSource({"8, 32", "7, 8"})
    void growsOnlyIfHalfOfTheCallsEndWhileTheLimitIsReached(int pinned, int limit) {
        answer(LATENCY / 8, LATENCY, 8);
        for (int i = 0; i < 16; i++) {
            answer(LATENCY / 8, LATENCY, i < pinned ? 8 : 7);
        }
        assertThat(knee.utilisation()).isEqualTo(pinned / 16.);
        assertThat(knee.wholeLimit()).isEqualTo(limit);
        assertThat(knee.isAtFloor()).isFalse();
    }

    /** Few calls end while they all take long: those that have not ended would be missed. */
    @ParameterizedTest
    @CsvSource({
        // calls per second, base latency
        "128, 0.0625",
        "64, 0.125",
        "8, 0.5"
    })
    void theFirstGuessOfTheBaseLatencyIsAtLeastTheLimitDividedByTheRate(int perSecond, double base) {
        for (int i = 0; i < 20; i++) {
            answer(1. / perSecond, LATENCY, 8);
            if (knee.baseLatency() > 0) {
                break;
            }
        }
        assertThat(knee.baseLatency()).isEqualTo(base);
        assertThat(knee.rate()).isEqualTo(perSecond);
    }

    /** The calls that end in the meantime were sent under the old limit. */
    @Test
    void afterGrowthTheNextWindowWaitsForOneLatency() {
        trust(64, LATENCY);
        saturate(65, LATENCY);
        assertThat(knee.wholeLimit()).isEqualTo(256);
        double grownAt = now;

        while (now < grownAt + LATENCY - LATENCY / 256) {
            answer(LATENCY / 256, 10 * LATENCY, 256);
        }
        saturate(300, LATENCY);

        assertThat(knee.wholeLimit())
                .as("the slow calls of the old limit did not count")
                .isEqualTo(1000);
    }

    /** 16 workers of 62.5 ms: at 64 calls, each call takes four times as long. */
    @Test
    void revertsGrowthThatBringsNoMoreAnswers() {
        trust(16, LATENCY);
        saturate(33, LATENCY);
        assertThat(knee.wholeLimit()).isEqualTo(64);

        for (int i = 0; i < 100 && knee.lastChange() == Change.GROWTH; i++) {
            saturate(1, 4 * LATENCY);
        }

        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH_REVERTED);
        assertThat(knee.wholeLimit()).as("1.15 * 16 + the root of 64").isEqualTo(26);
        assertThat(knee.rate()).isEqualTo(256, within(8.));
    }

    /** Meanwhile the backend may have become another one. */
    @Test
    void growthOfSomeTimeAgoIsNotReverted() {
        trust(16, LATENCY);
        saturate(33, LATENCY);
        assertThat(knee.wholeLimit()).isEqualTo(64);
        calm(192, LATENCY);

        for (int i = 0; i < 100 && knee.lastChange() == Change.GROWTH; i++) {
            saturate(1, 4 * LATENCY);
        }

        assertThat(knee.changes(Change.GROWTH_REVERTED)).isZero();
        assertThat(knee.wholeLimit()).isEqualTo(64);
    }

    @ParameterizedTest
    @CsvSource({"296, GROWTH", "292, GROWTH_REVERTED"})
    void keepsGrowthThatBringsFifteenPercentMoreAnswers(int perSecond, Change expected) {
        trust(16, LATENCY);
        saturate(33, LATENCY);
        assertThat(knee.rate()).isEqualTo(256);
        assertThat(knee.wholeLimit()).isEqualTo(64);

        for (int i = 0; i < 100; i++) {
            answer(1. / perSecond, 64. / perSecond, 64);
        }

        assertThat(knee.lastChange()).isEqualTo(expected);
    }

    /** In a slow start a window of n samples may be 2 / sqrt(n) above the base latency, and .4 at most. */
    @ParameterizedTest
    @CsvSource({"1.375, 32", "1.4375, 9"})
    void aSlowStartToleratesTheNoiseOfSmallWindows(double latencies, int limit) {
        trust(8, LATENCY);

        saturate(17, latencies * LATENCY);

        assertThat(knee.wholeLimit()).isEqualTo(limit);
    }

    /** The rate at which the limit was the bottleneck is an old one: 8 calls at 48/s would take 1/6 s. */
    @Test
    void comparesAProbeWithCallsOfTheWholeLimitIfThatIsNotTheBottleneckAnyMore() {
        trust(8, LATENCY);
        now = 2;
        for (int i = 0; i < 17; i++) {
            answer(1 / 48., 1.25 * LATENCY, i % 4 == 0 ? 4 : 8);
        }
        for (int i = 0; i < 17; i++) {
            answer(1 / 32., 1.5 * LATENCY, 4);
        }
        assertThat(knee.rate()).isEqualTo(48, within(1.));
        assertThat(knee.utilisation()).isLessThan(.5);
        now = 3;

        answer(0, 1.5 * LATENCY, 4);
        probe(1.5 * LATENCY, 4);

        assertThat(knee.baseLatency()).isEqualTo(1.5 * LATENCY, within(.01));
        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    // ---------------------------------------------------------------- pauses

    /** From the last end of a call to the start of the next one. */
    @ParameterizedTest
    @CsvSource({"2, 0, 3", "2.015625, 80, 128"})
    void aPauseOfMoreThanTwoSecondsIsNoPartOfTheRate(double pause, double atLeast, double atMost) {
        answer(0, LATENCY, 8);
        now += pause + LATENCY - LATENCY / 8;
        for (int i = 0; i < 16 && knee.rate() == 0; i++) {
            answer(LATENCY / 8, LATENCY, 8);
        }
        assertThat(knee.rate()).isStrictlyBetween(atLeast, atMost);
    }

    @Test
    void learnsNothingFromCallsThatAreNoEvidence() {
        for (int i = 0; i < 100; i++) {
            now += LATENCY / 8;
            knee.ended(now, LATENCY, Evidence.NONE, true, 8, 8);
        }
        assertThat(knee.wholeLimit()).isEqualTo(8);
        assertThat(knee.baseLatency()).isZero();
        assertThat(knee.rate()).isZero();
    }

    // ---------------------------------------------------------------- the base latency

    @Test
    void theBaseLatencyIsTheMeanOfSixteenCallsThatFoundFewInFlight() {
        calm(15, LATENCY);
        assertThat(knee.baseLatency()).isZero();

        calm(1, LATENCY);

        assertThat(knee.baseLatency()).isEqualTo(LATENCY);
        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void twoCallsAreEnoughForTheFirstMeanOfALongLatency() {
        calm(1, LONG);
        assertThat(knee.baseLatency()).isZero();

        calm(1, LONG);

        assertThat(knee.baseLatency()).isEqualTo(LONG);
    }

    @Test
    void onlyAnswersAreSamplesOfTheBaseLatency() {
        for (int i = 0; i < 100; i++) {
            now += LATENCY;
            knee.ended(now, LATENCY, i % 2 == 0 ? Evidence.UNAVAILABLE : Evidence.TIMED_OUT, true, 1, 1);
        }
        assertThat(knee.baseLatency()).isZero();
    }

    @Test
    void aCallIsASampleIfItFindsHalfOfTheLimitInUseUnlessAProbeRuns() {
        assertThat(knee.baseInFlight()).isEqualTo(4);
        assertThat(limit(2).baseInFlight()).isEqualTo(1);
        untilProbed(LATENCY);

        assertThat(knee.baseInFlight()).isZero();
    }

    // ---------------------------------------------------------------- probes

    /** Half of the new limit may be less than the old one: calls that wait would be refused. */
    @Test
    void probesAfterAFirstGuessOnceAWindowHasShownWhatTheGrowthBrought() {
        saturate(17, LATENCY);
        assertThat(knee.value()).isEqualTo(32);
        double grownAt = now;

        untilProbed(4 * LATENCY);

        assertThat(now - grownAt).isGreaterThan(4 * LATENCY);
        assertThat(knee.changes(Change.GROWTH_REVERTED)).isEqualTo(1);
        int limit = knee.wholeLimit();
        assertThat(knee.value()).isEqualTo(limit / 2);
        assertThat(knee.wholeValue()).isEqualTo(limit / 2);
        assertThat(knee.changes(Change.PROBE)).isEqualTo(1);
    }

    /** The calls that found few in flight were short ones; fewer and longer ones come now. */
    @Test
    void aBaseLatencyOfFewCallsIsReplacedByThatOfFewerLongerOnes() {
        calmAtHighRate(16);

        saturate(17, 3 * LATENCY);

        assertThat(knee.baseLatency()).isEqualTo(3 * LATENCY);
        assertThat(knee.lastChange()).isEqualTo(Change.GROWTH);
        assertThat(knee.changes(Change.PROBE)).isZero();
    }

    @Test
    void aBaseLatencyOfFewCallsStaysIfTheBackendAnswersAsManyAsBefore() {
        calm(16, LATENCY);

        saturate(17, 3 * LATENCY);

        assertThat(knee.baseLatency()).isEqualTo(LATENCY);
        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    @Test
    void aBaseLatencyOfManyCallsStays() {
        calmAtHighRate(96);

        saturate(17, 3 * LATENCY);

        assertThat(knee.baseLatency()).isEqualTo(LATENCY);
        assertThat(knee.wholeLimit()).isEqualTo(8);
    }

    /** The mean call takes .25 s, by Little's law, which is 8 times the base latency. */
    @ParameterizedTest
    @CsvSource({"2, .25, GROWTH", "8, .03125, INITIAL"})
    void manyFastAnswersBesideLongCallsShowThatNothingQueues(int oneIsFastOf, double expected, Change change) {
        double fast = LATENCY / 2;
        trust(8, fast);

        answerMixed(28, oneIsFastOf, fast);

        assertThat(knee.baseLatency()).isEqualTo(expected, within(1e-9));
        assertThat(knee.lastChange()).isEqualTo(change);
    }

    /** The time of the window may be that of a hang. */
    @Test
    void fastAnswersBesideATimeOutShowNothing() {
        double fast = LATENCY / 2;
        trust(8, fast);

        answerMixed(8, 2, fast);
        end(0, DEADLINE, Evidence.TIMED_OUT, 8);
        answerMixed(20, 2, fast);

        assertThat(knee.baseLatency()).isEqualTo(fast);
    }

    private void answerMixed(int calls, int oneIsFastOf, double fast) {
        for (int i = 1; i <= calls; i++) {
            answer(fast, i % oneIsFastOf == 0 ? fast : 15 * fast, 8);
        }
    }

    /** As many calls per second as a full limit of 8 answers; some are samples of the base latency. */
    private void calmAtHighRate(int samples) {
        for (int i = 0; i < 128; i++) {
            now += LATENCY / 8;
            knee.ended(now, LATENCY, Evidence.ANSWERED, i < samples, 1, 1);
        }
        assertThat(knee.baseLatency()).isEqualTo(LATENCY);
    }

    /**
     * Calls that were sent at half of the limit are fast: a slow start would take them for a reason to grow
     * by 2 or more. A long probe does not count as a time without use, after which the limit starts slowly.
     */
    @ParameterizedTest
    @ValueSource(doubles = {LATENCY, 1 / 4.})
    void aProbeThatFindsAQueueEndsASlowStart(double latency) {
        trust(8, latency);
        for (int i = 0; !knee.isHolding(); i++) {
            assertThat(i).as("calls before a probe").isLessThan(10_000);
            answer(latency / 4, latency, i % 2 == 0 ? 8 : 4);
        }
        probe(latency, 4);
        assertThat(knee.wholeLimit()).isLessThanOrEqualTo(8);

        for (int i = 0; knee.wholeLimit() <= 8; i++) {
            assertThat(i).as("calls before growth").isLessThan(10_000);
            saturate(1, latency);
        }

        assertThat(knee.wholeLimit()).isLessThanOrEqualTo(12);
    }

    /** All gateways in front of the backend probe together. */
    @ParameterizedTest
    @CsvSource({"0, 2", "0.25, 1.75", "0.75, 2.25"})
    void aProbeOfATrustedLatencyStartsOnAWholeSecondOfTheWallClock(double wallOffset, double startsAt) {
        knee = new Knee(new LimitBounds(2, 64, 64), DEADLINE, wallOffset);
        calm(96, LATENCY);
        while (knee.value() == 64) {
            saturate(1, LATENCY);
        }
        assertThat(now).isBetween(startsAt, startsAt + LATENCY);
    }

    @Test
    void aBackendThatIsAsSlowAtHalfOfTheLimitIsSlower() {
        knee = new Knee(new LimitBounds(2, 64, 64), DEADLINE, 0);
        calm(96, LATENCY);
        while (!knee.isHolding()) {
            saturate(1, 4 * LATENCY);
        }
        double before = knee.rate();
        assertThat(before).isEqualTo(256);

        probe(4 * LATENCY, 32);

        assertThat(knee.baseLatency()).isEqualTo(4 * LATENCY, within(1e-9));
        assertThat(knee.wholeLimit()).as("it needs as many calls").isEqualTo(64);
    }

    /** Any other latency counts up to half of the deadline. */
    @Test
    void aProbedLatencyCountsUpToMostOfTheDeadlineIfHalfOfTheCallsAreAsSlow() {
        knee = new Knee(new LimitBounds(2, 64, 64), DEADLINE, 0);
        calm(96, LATENCY);
        while (!knee.isHolding()) {
            saturate(1, 12 * LATENCY);
        }

        probe(12 * LATENCY, 32);

        assertThat(knee.baseLatency()).isEqualTo(12 * LATENCY, within(1e-9));
        assertThat(knee.wholeLimit()).as("it needs as many calls").isEqualTo(64);
    }

    /** The queue is that of other callers: at half of the limit a call takes half of the time. */
    @Test
    void callsQueueIfTheyAreFasterAtHalfOfTheLimit() {
        knee = new Knee(new LimitBounds(2, 64, 64), DEADLINE, 0);
        calm(96, LATENCY);
        while (!knee.isHolding()) {
            saturate(1, 4 * LATENCY);
        }

        probe(2 * LATENCY, 32);

        assertThat(knee.baseLatency())
                .as("as much as keeps the limit")
                .isEqualTo((256 * 2 * LATENCY - 8) / (1.15 * 256), within(1e-3));
        assertThat(knee.lastChange()).isEqualTo(Change.QUEUEING);
        assertThat(knee.wholeLimit()).as("the calls at half of the limit").isEqualTo(32);
    }

    /** Few calls come: the rate is one of an earlier moment. */
    @Test
    void aProbeThatIsNotFullDoesNotLowerTheLimitBelowItsInitialValue() {
        trust(16, LATENCY);
        for (int i = 0; !knee.isHolding(); i++) {
            assertThat(i).isLessThan(10_000);
            saturate(1, 4 * LATENCY);
        }
        int before = knee.wholeLimit();
        assertThat(before).isGreaterThanOrEqualTo(16);

        probe(LATENCY, 1);

        assertThat(knee.wholeLimit()).isGreaterThanOrEqualTo(16);
    }

    @Test
    void doesNotProbeALongLatencyThatShowsNoQueue() {
        trust(64, LONG);
        while (now < 30) {
            saturate(1, 1.25 * LONG);
        }
        assertThat(knee.changes(Change.PROBE)).isZero();

        while (knee.changes(Change.PROBE) == 0) {
            assertThat(now).as("with a queue").isLessThan(45);
            saturate(1, 2 * LONG);
        }
    }

    @Test
    void aProbeWhoseCallsNeverEndIsGivenUpAfterTwoDeadlines() {
        trust(64, LATENCY);
        while (knee.lastChange() != Change.PROBE) {
            saturate(1, LATENCY);
        }
        double startedAt = now;
        while (knee.lastChange() == Change.PROBE) {
            end(LATENCY, DEADLINE, Evidence.TIMED_OUT, 1000);
        }
        assertThat(now - startedAt).isBetween(2 * DEADLINE, 2 * DEADLINE + LATENCY);
        assertThat(knee.baseLatency()).as("nothing is learnt").isEqualTo(LATENCY);
    }
}
