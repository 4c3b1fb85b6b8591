package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.management.BackendView;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LimitMovementTest {

    private static final String EARLIER = "2026-01-01T00:00:05Z";
    /** As text, this time sorts before the earlier one. */
    private static final String LATER = "2026-01-01T00:00:05.123Z";

    @ParameterizedTest
    @CsvSource({
        "10, 14, growth, growth",
        "14, 10, growth-reverted, growth-reverted",
        "14, 10, queueing, queueing",
        "14, 10, shedding, shedding",
        "14, 2, timeouts, timeouts",
        "2, 6, recovery, recovery",
        "10, 5, probe, probe"
    })
    void isTheReasonOfAnAdaptiveLimitThatHasLearnt(int before, int now, String reason, String word) {
        assertThat(LimitMovement.reason(
                        auto(before, "auto", before, "growth", EARLIER), auto(now, "auto", now, reason, LATER)))
                .isEqualTo(word);
    }

    @Test
    void isNoneWhileTheLimitInForceIsTheSame() {
        assertThat(LimitMovement.reason(
                        auto(10, "operator", 20, "growth", EARLIER), auto(10, "operator", 30, "growth", LATER)))
                .isEqualTo(LimitMovement.NONE);
    }

    /** The reason of the present number is again the one from before the probe. */
    @Test
    void isTheProbeWhenItsLimitReturns() {
        assertThat(LimitMovement.reason(auto(5, "auto", 5, "probe", LATER), auto(10, "auto", 10, "growth", EARLIER)))
                .isEqualTo("probe");
        assertThat(LimitMovement.reason(auto(5, "auto", 5, "probe", EARLIER), auto(12, "auto", 12, "growth", LATER)))
                .isEqualTo("growth");
    }

    @ParameterizedTest
    @CsvSource({
        // before: in force, binds; now: in force, binds; word
        "10, auto, 5, ramp, ramp",
        "5, ramp, 6, ramp, ramp",
        "6, ramp, 10, auto, ramp-ended",
        "6, ramp, 8, operator, ramp-ended",
        "8, operator, 5, ramp, ramp",
        "10, auto, 8, operator, operator",
        "8, operator, 7, operator, operator",
        "8, operator, 10, auto, operator-ended",
        "10, auto, 30, signal, signal",
        "30, signal, 28, signal, signal",
        "30, signal, 10, auto, signal-ended",
        "30, signal, 5, operator, operator"
    })
    void isTheNumberThatBindsIfItIsNotTheLimitsOwn(int before, String bound, int now, String binds, String word) {
        assertThat(LimitMovement.reason(
                        auto(before, bound, 10, "growth", EARLIER), auto(now, binds, 10, "growth", EARLIER)))
                .isEqualTo(word);
    }

    @Test
    void isTheConfigurationWhereNothingWasLearnt() {
        BackendView fixed = new TestViews().fixed(7).view();
        assertThat(LimitMovement.reason(fixed, new TestViews().fixed(9).view())).isEqualTo("configuration");
        assertThat(LimitMovement.reason(fixed, auto(8, "auto", 8, "initial", LATER)))
                .isEqualTo("configuration");
        assertThat(LimitMovement.reason(
                        auto(40, "auto", 40, "growth", EARLIER), auto(20, "auto", 20, "growth", EARLIER)))
                .isEqualTo("configuration");
        assertThat(LimitMovement.reason(auto(8, "auto", 8, "initial", EARLIER), auto(4, "auto", 4, "initial", LATER)))
                .isEqualTo("configuration");
    }

    /** An adaptive limit is scaled to the instances in use, and shows its last reason with a new time. */
    @ParameterizedTest
    @CsvSource({"open, auto", "drained, auto", "open, ramp", "closed, ramp"})
    void isTheInstancesIfTheyDecideAboutTheLimit(String state, String binds) {
        BackendView before = withInstances(9, "auto", "closed", EARLIER);
        BackendView now = withInstances(6, binds, state, LATER);
        assertThat(LimitMovement.reason(before, now)).isEqualTo("instances");
        assertThat(LimitMovement.reason(now, before)).isEqualTo("instances");
    }

    @Test
    void isTheReasonOfTheLimitWhileTheInstancesInUseStay() {
        assertThat(LimitMovement.reason(
                        withInstances(9, "auto", "open", EARLIER), withInstances(12, "auto", "open", LATER)))
                .isEqualTo("growth");
    }

    private static BackendView auto(int inForce, String binds, int own, String reason, String changedAt) {
        return new TestViews()
                .limit(TestViews.autoView(inForce, binds, own, reason, changedAt))
                .view();
    }

    private static BackendView withInstances(int inForce, String binds, String stateOfOne, String changedAt) {
        return new TestViews()
                .limit(TestViews.autoView(inForce, binds, 9, "growth", changedAt))
                .instances(List.of(
                        TestViews.instance("http://10.0.0.1:80", "closed"),
                        TestViews.instance("http://10.0.0.2:80", stateOfOne)))
                .view();
    }
}
