package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.limit.Limit.Evidence;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The phases of a measurement. All times are sums of powers of two, so that each comparison is exact. */
class LatencyProbeTest {

    private static final double DEADLINE = 1;
    private static final double LATENCY = 1 / 32.;
    private static final double HOLD = 3 * LATENCY;
    private static final int LIMIT = 4;

    private final LatencyProbe probe = new LatencyProbe();
    private double now = 8;

    private boolean end(double spacing, Evidence evidence, int inFlight, double expected) {
        now += spacing;
        return probe.ended(now, evidence, inFlight, expected, DEADLINE);
    }

    private boolean end(double spacing, int inFlight) {
        return end(spacing, Evidence.ANSWERED, inFlight, LATENCY);
    }

    /** The call that ended is replaced at once. */
    private boolean endAndStart(double spacing, int inFlight) {
        boolean isOver = end(spacing, inFlight);
        probe.started(now, inFlight);
        return isOver;
    }

    private void hold() {
        probe.start(now, LIMIT);
        assertThat(end(0, LIMIT)).isFalse();
        assertThat(probe.isHolding()).isTrue();
    }

    // ---------------------------------------------------------------- draining

    @Test
    void holdsTheLowerLimitOnceFewerCallsAreInFlight() {
        assertThat(probe.isRunning()).isFalse();
        probe.start(now, LIMIT);
        assertThat(probe.isRunning()).isTrue();
        assertThat(probe.limit()).isEqualTo(LIMIT);

        assertThat(end(0, LIMIT + 1)).isFalse();
        assertThat(probe.isHolding()).as("as many are left").isFalse();
        assertThat(end(0, LIMIT)).isFalse();

        assertThat(probe.isHolding()).as("one less is left").isTrue();
        assertThat(probe.isRunning()).isTrue();
    }

    /** Calls of another kind hold the permits; those that wait would be refused. */
    @Test
    void givesUpWithoutAResultIfHalfOfTheCallsTakeLongToEnd() {
        assertIsGivenUpAfter(1.5 * HOLD, Evidence.ANSWERED);
    }

    @Test
    void givesUpWithoutAResultIfTheCallsDoNotEndWithinTwoDeadlines() {
        assertIsGivenUpAfter(2 * DEADLINE, Evidence.TIMED_OUT);
    }

    private void assertIsGivenUpAfter(double seconds, Evidence evidence) {
        probe.start(now, LIMIT);
        assertThat(end(seconds, evidence, 9, LATENCY)).isFalse();

        assertThat(end(1 / 64., evidence, 8, LATENCY)).isTrue();

        assertThat(probe.isRunning()).isFalse();
        assertThat(probe.isUsable()).isFalse();
        assertThat(probe.isCertain()).isFalse();
    }

    @Test
    void aDrainThatIsGivenUpDoesNotHaveTheResultOfAnEarlierProbe() {
        measure(LIMIT, 1);
        assertThat(probe.isUsable()).isTrue();
        probe.start(now, LIMIT);
        end(2 * HOLD, 9);

        assertThat(probe.isUsable()).isFalse();
    }

    @Test
    void aCancelledProbeDoesNotRunAnyMore() {
        hold();
        probe.cancel();
        assertThat(probe.isRunning()).isFalse();
        assertThat(probe.isHolding()).isFalse();

        probe.start(now, LIMIT);
        assertThat(probe.isHolding()).as("it drains anew").isFalse();
    }

    // ---------------------------------------------------------------- holding

    @Test
    void measuresForThreeLatenciesAndAtLeastTwentyFourEnds() {
        hold();
        for (int i = 1; i < 48; i++) {
            assertThat(endAndStart(HOLD / 48, LIMIT)).as("end %d", i).isFalse();
        }
        assertThat(endAndStart(HOLD / 48, LIMIT)).as("three latencies").isTrue();
        assertThat(probe.ends()).isEqualTo(48);

        hold();
        for (int i = 1; i < 24; i++) {
            assertThat(endAndStart(HOLD / 12, LIMIT)).as("end %d", i).isFalse();
        }
        assertThat(endAndStart(HOLD / 12, LIMIT)).as("24 ends").isTrue();
    }

    @Test
    void measuresForNineLatenciesIfFewCallsEnd() {
        hold();
        for (int i = 1; i < 9; i++) {
            assertThat(endAndStart(LATENCY, 1)).as("latency %d", i).isFalse();
        }
        assertThat(endAndStart(LATENCY, 1)).isTrue();
        assertThat(probe.ends()).isEqualTo(9);
        assertThat(probe.isUsable()).isTrue();
        assertThat(probe.isCertain()).isFalse();
    }

    /** The expected latency is a thousandth. */
    @Test
    void measuresForFiftyMillisecondsHoweverFastTheBackendIs() {
        hold();
        for (int i = 1; i <= 51; i++) {
            boolean isOver = end(1 / 1024., Evidence.ANSWERED, LIMIT, 1 / 1024.);
            assertThat(isOver).as("after %d / 1024 s", i).isFalse();
        }
        assertThat(end(1 / 1024., Evidence.ANSWERED, LIMIT, 1 / 1024.)).isTrue();
    }

    /** Ends a measurement in which so many calls are in flight all the time. */
    private void measure(int inFlight, int latencies) {
        hold();
        double spacing = latencies * LATENCY / inFlight;
        while (!endAndStart(spacing, inFlight)) {
            assertThat(now).isLessThan(100);
        }
    }

    /** Little's law: the calls in flight, divided by the rate. */
    @ParameterizedTest
    @CsvSource({"4, 1", "4, 2", "1, 1", "2, 8"})
    void theLatencyIsTheMeanNumberOfCallsDividedByTheRate(int inFlight, int latencies) {
        measure(1, 16);
        measure(inFlight, latencies);

        assertThat(probe.latency()).isEqualTo(latencies * LATENCY, within(1e-12));
    }

    /** The mean of the latencies of those that end would miss the slow call. */
    @Test
    void countsTheTimeOfCallsThatHaveNotEnded() {
        hold();
        while (!end(LATENCY, 2)) {
            now += LATENCY;
            probe.started(now, 2);
        }
        assertThat(probe.latency())
                .as("two during one latency, one during the next")
                .isBetween(2.6 * LATENCY, 3 * LATENCY);
    }

    @Test
    void startsWhileItDrainsDoNotCount() {
        probe.start(now, LIMIT);
        now += 1;
        probe.started(now, 100);
        end(0, LIMIT);
        while (!endAndStart(LATENCY / LIMIT, LIMIT)) {
            assertThat(now).isLessThan(100);
        }
        assertThat(probe.latency()).isEqualTo(LATENCY, within(1e-12));
    }

    @ParameterizedTest
    @EnumSource(
            value = Evidence.class,
            names = {"ANSWERED", "TIMED_OUT"},
            mode = EnumSource.Mode.EXCLUDE)
    void otherEndsAreNoAnswersButTheirTimeCounts(Evidence other) {
        hold();
        int answers = 0;
        while (true) {
            if (end(LATENCY / 8, other, LIMIT, LATENCY)) {
                break;
            }
            answers++;
            if (end(LATENCY / 8, LIMIT)) {
                break;
            }
        }
        assertThat(probe.ends()).isEqualTo(answers);
        assertThat(probe.latency()).isEqualTo(LATENCY, within(LATENCY / 16));
    }

    @ParameterizedTest
    @CsvSource({"2, 0, false", "3, 0, true", "2, 1, true", "2, 2, true", "2, 3, false"})
    void isUsableWithThreeEndsOfWhichAtMostHalfAreTimeOuts(int answers, int timeouts, boolean isUsable) {
        hold();
        for (int i = 0; i < answers; i++) {
            end(0, LIMIT);
        }
        for (int i = 0; i < timeouts; i++) {
            end(0, Evidence.TIMED_OUT, LIMIT, LATENCY);
        }
        assertThat(end(10, Evidence.NONE, LIMIT, LATENCY)).isTrue();

        assertThat(probe.isUsable()).isEqualTo(isUsable);
    }

    @ParameterizedTest
    @CsvSource({"11, false", "12, true"})
    void isCertainWithTwelveEnds(int ends, boolean isCertain) {
        hold();
        for (int i = 0; i < ends; i++) {
            end(0, LIMIT);
        }
        assertThat(end(10, Evidence.NONE, LIMIT, LATENCY)).isTrue();

        assertThat(probe.isCertain()).isEqualTo(isCertain);
    }

    @ParameterizedTest
    @CsvSource({"4, true", "3, true", "2, false"})
    void wasFullIfThreeQuartersOfTheLowerLimitWereInUse(int inFlight, boolean wasFull) {
        measure(inFlight, inFlight);

        assertThat(probe.wasFull()).isEqualTo(wasFull);
    }
}
