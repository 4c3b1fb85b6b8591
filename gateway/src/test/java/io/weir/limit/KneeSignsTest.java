package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of time-outs, of sheds and of calls that wait, and the settings. */
class KneeSignsTest extends KneeTests {

    // ---------------------------------------------------------------- time-outs, and sheds

    @Test
    void mostlyTimeOutsLowerTheLimitOncePerDeadlineAndAreNoLatency() {
        trust(64, LATENCY);
        double before = knee.baseLatency();
        for (int i = 0; i < 33; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 64);
        }
        assertThat(knee.wholeLimit()).as("a quarter").isEqualTo(16);
        assertThat(knee.lastChange()).isEqualTo(Change.TIMEOUTS);
        assertThat(knee.rate()).isZero();

        for (int i = 0; i < 32; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 16);
        }
        assertThat(knee.wholeLimit()).as("within the deadline").isEqualTo(16);
        for (int i = 0; i < 33; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 16);
        }
        assertThat(knee.wholeLimit()).isEqualTo(4);
        for (int i = 0; i < 500; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 4);
        }
        assertThat(knee.wholeLimit()).as("the minimum").isEqualTo(2);
        assertThat(knee.isAtFloor()).isTrue();
        assertThat(knee.baseLatency()).isEqualTo(before);
    }

    /** Of all calls half are answered: the limit falls to the half. */
    @ParameterizedTest
    @CsvSource({"16, 32, TIMEOUTS", "15, 64, INITIAL"})
    void fewTimeOutsChangeNothing(int timeouts, int limit, Change expected) {
        trust(64, LATENCY);
        int samples = 0;
        answer(1, LATENCY, 1);
        while (knee.wholeLimit() == 64 && samples < 32) {
            Evidence evidence =
                    samples * timeouts / 32 < (samples + 1) * timeouts / 32 ? Evidence.TIMED_OUT : Evidence.ANSWERED;
            end(DEADLINE / 64, evidence == Evidence.TIMED_OUT ? DEADLINE : LATENCY, evidence, 1);
            samples++;
        }
        assertThat(knee.wholeLimit()).isEqualTo(limit);
        assertThat(knee.lastChange()).isEqualTo(expected);
    }

    @Test
    void firstCallsThatAllTimeOutLeaveTheInitialLimit() {
        for (int i = 0; i < 33; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 8);
        }
        assertThat(knee.wholeLimit()).isEqualTo(8);
        assertThat(knee.changes(Change.TIMEOUTS)).isZero();

        for (int i = 0; i < 66; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 8);
        }
        assertThat(knee.wholeLimit()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({"0.0625, RECOVERY, 32", "0.25, TIMEOUTS, 16"})
    void restoresHalfOfTheLimitOnceAnswersAreFastAgain(double latency, Change expected, int limit) {
        trust(64, LATENCY);
        for (int i = 0; i < 33; i++) {
            end(DEADLINE / 64, DEADLINE, Evidence.TIMED_OUT, 64);
        }
        assertThat(knee.wholeLimit()).isEqualTo(16);

        for (int i = 0; i < 200 && knee.lastChange() == Change.TIMEOUTS; i++) {
            answer(1 / 256., latency, 1);
        }

        assertThat(knee.lastChange()).isEqualTo(expected);
        assertThat(knee.wholeLimit()).isEqualTo(limit);
    }

    /** The call waited so long for its permit that it had no time left in the backend. */
    @ParameterizedTest
    @CsvSource({
        // latency in base latencies, seconds since the last answer
        "1.125, 0.25, INITIAL",
        "1.25, 0.25, TIMEOUTS",
        "1.125, 1, TIMEOUTS"
    })
    void aTimeOutIsIgnoredIfTheBackendHadTheCallForATimeInWhichNoneAnswers(
            double latencies, double sinceAnswer, Change expected) {
        trust(64, LATENCY);
        now += sinceAnswer;
        for (int i = 0; i < 40; i++) {
            end(i == 0 ? 0 : DEADLINE / 64, latencies * LATENCY, Evidence.TIMED_OUT, 64);
        }
        assertThat(knee.lastChange()).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        // sheds of 32 calls, the most calls that were answered at once, limit
        "2, 50, 50",
        "2, 10, 44",
        "1, 50, 64",
        "2, 64, 64"
    })
    void shedsLowerTheLimitToTheCallsThatWereAnsweredAtOnceButNotByMoreThanThreeTenths(
            int sheds, int answeredAtOnce, int limit) {
        trust(64, LATENCY);
        answer(1, LATENCY, 1);
        for (int i = 0; i < 32 && knee.lastChange() == Change.INITIAL; i++) {
            now += LATENCY / 16;
            knee.ended(
                    now, LATENCY, i < sheds ? Evidence.SHED : Evidence.ANSWERED, false, i == 5 ? answeredAtOnce : 1, 1);
        }
        assertThat(knee.wholeLimit()).isEqualTo(limit);
        assertThat(knee.lastChange()).isEqualTo(limit == 64 ? Change.INITIAL : Change.SHEDDING);
    }

    @ParameterizedTest
    @CsvSource({"0.03125, INITIAL", "0.015625, SHEDDING"})
    void anUnavailableBackendShedsOnlyIfItRefusesFasterThanHalfOfTheBaseLatency(double latency, Change expected) {
        trust(64, LATENCY);
        answer(1, LATENCY, 1);
        for (int i = 0; i < 32; i++) {
            end(LATENCY / 16, i % 8 == 0 ? latency : LATENCY, i % 8 == 0 ? Evidence.UNAVAILABLE : Evidence.ANSWERED, 1);
        }
        assertThat(knee.lastChange()).isEqualTo(expected);
    }

    // ---------------------------------------------------------------- calls that wait

    @Test
    void doublesOnceCallsHaveWaitedForAQuarterOfTheDeadlineWhileNothingIsKnown() {
        assertThat(knee.longWait()).isEqualTo(DEADLINE / 4);
        knee.waited(1 / 8., 0);
        assertThat(knee.wholeLimit()).isEqualTo(8);

        knee.waited(2 / 8., 1 / 8.);
        assertThat(knee.wholeLimit()).as("the first call waits since 0").isEqualTo(16);
        knee.waited(10, 0);

        assertThat(knee.wholeLimit()).as("no call was answered").isEqualTo(16);
    }

    /** The base latency is long: 3/8 of the deadline. */
    @Test
    void growsForWaitingCallsAfterAThirdOfTheDeadlineAndAgainOnceItsCallsAreAnswered() {
        trust(8, LONG);
        assertThat(knee.longWait()).isEqualTo(DEADLINE / 3);
        knee.waited(now + 21 / 64., now);
        assertThat(knee.wholeLimit()).isEqualTo(8);
        knee.waited(now + 22 / 64., now);
        assertThat(knee.wholeLimit()).isEqualTo(12);
        now += 22 / 64.;
        for (int i = 0; i < 4; i++) {
            answer(LONG, LONG, 12);
        }
        knee.waited(now + 1, now);
        assertThat(knee.wholeLimit()).isEqualTo(18);
    }

    @Test
    void answersToCallsThatWereSentBeforeTheGrowthDoNotRepeatIt() {
        trust(8, LONG);
        now += 22 / 64.;
        knee.waited(now, now - 22 / 64.);
        assertThat(knee.wholeLimit()).isEqualTo(12);
        for (int i = 0; i < 3; i++) {
            answer(1 / 64., LONG, 12);
        }
        for (int i = 0; i < 3; i++) {
            answer(LONG, LONG, 12);
        }
        knee.waited(now + 1, now);
        assertThat(knee.wholeLimit()).as("three of its four calls are answered").isEqualTo(12);

        answer(LONG, LONG, 12);
        knee.waited(now + 1, now);

        assertThat(knee.wholeLimit()).isEqualTo(18);
    }

    @ParameterizedTest
    @CsvSource({"1.1875, 12", "1.25, 8"})
    void doesNotGrowForWaitingCallsSoonAfterASignOfAQueue(double latencies, int limit) {
        trust(8, LONG);
        answer(1 / 64., latencies * LONG, 8);

        knee.waited(now + LONG - 1 / 64., now);
        assertThat(knee.wholeLimit()).isEqualTo(limit);

        knee.waited(now + LONG, now);
        assertThat(knee.wholeLimit()).as("a base latency later").isEqualTo(12);
    }

    @ParameterizedTest
    @CsvSource({"7, 8", "8, 12"})
    void aFreePermitEndsTheWait(int inFlight, int limit) {
        trust(8, LONG);
        knee.waited(now, now);
        answer(16 / 64., LONG, inFlight);

        knee.waited(now + 21 / 64., now);

        assertThat(knee.wholeLimit()).isEqualTo(limit);
    }

    /** At half of the limit, no call shows a queue. */
    @Test
    void growsForWaitingCallsOnlyTwoBaseLatenciesAfterAProbe() {
        trust(8, LONG);
        while (!knee.isHolding()) {
            assertThat(now).isLessThan(100);
            saturate(1, 2 * LONG);
        }
        probe(LONG, 4);
        assertThat(knee.baseLatency()).isEqualTo(LONG);
        int limit = knee.wholeLimit();

        knee.waited(now + 2 * LONG - 1 / 64., now);
        assertThat(knee.wholeLimit()).isEqualTo(limit);
        knee.waited(now + 2 * LONG + 1 / 64., now);

        assertThat(knee.wholeLimit()).isGreaterThan(limit);
    }

    /** The latency was short within a minute, so it may be congested now. */
    @ParameterizedTest
    @CsvSource({"60, false", "60.015625, true"})
    void callsThatWaitAreNoEvidenceIfTheLatencyWasShortWithinAMinute(double seconds, boolean isEvidence) {
        trust(8, LATENCY);
        while (knee.baseLatency() <= DEADLINE / 3) {
            calm(1, 0.5);
        }
        double shortAt = now;
        calm(96, 0.5);
        assertThat(knee.longWait()).isInfinite();

        now = shortAt + seconds - 1 / 64.;
        calm(1, 0.5);

        assertThat(Double.isFinite(knee.longWait())).isEqualTo(isEvidence);
    }

    // ---------------------------------------------------------------- settings

    @Test
    void theInitialLimitCountsOnlyWhileNothingIsKnown() {
        knee.configure(new LimitBounds(2, 1000, 20), DEADLINE, 1);
        assertThat(knee.value()).isEqualTo(20);
        calm(16, LATENCY);

        knee.configure(new LimitBounds(2, 1000, 30), DEADLINE, 1);
        assertThat(knee.value()).isEqualTo(20);
        knee.configure(new LimitBounds(25, 1000, 30), DEADLINE, 1);
        assertThat(knee.value()).isEqualTo(25);
        knee.configure(new LimitBounds(2, 15, 10), DEADLINE, 1);
        assertThat(knee.value()).isEqualTo(15);
        assertThat(knee.lastChange()).as("no reason of its own").isEqualTo(Change.INITIAL);
    }

    @Test
    void scalesWhatItHasLearntWithTheShareOfTheInstancesThatAreIn() {
        trust(64, LATENCY);
        for (int i = 0; i < 65; i++) {
            answer(LATENCY / 64, LATENCY, 64);
        }
        double rate = knee.rate();
        int whole = knee.wholeLimit();
        assertThat(rate).isEqualTo(1024);

        knee.configure(new LimitBounds(2, 1000, 64), DEADLINE, .25);

        assertThat(knee.rate()).isEqualTo(256);
        assertThat(knee.value()).isEqualTo(whole / 4);
        assertThat(knee.wholeValue()).isEqualTo(whole);
        assertThat(knee.wholeLimit()).isEqualTo(whole);
        assertThat(knee.baseLatency()).isEqualTo(LATENCY);

        knee.configure(new LimitBounds(2, 1000, 64), DEADLINE, 1);

        assertThat(knee.value()).isEqualTo(whole);
        assertThat(knee.rate()).isEqualTo(1024);
    }

    @Test
    void aChangeOfTheInstancesEndsAProbe() {
        knee = new Knee(new LimitBounds(2, 8, 8), DEADLINE, 0);
        untilProbed(LATENCY);
        assertThat(knee.wholeValue()).isEqualTo(4);

        knee.configure(new LimitBounds(2, 8, 8), DEADLINE, .5);

        assertThat(knee.lastChange()).isEqualTo(Change.INITIAL);
        assertThat(knee.wholeValue()).isEqualTo(8);
    }

    @ParameterizedTest
    @CsvSource({
        "60, 0.6666666666666666, 40",
        "10, 0.3333333333333333, 4",
        "9, 0.8888888888888891, 8",
        "3, 0.1, 1",
        "1, 0.0000001, 1",
        "7, 1, 7"
    })
    void aPartOfTheLimitIsRoundedUp(int limit, double share, int part) {
        assertThat(Knee.partOf(limit, share)).isEqualTo(part);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 4, 100, 5000})
    void theLimitForSoManyCallsIsItsOwnTarget(double calls) {
        double limit = Knee.limitFor(calls);

        assertThat(1.15 * calls + Math.sqrt(limit)).isEqualTo(limit, within(1e-9 * limit));
    }

    /** One caller has used up its quota; the others are answered as ever, or more slowly. */
    @ParameterizedTest
    @CsvSource({"1.125, INITIAL", "1.25, SHEDDING"})
    void aQuotaOfOneCallerLowersTheLimitOnlyWhileOtherCallsAreSlow(double latencies, Change expected) {
        trust(64, LATENCY);
        for (int i = 0; i < 200; i++) {
            end(LATENCY / 64, latencies * LATENCY, Evidence.ANSWERED, 10);
            for (int refused = 0; refused < 5; refused++) {
                end(0, 1 / 1024., Evidence.QUOTA, 11);
            }
        }
        assertThat(knee.lastChange()).isEqualTo(expected);
    }
}
