package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.weir.health.HealthChecks.Verdict;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The table of an instance's state and its check's result, in virtual time. */
class HealthChecksTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final String DOWN = "answered 503";
    private static final int LIMIT = 60;

    private static final HealthSettings SETTINGS = new HealthSettings(
            new CircuitBreakerProperties(
                    50, 100, null, SlidingWindowType.COUNT_BASED, null, null, 5, null, 5, Set.of(), Set.of(), true),
            new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null),
            SECOND);
    private static final HealthCheckProperties CHECK =
            HealthCheckProperties.ofPath("/up", Duration.ofSeconds(2), Duration.ofSeconds(1), 2, 3);

    private final AtomicInteger givenBack = new AtomicInteger();
    private long now = SECOND;
    private final Health backend = health("the backend");
    private List<Health> members = List.of();
    private HealthChecks checks = new HealthChecks("orders", members, CHECK);

    private Health health(String address) {
        Health.Permits permits = new Health.Permits() {

            @Override
            public int limit() {
                return LIMIT;
            }

            @Override
            public void limitChanged() {}

            @Override
            public void giveBack(int calls) {
                givenBack.addAndGet(calls);
            }
        };
        return Health.ofInstance("orders", address, SETTINGS, permits, () -> now, () -> 0.5);
    }

    private void start(int instances) {
        members = IntStream.range(0, instances)
                .mapToObj(i -> health("orders-" + i))
                .toList();
        if (instances > 1) {
            double[] shares = new double[instances];
            Arrays.fill(shares, 1.0 / instances);
            new HealthGroup(backend, members, shares, Integer.MAX_VALUE, () -> {}).takeOver();
        }
        checks = new HealthChecks("orders", members, CHECK);
    }

    private void fails(int index, int times) {
        for (int i = 0; i < times; i++) {
            checks.failed(index, DOWN, now += SECOND);
        }
    }

    private void passes(int index, int times) {
        for (int i = 0; i < times; i++) {
            checks.passed(index, now += SECOND);
        }
    }

    private Verdict verdict(int index) {
        return Objects.requireNonNull(members.get(index).check()).verdict();
    }

    private State state(int index) {
        return members.get(index).state();
    }

    /** Calls fail, at least five in a row. */
    private void ejectByCalls(int index) {
        Health member = members.get(index);
        members.stream().filter(peer -> peer != member).filter(Health::isIn).forEach(peer -> succeed(peer, 20));
        for (int i = 0; i < 40 && member.isIn(); i++) {
            member.failed(member.enter(now, false), MILLIS, new BackendFailure("status-500"), now);
        }
        assertThat(member.state()).isEqualTo(State.OPEN);
    }

    private void succeed(Health member, int times) {
        for (int i = 0; i < times; i++) {
            member.succeeded(member.enter(now, false), MILLIS, now);
        }
    }

    private @Nullable Probe probe(int index) {
        now += SECOND;
        return members.get(index).probes().tryStart(now, MILLIS, false);
    }

    private void answerProbe(int index) {
        members.get(index).probes().answered(Objects.requireNonNull(probe(index)), now);
    }

    // ---------------------------------------------------------------- in

    @Test
    void takesAnInstanceOutAfterItsThresholdOfFailedChecks() {
        start(3);
        fails(0, 2);
        assertThat(state(0)).as("two failed checks").isEqualTo(State.CLOSED);
        assertThat(verdict(0)).isEqualTo(Verdict.UNKNOWN);

        fails(0, 1);

        assertThat(state(0)).isEqualTo(State.OPEN);
        assertThat(members.get(0).why()).isEqualTo("its health check fails: GET /up answered 503, 3 times in a row");
        assertThat(backend.state()).isEqualTo(State.CLOSED);
        assertThat(backend.caps().maxCalls()).as("limit").isEqualTo(LIMIT * 2 / 3);
    }

    @Test
    void neverTakesAnInstanceOutForFailedChecksThatAreNotInARow() {
        start(2);
        for (int i = 0; i < 100; i++) {
            fails(0, 2);
            passes(0, 1);
            assertThat(state(0)).isEqualTo(State.CLOSED);
        }
    }

    /** An instance announces by its check that it is about to stop, while it still answers. */
    @Test
    void takesAnInstanceOutWhoseCallsSucceed() {
        start(2);
        for (int i = 0; i < 3; i++) {
            succeed(members.get(0), 100);
            fails(0, 1);
        }
        assertThat(state(0)).isEqualTo(State.OPEN);
    }

    @Test
    void leavesTheCallsUnderWayInAnInstanceThatFailsItsCheck() {
        start(2);
        Generation call = Objects.requireNonNull(members.get(0).enter(now, true));
        fails(0, 3);

        assertThat(givenBack).hasValue(0);
        assertThat(members.get(0).hasHangingCalls()).isFalse();
        assertThat(call.leave()).as("the call gives its permit back").isTrue();
    }

    @Test
    void givesBackThePermitsOfCallsInAnInstanceThatAnswersNothing() {
        start(2);
        Generation call = Objects.requireNonNull(members.get(0).enter(now, true));
        for (int i = 0; i < 3; i++) {
            long sentAt = now;
            checks.unanswered(0, "gave no answer", sentAt, now += SECOND);
        }
        assertThat(state(0)).isEqualTo(State.OPEN);
        assertThat(members.get(0).hasHangingCalls()).isTrue();
        assertThat(givenBack).hasValue(1);
        assertThat(call.leave()).as("already given back").isFalse();
    }

    /** It is busy: its check waits behind its calls. */
    @Test
    void ignoresUnansweredChecksOfAnInstanceThatAnswersCalls() {
        start(2);
        for (int i = 0; i < 100; i++) {
            long sentAt = now;
            Health member = members.get(0);
            member.answered(member.enter(now, false), now += SECOND);
            checks.unanswered(0, "gave no answer", sentAt, now += SECOND);
        }
        assertThat(state(0)).isEqualTo(State.CLOSED);
    }

    // ---------------------------------------------------------------- out by its check

    @Test
    void bringsAnInstanceBackWithARampAfterItsThresholdOfPassedChecks() {
        start(2);
        fails(0, 3);
        passes(0, 1);
        assertThat(state(0)).as("one passed check").isEqualTo(State.OPEN);
        fails(0, 1);
        passes(0, 1);
        assertThat(state(0)).as("not in a row").isEqualTo(State.OPEN);

        passes(0, 1);

        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
        assertThat(members.get(0).why()).isEqualTo("its health check passes");
        assertThat(backend.caps().maxCalls()).as("ramp").isEqualTo(LIMIT / 2 + 5);
    }

    @Test
    void startsNoProbeOfAnInstanceThatItsCheckKeepsOut() {
        start(2);
        fails(0, 3);

        assertThat(probe(0)).isNull();
        assertThat(members.get(0).probes().tryStartLastResort(now, MILLIS)).isNull();
        assertThat(members.get(0).probes().tryStartRare(now, MILLIS)).isNull();
        assertThat(members.get(0).probes().isLastResortDue(now, MILLIS)).isFalse();
    }

    @Test
    void answersToCallsUnderWayDoNotBringBackAnInstanceThatFailsItsCheck() {
        start(2);
        Generation call = members.get(0).enter(now, true);
        fails(0, 3);
        members.get(0).succeeded(call, SECOND, now);
        assertThat(state(0)).isEqualTo(State.OPEN);
    }

    // ---------------------------------------------------------------- out by its calls

    @Test
    void passedChecksDoNotBringBackAnInstanceThatItsCallsHaveEjected() {
        start(2);
        ejectByCalls(0);
        passes(0, 50);
        assertThat(state(0)).isEqualTo(State.OPEN);

        answerProbe(0);

        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void needsAProbeAfterThePassedCheckWhereCallsAndCheckHaveFailed() {
        start(2);
        ejectByCalls(0);
        fails(0, 3);
        assertThat(probe(0)).as("no probe while the check fails").isNull();
        passes(0, 2);
        assertThat(state(0)).isEqualTo(State.OPEN);

        answerProbe(0);

        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void needsAPassedCheckAfterTheProbeWhereCallsAndCheckHaveFailed() {
        start(2);
        ejectByCalls(0);
        Probe early = Objects.requireNonNull(probe(0));
        fails(0, 3);
        members.get(0).probes().answered(early, now);
        assertThat(state(0)).isEqualTo(State.OPEN);

        passes(0, 2);

        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
    }

    // ---------------------------------------------------------------- ignored

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void ignoresChecksThatFailEverywhere(int instances) {
        start(instances);
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < instances; i++) {
                fails(i, 1);
            }
        }
        int last = instances - 1;
        assertThat(state(last)).as("the last one is never taken out").isEqualTo(State.CLOSED);
        for (int i = 0; i < last; i++) {
            assertThat(state(i)).isEqualTo(State.OPEN);
            answerProbe(i);
            assertThat(state(i)).as("a probe brings the others back").isEqualTo(State.HALF_OPEN);
            fails(i, 1);
            assertThat(members.get(i).isIn()).as("and they stay").isTrue();
        }
        assertThat(members).allSatisfy(member -> {
            HealthChecks.Status status = Objects.requireNonNull(member.check());
            assertThat(status.verdict()).isEqualTo(Verdict.FAILING);
            assertThat(status.isIgnored()).isTrue();
            assertThat(status.lastFailure()).isEqualTo(DOWN);
        });
        assertThat(backend.state()).isEqualTo(State.CLOSED);
    }

    /** All are about to pass: the first one must not get all of the traffic. */
    @Test
    void giveTheOtherInstancesTheirThresholdAgainWhenTheFirstOnePasses() {
        start(3);
        for (int i = 0; i < 3; i++) {
            fails(i, 3);
        }
        answerProbe(0);
        answerProbe(1);

        passes(0, 2);

        assertThat(members).allMatch(Health::isIn);
        fails(1, 2);
        fails(2, 2);
        assertThat(members).allMatch(Health::isIn);
        fails(2, 1);
        assertThat(state(2)).as("its threshold, anew").isEqualTo(State.OPEN);
        passes(1, 1);
        assertThat(members.get(1).isIn()).isTrue();
    }

    @Test
    void neverTakesOutTheInstanceThatIsLeftAfterAnEjection() {
        start(2);
        ejectByCalls(0);
        fails(1, 10);
        assertThat(members.get(1).isIn()).isTrue();

        answerProbe(0);
        fails(1, 3);
        assertThat(members.get(1).isIn()).as("its threshold, anew").isTrue();
        fails(1, 1);

        assertThat(state(1)).as("the other one is back").isEqualTo(State.OPEN);
    }

    @Test
    void probesTheInstanceThatItsCheckKeepsOutWhenAllOthersAreEjected() {
        start(2);
        fails(0, 3);
        ejectByCalls(1);
        assertThat(backend.state()).isEqualTo(State.OPEN);

        answerProbe(0);

        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
        assertThat(backend.state()).isEqualTo(State.CLOSED);
        fails(0, 10);
        assertThat(members.get(0).isIn()).as("it is the last one").isTrue();
    }

    // ---------------------------------------------------------------- operators and reloads

    @ParameterizedTest
    @EnumSource(
            value = State.class,
            names = {"FORCED_OPEN", "DISABLED"})
    void leavesAForcedStateAlone(State forced) {
        start(2);
        if (forced == State.FORCED_OPEN) {
            members.get(0).operator().forceOpen();
        } else {
            members.get(0).operator().forceClosed();
        }
        fails(0, 5);
        assertThat(state(0)).isEqualTo(forced);
        passes(0, 2);
        assertThat(state(0)).isEqualTo(forced);

        fails(0, 5);
        members.get(0).operator().release();
        assertThat(state(0)).isEqualTo(State.CLOSED);
        fails(0, 1);
        assertThat(state(0)).as("the next check after the release").isEqualTo(State.OPEN);
    }

    @Test
    void aSuccessorTakesTheVerdictsOver() {
        start(2);
        fails(0, 3);
        checks = new HealthChecks("orders", members, CHECK);
        checks.takeOver(index -> null);
        passes(1, 1);
        assertThat(state(0)).isEqualTo(State.OPEN);
        passes(0, 2);
        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void releasedInstancesReturnWithAProbe() {
        start(2);
        fails(0, 3);
        checks.release(now);
        assertThat(members.get(0).check()).isNull();
        assertThat(state(0)).isEqualTo(State.OPEN);
        answerProbe(0);
        assertThat(state(0)).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void expectsStatusesBelow400UnlessOthersAreListed() {
        assertThat(CHECK.isExpected(204)).isTrue();
        assertThat(CHECK.isExpected(399)).isTrue();
        assertThat(CHECK.isExpected(400)).isFalse();
        HealthCheckProperties listed = new HealthCheckProperties(
                CheckMode.PATH, "/up", null, Duration.ofSeconds(2), Duration.ofSeconds(1), 2, 3, Set.of(200, 503));
        assertThat(listed.isExpected(503)).isTrue();
        assertThat(listed.isExpected(204)).isFalse();
    }
}
