package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.deadline.Deadline;
import io.weir.health.Breaker.Permission;
import io.weir.outcome.Reason;
import org.junit.jupiter.api.Test;

class BreakerEvidenceTest {

    private static final long SLOW = ExchangeFixture.SLOW.toNanos();

    private final ExchangeFixture fixture = new ExchangeFixture();
    private final BreakerEvidence evidence = new BreakerEvidence(fixture.breaker, Permission.CALL);

    @Test
    void onlyTheFirstOutcomeCounts() {
        evidence.failed(1, BackendFailures.of(Reason.CONNECTION_LOST));
        evidence.succeeded(1);
        evidence.ignored();
        evidence.endedByCaller(SLOW);

        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    @Test
    void ignoresACallThatTheBreakerWouldHaveRefused() {
        BreakerEvidence refused = new BreakerEvidence(fixture.breaker, Permission.REFUSED);
        refused.countIfSlow(SLOW);
        refused.failed(SLOW, BackendFailures.of(Reason.CONNECTION_LOST));

        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        assertThat(fixture.breaker.overdue()).isZero();
        assertThat(refused.nanosUntilSlow(0)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void ignoresACallThatWasAdmittedBeforeTheLastOpening() {
        evidence.countIfSlow(SLOW);
        fixture.breaker.resilience4j().transitionToOpenState();
        fixture.breaker.resilience4j().transitionToClosedState();

        evidence.failed(SLOW, BackendFailures.of(Reason.DEADLINE_EXCEEDED));

        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        assertThat(fixture.breaker.overdue()).isZero();
        new BreakerEvidence(fixture.breaker, Permission.CALL).succeeded(1);
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
    }

    @Test
    void countsACallerThatLeavesOnlyAfterTheSlowThreshold() {
        evidence.endedByCaller(SLOW - 1);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");

        new BreakerEvidence(fixture.breaker, Permission.CALL).endedByCaller(SLOW);
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
    }

    @Test
    void backendIsAtFaultFromHalfTheDeadlineOrTheSlowThreshold() {
        Deadline own = new Deadline(0, false);
        assertThat(evidence.isBackendAtFault(SLOW / 2, own, SLOW)).isTrue();
        assertThat(evidence.isBackendAtFault(SLOW / 2 - 1, own, SLOW)).isFalse();
        assertThat(evidence.isBackendAtFault(SLOW, own, 10 * SLOW)).isTrue();

        Deadline callers = new Deadline(0, true);
        assertThat(evidence.isBackendAtFault(SLOW - 1, callers, SLOW)).isFalse();
        assertThat(evidence.isBackendAtFault(SLOW, callers, SLOW)).isTrue();
    }

    @Test
    void countsASlowCallInFlightOnce() {
        assertThat(evidence.nanosUntilSlow(1)).isEqualTo(SLOW - 1);
        evidence.countIfSlow(SLOW - 1);
        assertThat(fixture.breaker.overdue()).isZero();

        evidence.countIfSlow(SLOW);
        evidence.countIfSlow(SLOW + 1);
        assertThat(fixture.breaker.overdue()).isOne();
        assertThat(evidence.nanosUntilSlow(SLOW + 1)).isEqualTo(Long.MAX_VALUE);

        evidence.succeeded(SLOW + 2);
        assertThat(fixture.breaker.overdue()).isZero();
    }
}
