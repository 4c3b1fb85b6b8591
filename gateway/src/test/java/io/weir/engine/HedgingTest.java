package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.faults.ActiveFaults;
import io.weir.faults.FaultOrder;
import io.weir.faults.FaultScope;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFault;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.Priority;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Both attempts of a call run: whatever ends one of them, or both, and in any order. */
class HedgingTest {

    private final HedgedCall call = new HedgedCall();

    // ---------------------------------------------------------------- answers

    @Test
    void passesOnTheAnswerOfTheSecondAttemptIfItIsFirst() {
        call.startBoth();
        call.second().answers();

        assertThat(call.fixture.caller.events()).isEqualTo("answer 200");
        assertThat(call.first().cancelled).isOne();
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 won");
        assertThat(call.results).containsExactly(HedgeResult.STARTED, HedgeResult.WON);
        assertThat(call.record().attempts()).isEqualTo(2);
        assertThat(call.attempted).as("the amplification").containsExactly(true, false);
        assertThat(call.record().instance()).isSameAs(call.second().instance);
    }

    @Test
    void passesOnTheAnswerOfTheFirstAttemptIfItIsFirst() {
        call.startBoth();
        call.first().answers();

        assertThat(call.second().cancelled).isOne();
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 started");
        assertThat(call.results).containsExactly(HedgeResult.STARTED);
        assertThat(call.record().instance()).isSameAs(call.first().instance);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void passesOnOneOfTwoAnswersThatComeAtOnce(boolean firstIsRead) {
        call.startBoth();
        List<FakeAttempt> order =
                firstIsRead ? List.of(call.first(), call.second()) : List.of(call.second(), call.first());
        order.forEach(attempt -> attempt.beginsSmallAnswer(200));
        order.forEach(FakeAttempt::answers);

        assertThat(call.fixture.caller.events()).isEqualTo("answer 200");
        assertThat(order.getLast().cancelled).isOne();
        call.assertEndedCleanly();
    }

    @Test
    void answersInTimeWithoutASecondAttempt() {
        call.start();
        call.fixture.advance(HedgedCall.AFTER.minusMillis(1));
        call.first().answers();
        call.fixture.advance(HedgedCall.AFTER);

        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 not due");
        assertThat(call.fixture.attempts).hasSize(1);
        assertThat(call.results).isEmpty();
    }

    /** The head decides; a body that takes longer is none of the hedge's business. */
    @Test
    void sendsNoSecondAttemptAfterTheHeadOfTheAnswer() {
        call.start().first().begins(200);
        call.fixture.advance(HedgedCall.AFTER.multipliedBy(3));
        assertThat(call.fixture.attempts).hasSize(1);

        call.first().answers();
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 not due");
    }

    @Test
    void relaysAWinningAnswerThatComesInParts() {
        call.startBoth().second().begins(200);
        assertThat(call.fixture.caller.events()).isEqualTo("begin 200");
        assertThat(call.bulkhead.inUse()).isOne();
        call.fixture.advance(Duration.ofMillis(100));
        call.second().answers();

        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 won");
    }

    @Test
    void breaksOffAWinningAnswerThatFails() {
        call.startBoth().second().begins(200).fails();

        assertThat(call.fixture.caller.events()).isEqualTo("begin 200, reset");
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("connection-lost 200 won");
        assertThat(call.failuresOf(call.second())).isOne();
        assertThat(call.failuresOf(call.first())).isZero();
    }

    /** A retry would not replace it, since the route has none. */
    @Test
    void passesOnAFailureStatusThatIsNotRetried() {
        call.startBoth().second().beginsSmallAnswer(503).answers();

        assertThat(call.fixture.caller.events()).isEqualTo("answer 503");
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("503 won");
    }

    // ---------------------------------------------------------------- failures

    @ParameterizedTest
    @CsvSource({"0, 200 won", "1, 200 started"})
    void waitsForTheOtherAttemptIfOneFails(int failing, String outcome) {
        call.startBoth();
        FakeAttempt failed = call.fixture.attempts.get(failing);
        FakeAttempt other = call.fixture.attempts.get(1 - failing);
        failed.fails();
        assertThat(call.fixture.caller.events()).isEqualTo("nothing");
        assertThat(call.bulkhead.inUse()).isOne();

        other.answers();
        call.assertEndedCleanly();
        assertThat(call.fixture.attempts).as("neither is retried").hasSize(2);
        assertThat(call.failuresOf(failed)).as("evidence as ever").isOne();
        assertThat(call.failuresOf(other)).isZero();
        assertThat(call.record().instance()).isSameAs(other.instance);
        assertThat(call.outcome()).isEqualTo(outcome);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void waitsForTheOtherAttemptIfOneHasAnAnswerThatIsRetried(int failing) {
        call.withRetry().startBoth();
        call.fixture.attempts.get(failing).beginsSmallAnswer(503);
        assertThat(call.fixture.caller.events()).isEqualTo("nothing");
        call.fixture.attempts.get(1 - failing).answers();

        assertThat(call.fixture.caller.events()).isEqualTo("answer 200");
        call.assertEndedCleanly();
        assertThat(call.failuresOf(call.fixture.attempts.get(failing))).isOne();
        assertThat(call.fixture.attempts).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void refusesWithTheLastFailureIfBothFail(int firstToFail) {
        call.startBoth();
        call.emptyBudget();
        call.fixture.attempts.get(firstToFail).fails();
        call.fixture.attempts.get(1 - firstToFail).fails();

        assertThat(call.fixture.caller.events()).isEqualTo("refuse connection-lost");
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("connection-lost 502 started");
        assertThat(call.failuresOf(call.first())).isOne();
        assertThat(call.failuresOf(call.second())).isOne();
    }

    @Test
    void retriesAtTheThirdInstanceIfBothFail() {
        call.withRetry().startBoth();
        call.budget.deposit();
        call.first().fails();
        call.second().fails();
        call.fixture.advance(Duration.ofMillis(20));

        assertThat(call.fixture.attempts).hasSize(3);
        Set<Object> used = new HashSet<>();
        call.fixture.attempts.forEach(attempt -> used.add(attempt.instance.identity()));
        assertThat(used).as("instances").hasSize(3);
        call.fixture.advance(HedgedCall.AFTER.multipliedBy(2));
        assertThat(call.fixture.attempts).as("a retry has no hedge").hasSize(3);

        call.fixture.attempt().answers();
        call.assertEndedCleanly();
        assertThat(call.outcome()).as("the hedge is still in the record").isEqualTo("200 started");
    }

    @Test
    void waitsForTheHedgeIfTheTimeOfTheFirstAttemptIsOver() {
        call.withAttemptTimeout(Duration.ofMillis(200)).startBoth();
        call.fixture.advance(Duration.ofMillis(130));
        assertThat(call.first().cancelled).isOne();
        assertThat(call.second().cancelled).isZero();

        call.second().answers();
        call.assertEndedCleanly();
        assertThat(call.record().status()).isEqualTo(200);
        assertThat(call.failuresOf(call.first())).isOne();
    }

    @Test
    void goesOnWithTheFirstAttemptIfTheSecondCannotBeSent() {
        call.start();
        call.fixture.withFailingStart();
        call.hedgeIsDue();
        assertThat(call.bulkhead.inUse()).isOne();
        call.first().answers();

        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 started");
    }

    @Test
    void goesOnWithTheFirstAttemptIfTheSecondDoesNotConnect() {
        call.start().hedgeIsDue();
        call.fixture.advance(ExchangeFixture.DEADLINE.dividedBy(2));
        assertThat(call.second().cancelled).isOne();
        call.first().answers();

        call.assertEndedCleanly();
        assertThat(call.record().status()).isEqualTo(200);
        assertThat(call.failuresOf(call.second())).isOne();
    }

    // ---------------------------------------------------------------- caller, deadline, gateway

    @Test
    void endsBothIfTheCallerLeaves() {
        call.startBoth();
        call.exchange().callerLeft();

        assertThat(call.fixture.attempts)
                .allSatisfy(one -> assertThat(one.cancelled).isOne());
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("client-closed 499 started");
        assertThat(call.failuresOf(call.first()) + call.failuresOf(call.second()))
                .isZero();
    }

    @Test
    void endsBothAtTheDeadline() {
        call.startBoth();
        call.fixture.advance(ExchangeFixture.DEADLINE.minus(HedgedCall.AFTER));

        assertThat(call.fixture.caller.events()).isEqualTo("refuse deadline-exceeded");
        assertThat(call.fixture.attempts)
                .allSatisfy(one -> assertThat(one.cancelled).isOne());
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("deadline-exceeded 504 started");
        assertThat(call.failuresOf(call.first())).isOne();
        assertThat(call.failuresOf(call.second()))
                .as("it had more than half of it")
                .isOne();
    }

    @Test
    void endsBothIfTheGatewayStops() {
        call.startBoth();
        call.fixture.engine.endAll();
        call.fixture.channel.runPendingTasks();

        assertThat(call.fixture.caller.events()).isEqualTo("refuse shutting-down");
        call.assertEndedCleanly();
    }

    /** The time for which both ran counts once. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void recordsTheTimeWithTheBackendOnce(int winner) {
        call.startBoth();
        call.fixture.advance(Duration.ofMillis(40));
        assertThat(Duration.ofNanos(call.exchange().backendNanosSoFar())).isEqualTo(HedgedCall.AFTER.plusMillis(40));
        call.fixture.attempts.get(winner).answers();

        call.assertEndedCleanly();
        assertThat(Duration.ofNanos(call.record().backendNanos())).isEqualTo(HedgedCall.AFTER.plusMillis(40));
    }

    @Test
    void recordsTheTimeWithTheBackendOnceIfTheCallerLeaves() {
        call.startBoth();
        call.fixture.advance(Duration.ofMillis(40));
        call.exchange().callerLeft();

        call.assertEndedCleanly();
        assertThat(Duration.ofNanos(call.record().backendNanos())).isEqualTo(HedgedCall.AFTER.plusMillis(40));
    }

    // ---------------------------------------------------------------- evidence

    @Test
    void takesACancelledAttemptForSlowAndNotForFailed() {
        call.startBoth();
        Instance slow = call.first().instance;
        call.fixture.advance(Duration.ofMillis(20));
        call.second().answers();

        call.assertEndedCleanly();
        assertThat(call.failuresOf(call.first())).isZero();
        assertThat(slow.failedCalls()).isZero();
        assertThat(Duration.ofNanos(slow.lastLatencyNanos()))
                .as("its own slowness")
                .isEqualTo(HedgedCall.AFTER.plusMillis(20));
        assertThat(call.fixture.limit.ended)
                .as("no sample of the limit")
                .containsExactlyInAnyOrder(Evidence.NONE, Evidence.ANSWERED);
    }

    @Test
    void countsACancelledAttemptAsOverdueUntilItIsCancelled() {
        call.startBoth();
        call.fixture.advance(ExchangeFixture.STALL);
        assertThat(call.first().instance.health().overdue()).isOne();
        call.second().answers();

        call.assertEndedCleanly();
        assertThat(call.failuresOf(call.first())).as("a stall is no failure").isZero();
    }

    @Test
    void isOfTheNextLowerClass() {
        call.startBoth();

        assertThat(call.second().admission().priority()).isEqualTo(Priority.SHEDDABLE);
        assertThat(call.exchange().attemptPriority()).isEqualTo(Priority.SHEDDABLE);
        call.exchange().callerLeft();
        call.assertEndedCleanly();
    }

    @Test
    void countsBothAttemptsAmongThoseOfTheCaller() {
        call.fixture.withCallsPerKey(2, true);
        call.startBoth();
        call.first().fails();
        call.second().answers();

        call.assertEndedCleanly();
    }

    // ---------------------------------------------------------------- changes in the middle

    @ParameterizedTest
    @CsvSource({"0, 200 won", "1, 200 started"})
    void endsTheAttemptWhoseInstanceHasLeft(int leaving, String outcome) {
        call.startBoth();
        FakeAttempt gone = call.fixture.attempts.get(leaving);
        FakeAttempt other = call.fixture.attempts.get(1 - leaving);
        Set<Pool> used = new HashSet<>();
        call.fixture.engine.findUsedPools(used::addAll);
        call.fixture.channel.runPendingTasks();
        assertThat(used)
                .as("a drain waits for both")
                .contains(call.first().instance.pool(), call.second().instance.pool());
        List<Instance> left = call.instances.get().all().stream()
                .filter(one -> !one.isSameAs(gone.instance))
                .toList();
        Instances next = Instances.of(
                left, call.health, LoadBalancingProperties.defaults(), bound -> 0, call.fixture.engine::leave);
        next.takeOver();
        call.instances.replace(next);
        call.fixture.engine.endUsersOf(gone.instance.pool());
        call.fixture.channel.runPendingTasks();

        assertThat(gone.cancelled).isOne();
        assertThat(other.cancelled).isZero();
        other.answers();
        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo(outcome);
        assertThat(gone.instance.inFlight()).isZero();
    }

    @Test
    void staysAsItIsIfAnInstanceOpensMeanwhile() {
        call.startBoth();
        call.first().instance.health().resilience4j().transitionToOpenState();
        call.fixture.channel.runPendingTasks();
        call.fixture.advance(Duration.ofMillis(100));
        assertThat(call.fixture.attempts).hasSize(2);
        call.second().answers();

        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 won");
    }

    @Test
    void givesThePermitsOfARouteThatHangsBack() {
        RouteHealth route = call.withOtherRoute();
        call.startBoth();
        call.fixture.engine.giveBackPermits(route);
        call.fixture.channel.runPendingTasks();
        assertThat(call.bulkhead.inUse()).isZero();

        call.exchange().callerLeft();
        call.assertEndedCleanly();
    }

    // ---------------------------------------------------------------- injected faults

    @Test
    void hedgesAnInjectedLatency() {
        inject(FaultType.LATENCY, Duration.ofSeconds(1));
        call.start();
        call.fixture.engine.inject(null);
        call.hedgeIsDue();
        assertThat(call.results).containsExactly(HedgeResult.STARTED);
        assertThat(call.fixture.attempts).as("the second one is real").hasSize(1);
        call.fixture.attempt().connects().answers();

        call.assertEndedCleanly();
        assertThat(call.outcome()).isEqualTo("200 won");
    }

    /** The latency is over at the moment of the hedge, or while both run. */
    @ParameterizedTest
    @ValueSource(ints = {80, 120})
    void sendsAnAttemptWhoseInjectedLatencyIsOver(int millis) {
        inject(FaultType.LATENCY, Duration.ofMillis(millis));
        call.start();
        call.fixture.engine.inject(null);
        call.hedgeIsDue();
        call.fixture.advance(Duration.ofMillis(40));
        assertThat(call.fixture.attempts).hasSize(2);
        call.fixture.attempts.get(1).connects().answers();

        call.assertEndedCleanly();
        assertThat(call.record().status()).isEqualTo(200);
        assertThat(call.record().attempts()).isEqualTo(2);
    }

    private void inject(FaultType type, @Nullable Duration latency) {
        FaultOrder order = new FaultOrder(
                new FaultScope(null, "orders", null), type, 100, null, null, latency, 0, 0, Duration.ofMinutes(1));
        InjectedFault started = new InjectedFault(
                1,
                order,
                "alice",
                Instant.EPOCH,
                call.fixture.now() + Duration.ofMinutes(1).toNanos());
        call.fixture.engine.inject(new ActiveFaults(List.of(started), () -> 0));
    }
}
