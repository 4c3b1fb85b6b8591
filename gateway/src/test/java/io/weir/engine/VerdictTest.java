package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.deadline.Deadline;
import io.weir.health.Breaker.Permission;
import io.weir.outcome.Reason;
import org.junit.jupiter.api.Test;

class VerdictTest {

    private static final long SLOW = Course.SLOW.toNanos();

    private final Course course = new Course();
    private final Verdict verdict = new Verdict(course.breaker, Permission.CALL);

    @Test
    void staysAsItWasGivenFirst() {
        verdict.failed(1, Failure.of(Reason.CONNECTION_LOST));
        verdict.succeeded(1);
        verdict.ignored();
        verdict.endedByCaller(SLOW);

        assertThat(course.judged()).isEqualTo("0/1");
    }

    @Test
    void saysNothingOfACallThatTheBreakerWouldHaveRefused() {
        Verdict refused = new Verdict(course.breaker, Permission.REFUSED);
        refused.watch(SLOW);
        refused.failed(SLOW, Failure.of(Reason.CONNECTION_LOST));

        assertThat(course.judged()).isEqualTo("0/0");
        assertThat(course.breaker.overdue()).isZero();
        assertThat(refused.nanosToWatch(0)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void saysNothingOnceTheBreakerHasOpenedAndFoundTheBackendBack() {
        verdict.watch(SLOW);
        course.breaker.resilience4j().transitionToOpenState();
        course.breaker.resilience4j().transitionToClosedState();

        verdict.failed(SLOW, Failure.of(Reason.DEADLINE_EXCEEDED));

        assertThat(course.judged()).isEqualTo("0/0");
        assertThat(course.breaker.overdue()).isZero();
        new Verdict(course.breaker, Permission.CALL).succeeded(1);
        assertThat(course.judged()).isEqualTo("1/0");
    }

    @Test
    void blamesTheBackendForACallerWhoLeavesOnlyOnceItIsSlow() {
        verdict.endedByCaller(SLOW - 1);
        assertThat(course.judged()).isEqualTo("0/0");

        new Verdict(course.breaker, Permission.CALL).endedByCaller(SLOW);
        assertThat(course.judged()).isEqualTo("1/0");
    }

    @Test
    void blamesTheBackendForAMissedDeadlineFromHalfOfItOrTheSlowThreshold() {
        Deadline own = new Deadline(0, false);
        assertThat(verdict.hadEnough(SLOW / 2, own, SLOW)).isTrue();
        assertThat(verdict.hadEnough(SLOW / 2 - 1, own, SLOW)).isFalse();
        assertThat(verdict.hadEnough(SLOW, own, 10 * SLOW)).isTrue();

        Deadline callers = new Deadline(0, true);
        assertThat(verdict.hadEnough(SLOW - 1, callers, SLOW)).isFalse();
        assertThat(verdict.hadEnough(SLOW, callers, SLOW)).isTrue();
    }

    @Test
    void countsASlowCallWhileItIsUnderWayOnce() {
        assertThat(verdict.nanosToWatch(1)).isEqualTo(SLOW - 1);
        verdict.watch(SLOW - 1);
        assertThat(course.breaker.overdue()).isZero();

        verdict.watch(SLOW);
        verdict.watch(SLOW + 1);
        assertThat(course.breaker.overdue()).isOne();
        assertThat(verdict.nanosToWatch(SLOW + 1)).isEqualTo(Long.MAX_VALUE);

        verdict.succeeded(SLOW + 2);
        assertThat(course.breaker.overdue()).isZero();
    }
}
