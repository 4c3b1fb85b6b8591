package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.deadline.Deadline;
import io.weir.health.Generation;
import io.weir.health.Probe;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HealthEvidenceTest {

    private static final long STALL = ExchangeFixture.STALL.toNanos();
    /** A call that is given up after three times this time is evidence. */
    private static final long USUAL = TimeUnit.MILLISECONDS.toNanos(50);

    private final ExchangeFixture fixture = new ExchangeFixture();

    private HealthEvidence call() {
        long now = fixture.now();
        Generation generation = Objects.requireNonNull(fixture.health.enter(now, false), "refused");
        return HealthEvidence.ofCall(
                fixture.health, generation, null, fixture.create().exchange(), now);
    }

    private void learnUsualTime() {
        for (int i = 0; i < 100; i++) {
            fixture.usualTime.record(USUAL, fixture.now());
        }
    }

    @Test
    void onlyTheFirstOutcomeCounts() {
        HealthEvidence evidence = call();
        evidence.failed(1, BackendFailures.of(Reason.CONNECTION_LOST), fixture.now());
        evidence.succeeded(1, fixture.now());
        evidence.ignored();
        evidence.endedByCaller(STALL, fixture.now());

        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    /** An answer to a call that was sent soon after it may have waited in the same queue. */
    @ParameterizedTest
    @CsvSource({"0.4, false", "0.6, true"})
    void isLeftBehindIfACallThatWasSentMuchLaterIsAnswered(double laterInStallTimes, boolean isLeftBehind) {
        HealthEvidence evidence = call();
        fixture.advance(Duration.ofNanos((long) (laterInStallTimes * STALL)));
        HealthEvidence later = call();
        fixture.advance(Duration.ofNanos(STALL));
        assertThat(evidence.countIfStalled(STALL, fixture.now())).isTrue();
        assertThat(evidence.isLeftBehind()).isFalse();

        later.answered(fixture.now());
        assertThat(evidence.isLeftBehind()).isEqualTo(isLeftBehind);

        evidence.answered(fixture.now());
        assertThat(evidence.isLeftBehind()).isFalse();
    }

    @Test
    void ignoresACallThatWasAdmittedBeforeTheLastOpening() {
        HealthEvidence evidence = call();
        evidence.countIfStalled(STALL, fixture.now());
        fixture.health.resilience4j().transitionToOpenState();
        fixture.health.resilience4j().transitionToClosedState();

        evidence.failed(STALL, BackendFailures.of(Reason.DEADLINE_EXCEEDED), fixture.now());

        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        assertThat(fixture.health.overdue()).isZero();
        call().succeeded(1, fixture.now());
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
    }

    @Test
    void stallsIfEnoughCallersLeaveAfterThreeTimesTheUsualTime() {
        learnUsualTime();
        for (int i = 0; i < 20; i++) {
            call().endedByCaller(2 * USUAL, fixture.now());
        }
        assertThat(fixture.health.state()).isEqualTo(State.CLOSED);

        for (int i = 0; i < 5; i++) {
            call().endedByCaller(4 * USUAL, fixture.now());
        }

        assertThat(fixture.health.state()).isEqualTo(State.OPEN);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void callersWhoLeaveAreNoEvidenceWhileTheUsualTimeIsUnknown() {
        for (int i = 0; i < 100; i++) {
            call().endedByCaller(ExchangeFixture.DEADLINE.toNanos(), fixture.now());
        }
        assertThat(fixture.health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void callersWhoLeaveAtOnceAreNoEvidenceAtAFastBackend() {
        for (int i = 0; i < 100; i++) {
            fixture.usualTime.record(TimeUnit.MILLISECONDS.toNanos(1), fixture.now());
        }
        for (int i = 0; i < 100; i++) {
            call().endedByCaller(TimeUnit.MILLISECONDS.toNanos(99), fixture.now());
        }
        assertThat(fixture.health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void backendIsAtFaultFromHalfItsDeadlineUnlessTheCallerShortenedIt() {
        Deadline own = new Deadline(0, false);
        assertThat(HealthEvidence.isBackendAtFault(STALL / 2, own, STALL)).isTrue();
        assertThat(HealthEvidence.isBackendAtFault(STALL / 2 - 1, own, STALL)).isFalse();
        assertThat(HealthEvidence.isBackendAtFault(STALL, new Deadline(0, true), STALL))
                .isFalse();
    }

    @Test
    void countsAnOverdueCallOnceUntilItsAnswerBegins() {
        HealthEvidence evidence = call();
        assertThat(evidence.dueNanos(1, fixture.now())).isEqualTo(STALL - 1);
        evidence.countIfStalled(STALL - 1, fixture.now());
        assertThat(fixture.health.overdue()).isZero();

        evidence.countIfStalled(STALL, fixture.now());
        evidence.countIfStalled(STALL + 1, fixture.now());
        assertThat(fixture.health.overdue()).isOne();
        assertThat(evidence.dueNanos(STALL + 1, fixture.now()))
                .as("judged again")
                .isEqualTo(STALL - 1);

        evidence.answered(fixture.now());
        assertThat(fixture.health.overdue()).isZero();
    }

    @Test
    void judgesACallAgainWhenTheLastAnswerIsAsOldAsTheStallTime() {
        HealthEvidence waiting = call();
        HealthEvidence answered = call();
        long later = STALL - TimeUnit.MILLISECONDS.toNanos(1);
        fixture.advance(Duration.ofNanos(later));
        answered.answered(fixture.now());
        fixture.advance(Duration.ofNanos(STALL - later));
        waiting.countIfStalled(STALL, fixture.now());

        assertThat(waiting.dueNanos(STALL, fixture.now())).isEqualTo(later);

        fixture.advance(Duration.ofNanos(later));
        assertThat(waiting.countIfStalled(STALL + later, fixture.now()))
                .as("overdue once")
                .isFalse();
        assertThat(waiting.dueNanos(STALL + later, fixture.now())).isEqualTo(STALL);
    }

    @Test
    void aRouteHangsIfItsCallsStallWhileTheBackendAnswersOthers() {
        HealthEvidence first = call();
        HealthEvidence second = call();
        HealthEvidence other = call();
        fixture.advance(ExchangeFixture.STALL);
        fixture.health.answered(fixture.health.enter(fixture.now(), false), fixture.now());

        assertThat(first.countIfStalled(STALL, fixture.now())).isTrue();
        assertThat(first.countIfStalled(STALL, fixture.now())).isFalse();
        assertThat(fixture.overdue.isHanging(fixture.now())).isFalse();
        second.countIfStalled(STALL, fixture.now());
        assertThat(fixture.overdue.isHanging(fixture.now())).isTrue();
        assertThat(fixture.health.state()).isEqualTo(State.CLOSED);

        other.answered(fixture.now());
        assertThat(fixture.overdue.isHanging(fixture.now())).isFalse();
    }

    @Test
    void aRouteDoesNotHangIfTheBackendAnswersNothing() {
        HealthEvidence first = call();
        HealthEvidence second = call();
        fixture.advance(ExchangeFixture.STALL);

        first.countIfStalled(STALL, fixture.now());
        second.countIfStalled(STALL, fixture.now());

        assertThat(fixture.overdue.isHanging(fixture.now())).isFalse();
    }

    @Test
    void aProbeThatIsAnsweredHalfOpensAndIsNoCall() {
        HealthEvidence evidence = probe();

        evidence.succeeded(1, fixture.now());

        assertThat(fixture.health.state()).isEqualTo(State.HALF_OPEN);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void aProbeIsGivenUpAfterItsPatience() {
        HealthEvidence evidence = probe();
        assertThat(evidence.isProbeGivenUp(STALL - 1, fixture.now())).isFalse();
        assertThat(evidence.isProbeGivenUp(STALL, fixture.now())).isTrue();

        evidence.ignored();
        assertThat(fixture.health.probes().underWay()).isZero();
        assertThat(fixture.health.state()).isEqualTo(State.OPEN);
    }

    private HealthEvidence probe() {
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofMillis(200));
        Probe probe = fixture.health.probes().tryStart(fixture.now(), 0, true);
        return HealthEvidence.ofProbe(
                fixture.health,
                Objects.requireNonNull(probe, "probe"),
                fixture.create().exchange(),
                fixture.now());
    }
}
