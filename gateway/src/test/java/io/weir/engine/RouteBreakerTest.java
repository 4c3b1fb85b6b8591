package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.health.RouteHealth;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The breaker of a route that fails alone, in an exchange with simulated time. */
class RouteBreakerTest {

    private static final Duration INTERVAL = Duration.ofMillis(200);

    private final ExchangeFixture fixture = new ExchangeFixture();
    private final RouteHealth route = fixture.withOtherRoute();

    private void open() {
        route.health().resilience4j().transitionToOpenState();
    }

    @Test
    void refusesTheCallsOfAnOpenRouteAndNamesIt() {
        open();
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.ended.getFirst().detail()).contains("the route orders");
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.health.state()).isEqualTo(State.CLOSED);
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsACopyOfARefusedCallAsAProbe() {
        open();
        fixture.advance(INTERVAL);
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.probes).hasSize(1);
        Objects.requireNonNull(fixture.lastProbe).answered(fixture.now());
        assertThat(route.health().state()).isEqualTo(State.HALF_OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void servesACallAsTheProbeWhereNothingCanBeCopied() {
        open();
        fixture.advance(INTERVAL.multipliedBy(2));
        fixture.withRequestBody().start();
        assertThat(fixture.bulkhead.inUse()).as("outside the limit").isZero();
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(route.health().state()).isEqualTo(State.HALF_OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesACallWhoseRouteOpensWhileItWaits() {
        fixture.takePermit();
        fixture.start();
        open();
        fixture.freePermit();
        fixture.advance(Duration.ZERO);

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.attempts).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesNothingWithoutEnforcement() {
        open();
        fixture.withoutEnforcement().start();
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.observer.wouldRefuse).contains(Reason.CIRCUIT_OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void judgesACallAgainThatNoAnswerOfOthersFollowedAtFirst() {
        ExchangeRecord record = new ExchangeRecord(fixture.route(), fixture.caller, 0);
        long sentAt = fixture.now();
        List<RouteBreaker> calls = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            RouteBreaker call = Objects.requireNonNull(RouteBreaker.of(record));
            assertThat(call.enter(sentAt)).isTrue();
            calls.add(call);
        }
        long judgedAt = sentAt + ExchangeFixture.STALL.toNanos();
        calls.forEach(call -> call.stalled(sentAt, sentAt, judgedAt));
        assertThat(route.isClosed()).as("nothing was answered").isTrue();

        fixture.health.answered(fixture.health.enter(sentAt, false), judgedAt);
        calls.forEach(call -> call.stalled(sentAt, judgedAt, judgedAt + ExchangeFixture.STALL.toNanos()));
        assertThat(route.health().state()).isEqualTo(State.OPEN);
    }

    @Test
    void givesThePermitOfACallThatHangsBackOnceWhenItIsAnsweredLater() {
        giveBack();
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        fixture.assertEndedCleanly();
    }

    @Test
    void givesThePermitOfACallThatHangsBackOnceWhenItsCallerLeaves() {
        giveBack();
        fixture.exchange().callerLeft();

        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        fixture.assertEndedCleanly();
    }

    @Test
    void givesThePermitOfACallThatHangsBackOnceWhenItsDeadlinePasses() {
        giveBack();
        fixture.advance(ExchangeFixture.DEADLINE);

        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        fixture.assertEndedCleanly();
    }

    private void giveBack() {
        fixture.start();
        fixture.attempt().connects();
        assertThat(fixture.bulkhead.inUse()).isEqualTo(1);

        fixture.engine.giveBackPermits(route);
        fixture.engine.giveBackPermits(route);
        fixture.advance(Duration.ZERO);

        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.ended).as("the caller waits on").isEmpty();
    }
}
