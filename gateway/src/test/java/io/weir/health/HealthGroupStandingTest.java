package io.weir.health;

import static io.weir.health.HealthGroupFixture.FAST;
import static io.weir.health.HealthGroupFixture.MILLIS;
import static io.weir.health.HealthGroupFixture.SECOND;
import static io.weir.health.HealthGroupFixture.UNLIMITED;
import static io.weir.health.HealthGroupFixture.equalShares;
import static io.weir.health.HealthGroupFixture.failure;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The state of a backend and the limit on its calls, as they follow from its instances. */
class HealthGroupStandingTest {

    private static final HealthSettings DEFAULTS = HealthGroupFixture.settings(20, 5, 100);

    private final HealthGroupFixture orders = HealthGroupFixture.of(3);

    private static HealthGroupFixture capped(int instances, int maxCallsEach) {
        return new HealthGroupFixture(DEFAULTS, maxCallsEach, equalShares(instances));
    }

    // ---------------------------------------------------------------- transitions

    @Test
    void theBackendIsOpenWhileAllInstancesAre() {
        orders.member(0).operator().openNow();
        orders.member(1).operator().openNow();
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);

        orders.member(2).operator().openNow();

        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
        assertThat(orders.backend.why()).isEqualTo("all instances are open; the last: opened through Resilience4j");
        assertThat(orders.opened).isEqualTo(1);

        orders.member(1).operator().halfOpenNow();

        assertThat(orders.backend.state()).as("without a ramp").isEqualTo(State.CLOSED);
        assertThat(orders.backend.why()).isEqualTo("an instance answers again");
    }

    @Test
    void forgetsTheResultsOfAnInstanceThatOpens() {
        orders.play(0, "FFFS");
        orders.succeed(1, 6);
        Generation generation = orders.backend.generation();

        orders.member(0).operator().openNow();

        assertThat(orders.backend.rates().getTotalNumberOfCalls()).isZero();
        assertThat(orders.backend.generation()).as("calls under way").isSameAs(generation);

        orders.succeed(1, 6);
        orders.member(0).operator().halfOpenNow();
        assertThat(orders.backend.rates().getTotalNumberOfCalls())
                .as("after a return")
                .isEqualTo(6);
    }

    @Test
    void opensAllAtOnceAndDerivesNothingUntilTheLastOneIsOpen() {
        List<String> changes = new ArrayList<>();
        orders.members.forEach(member -> member.whenChanged((from, to, why, isWithPeers) ->
                changes.add("%s %s: %s, with peers: %s".formatted(from, to, why, isWithPeers))));
        List<Boolean> backendIsIn = new ArrayList<>();
        orders.onChange = () -> backendIsIn.add(orders.backend.isIn());

        orders.backend.operator().openNow();

        assertThat(changes).hasSize(3).containsOnly("CLOSED OPEN: opened through Resilience4j, with peers: true");
        assertThat(backendIsIn).hasSizeGreaterThanOrEqualTo(3).containsOnly(false);
        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.members).extracting(Health::ejections).containsOnly(0L);
        assertThat(orders.backend.why()).isEqualTo("opened through Resilience4j");
        assertThat(orders.opened).isEqualTo(1);
        assertThat(orders.group.isOpeningAll()).isFalse();
    }

    @Test
    void anInstanceThatIsOpenAlreadyKeepsItsEvidence() {
        orders.succeed(1, 62);
        orders.fail(0, 5);
        long ejectedAt = orders.now;
        orders.now += SECOND;

        orders.backend.operator().openNow();

        assertThat(orders.member(0).why()).startsWith("failing alone");
        assertThat(orders.member(0).nanosInState()).isEqualTo(orders.now - ejectedAt);
        assertThat(orders.member(1).why()).isEqualTo("opened through Resilience4j");
    }

    @Test
    void anInstanceThatReturnsWhileAllOpenClosesTheBackend() {
        orders.onChange = () -> {
            if (orders.member(2).present() instanceof HealthState.Open) {
                orders.onChange = () -> {};
                orders.member(0).operator().halfOpenNow();
            }
        };
        List<Generation> calls = orders.enter(0, 5);
        long sentAt = orders.now;
        orders.now += SECOND;

        calls.forEach(call -> orders.stall(0, call, sentAt));

        assertThat(orders.states()).containsExactly(State.HALF_OPEN, State.OPEN, State.OPEN);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        assertThat(orders.backend.caps().maxCalls()).isEqualTo(5);
    }

    /** Another thread's transition comes between the look at the instances and its effect. */
    @Test
    void derivesTheStateAgainIfAnInstanceHasReturnedMeanwhile() {
        orders.member(0).operator().openNow();
        orders.member(1).operator().openNow();
        orders.onChange = () -> {
            orders.onChange = () -> {};
            orders.member(0).operator().halfOpenNow();
        };

        orders.member(2).operator().openNow();

        assertThat(orders.states()).containsExactly(State.HALF_OPEN, State.OPEN, State.OPEN);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        assertThat(orders.backend.caps().maxCalls()).isEqualTo(5);
        assertThat(orders.backend.caps().limitShare()).isZero();
    }

    @Test
    void derivesTheStateAgainIfTheLastInstanceHasOpenedMeanwhile() {
        orders.member(0).operator().openNow();
        orders.onChange = () -> {
            orders.onChange = () -> {};
            orders.member(2).operator().openNow();
        };

        orders.member(1).operator().openNow();

        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
        assertThat(orders.backend.why()).startsWith("all instances are open");
        assertThat(orders.opened).isEqualTo(1);
    }

    /** A reload comes between the look at the backend's state and its change. */
    @Test
    void derivesTheStateAgainIfTheStateOfTheBackendIsReplacedMeanwhile() {
        orders.member(0).operator().openNow();
        orders.member(1).operator().openNow();
        orders.onChange = () -> {
            orders.onChange = () -> {};
            orders.backend.role().lead(orders.group);
        };

        orders.member(2).operator().openNow();

        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
    }

    @Test
    void tellsOfEachChangeOfTheInstancesThatAreIn() {
        List<Integer> limits = new ArrayList<>();
        orders.onChange = () -> limits.add(orders.group.maxCalls(orders.limit));

        orders.member(0).operator().openNow();
        orders.member(0).operator().halfOpenNow();
        orders.now += SECOND;
        orders.member(0).permits(orders.now);

        assertThat(limits).containsExactly(40, 45, UNLIMITED);
    }

    @Test
    void noHealthCheckKeepsAnInstanceOutOnceNoneIsIn() {
        orders.member(0).verdict().failed("its health check fails", false, orders.now);
        orders.member(1).operator().openNow();
        assertThat(orders.member(0).isHeldByCheck()).isTrue();

        orders.member(2).operator().openNow();

        assertThat(orders.member(0).isHeldByCheck()).isFalse();
        assertThat(orders.states()).containsOnly(State.OPEN);
        orders.now += SECOND;
        assertThat(orders.member(0).probes().tryStart(orders.now, 0, false))
                .as("probes decide")
                .isNotNull();
    }

    // ---------------------------------------------------------------- operators

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void forcesAndReleasesAllInstancesExceptThoseThatAnotherOperatorHasDrained(boolean isOpen) {
        orders.member(0).operator().drain();
        orders.member(1).operator().openNow();
        if (isOpen) {
            orders.backend.operator().forceOpen();
        } else {
            orders.backend.operator().forceClosed();
        }
        State forced = isOpen ? State.FORCED_OPEN : State.DISABLED;
        assertThat(orders.member(0).isDrained()).isTrue();
        assertThat(orders.states()).containsExactly(State.FORCED_OPEN, forced, forced);
        assertThat(orders.backend.state()).isEqualTo(forced);

        orders.backend.operator().release();

        assertThat(orders.member(0).isDrained()).isTrue();
        assertThat(orders.states()).containsExactly(State.FORCED_OPEN, State.CLOSED, State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void aDrainedInstanceReturnsInTheStateThatAnOperatorForcesOnTheBackend() {
        orders.member(0).operator().drain();
        orders.member(1).operator().drain();
        orders.backend.operator().forceOpen();

        orders.member(0).operator().restore();
        assertThat(orders.member(0).word()).isEqualTo("forced-open");
        orders.backend.operator().release();
        orders.member(1).operator().restore();

        assertThat(orders.states()).containsExactly(State.CLOSED, State.HALF_OPEN, State.CLOSED);
    }

    /** The instances are released first, and the backend last. */
    @Test
    void aReleaseShowsThatAllInstancesHaveOpenedMeanwhile() {
        orders.backend.operator().forceClosed();
        orders.onChange = () -> {
            if (orders.states().equals(List.of(State.CLOSED, State.CLOSED, State.CLOSED))) {
                orders.onChange = () -> {};
                orders.members.forEach(one -> one.operator().openNow());
            }
        };

        orders.backend.operator().release();

        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
    }

    @Test
    void halfOpensTheInstancesThatAreOpen() {
        orders.member(0).operator().openNow();
        orders.member(1).operator().drain();

        orders.backend.operator().halfOpenNow();

        assertThat(orders.states()).containsExactly(State.HALF_OPEN, State.FORCED_OPEN, State.CLOSED);
    }

    // ---------------------------------------------------------------- other members

    @Test
    void anInstanceThatHasLeftChangesNothingAnyMore() {
        Health left = orders.member(0);
        Generation before = orders.enter(0);
        Health joined = orders.instance("orders-3");
        HealthGroup next = new HealthGroup(
                orders.backend,
                List.of(orders.member(1), orders.member(2), joined),
                equalShares(3),
                UNLIMITED,
                () -> {});
        next.takeOver();
        orders.play(1, "S");

        left.answered(before, orders.now);
        left.failed(before, FAST, failure(), orders.now);
        left.operator().openNow();

        assertThat(orders.backend.rates().getTotalNumberOfCalls())
                .as("results of the members")
                .isEqualTo(1);
        assertThat(orders.backend.caps().maxCalls()).isEqualTo(UNLIMITED);
        assertThat(left.caps().isAtCap()).as("it has no group").isFalse();
        joined.operator().openNow();
        orders.member(1).operator().openNow();
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        orders.member(2).operator().openNow();
        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
    }

    @Test
    void derivesTheStateFromItsMembersWhenItTakesOver() {
        orders.members.forEach(one -> one.operator().openNow());
        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
        List<Health> members = List.of(orders.member(0), orders.instance("orders-3"));

        new HealthGroup(orders.backend, members, equalShares(2), UNLIMITED, () -> {}).takeOver();

        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        assertThat(orders.backend.caps().maxCalls()).isEqualTo(30);
    }

    @Test
    void itsMembersStayIfItTakesOverAgain() {
        orders.group.takeOver();

        orders.play(0, "F");

        assertThat(orders.backend.rates().getTotalNumberOfCalls()).isEqualTo(1);
    }

    // ---------------------------------------------------------------- limits

    @ParameterizedTest
    @CsvSource({
        // limit, instances, expected with the first one out
        "60, 3, 40",
        "10, 3, 7",
        "9, 3, 6",
        "9, 9, 8",
        "11, 11, 10",
        "1, 3, 1",
        "100, 10, 90",
        "49, 7, 42"
    })
    void theLimitFollowsTheShareOfTheInstancesThatAreInRoundedUp(int limit, int instances, int expected) {
        HealthGroupFixture group = HealthGroupFixture.of(instances);
        assertThat(group.group.maxCalls(limit)).as("all are in").isEqualTo(UNLIMITED);

        group.member(0).operator().openNow();

        assertThat(group.group.maxCalls(limit)).isEqualTo(expected);
        assertThat(group.group.limitShare()).isEqualTo(1 - 1.0 / instances, within(1e-9));
    }

    /** The sum of ten times 0.1 is less than 1. */
    @Test
    void thereIsNoLimitOnceAllInstancesAreClosedAgain() {
        HealthGroupFixture group = HealthGroupFixture.of(10);
        group.recover(0);
        group.now += SECOND;
        assertThat(group.state(0)).isEqualTo(State.CLOSED);

        assertThat(group.backend.caps().maxCalls()).isEqualTo(UNLIMITED);
        assertThat(group.backend.caps().limitShare()).isEqualTo(1);
    }

    @Test
    void anInstanceThatRampsUpAddsItsRampButNoMoreThanItsShare() {
        orders.recover(0);
        assertThat(orders.group.maxCalls(60)).isEqualTo(45);
        assertThat(orders.group.maxCalls(9)).as("its share of 9 is 3").isEqualTo(9);
        assertThat(orders.group.limitShare()).as("it changes with each call").isZero();

        orders.succeed(0, 4);

        assertThat(orders.group.maxCalls(60)).isEqualTo(49);
    }

    @Test
    void allowsOneCallEvenIfTheShareIsLessOrNoInstanceIsIn() {
        HealthGroupFixture group = new HealthGroupFixture(DEFAULTS, 4, 0.99, 0.01);
        group.member(0).operator().openNow();
        assertThat(group.group.maxCalls(10)).isEqualTo(1);

        group.member(1).operator().openNow();

        assertThat(group.group.maxCalls(10)).isEqualTo(1);
        assertThat(group.group.room()).isEqualTo(1);
        assertThat(group.group.limitShare()).isZero();
    }

    @Test
    void weightsDecideOverTheLimitThatRemains() {
        HealthGroupFixture group = new HealthGroupFixture(DEFAULTS, UNLIMITED, 0.5, 0.3, 0.2);
        group.member(1).operator().openNow();
        assertThat(group.group.maxCalls(60)).isEqualTo(42);

        group.recover(2);

        assertThat(group.group.maxCalls(60)).isEqualTo(35);
        HealthGroupFixture uneven = new HealthGroupFixture(DEFAULTS, UNLIMITED, 0.95, 0.05);
        uneven.member(1).operator().openNow();
        assertThat(uneven.group.maxCalls(100)).isEqualTo(95);
    }

    @Test
    void thereIsRoomForTheCallsThatEachInstanceMayHave() {
        HealthGroupFixture group = capped(3, 8);
        assertThat(group.group.maxCalls(60)).isEqualTo(24);
        assertThat(group.group.maxCallsEach()).isEqualTo(8);

        group.recover(0);
        assertThat(group.group.room()).isEqualTo(21);
        assertThat(group.group.maxCalls(60)).as("less than the ramp's 45").isEqualTo(21);
        assertThat(group.group.maxCalls(15)).as("no more than the room").isEqualTo(15);

        group.succeed(0, 10);
        assertThat(group.group.room()).as("a ramp of 15").isEqualTo(24);

        group.member(1).operator().openNow();
        assertThat(group.group.room()).isEqualTo(16);
    }

    @Test
    void theRoomOfManyInstancesDoesNotOverflow() {
        assertThat(capped(3, UNLIMITED - 1).group.room()).isEqualTo(UNLIMITED);
        assertThat(capped(3, UNLIMITED).group.room()).isEqualTo(UNLIMITED);
    }

    @Test
    void isFullOnceTheCallsOfAllInstancesHoldThePermits() {
        orders.limit = 9;
        orders.enter(0, 6);
        orders.enter(1, 2);
        assertThat(orders.group.isFull(9)).isFalse();
        Generation last = orders.enter(2);
        assertThat(orders.group.isFull(9)).isTrue();
        last.leave();
        assertThat(orders.group.isFull(9)).isFalse();

        orders.member(2).operator().openNow();
        assertThat(orders.group.isFull(9)).as("6 permits are left").isTrue();
    }

    // ---------------------------------------------------------------- facts

    @Test
    void sumsUpTheOverdueCallsAndTheProbesOfItsInstances() {
        orders.member(0).overdueBegan();
        orders.member(2).overdueBegan();
        assertThat(orders.backend.overdue()).isEqualTo(2);
        orders.member(0).overdueEnded();
        assertThat(orders.backend.overdue()).isEqualTo(1);

        orders.member(0).operator().openNow();
        orders.member(1).operator().openNow();
        orders.now += SECOND;
        Objects.requireNonNull(orders.member(0).probes().tryStart(orders.now, 0, false));
        Probe probe = Objects.requireNonNull(orders.member(1).probes().tryStart(orders.now, 0, false));
        assertThat(orders.backend.probes().underWay()).isEqualTo(2);
        orders.member(1).probes().failed(probe);
        assertThat(orders.backend.probes().underWay()).isEqualTo(1);
    }

    @Test
    void theNextProbeIsThatOfAnyOpenInstance() {
        assertThat(orders.backend.probes().nanosToNext()).as("none is open").isZero();
        orders.member(0).operator().openNow();
        orders.now += 30 * MILLIS;
        orders.member(2).operator().openNow();
        orders.member(1).operator().drain();
        assertThat(orders.backend.probes().nanosToNext()).isEqualTo(70 * MILLIS);

        orders.member(0).operator().halfOpenNow();

        assertThat(orders.backend.probes().nanosToNext())
                .as("not that of the drained one")
                .isEqualTo(100 * MILLIS);
    }

    @Test
    void aCallerMayServeAsAProbeIfOneInstanceHadNoneForTwoIntervals() {
        orders.member(1).operator().openNow();
        orders.now += 200 * MILLIS - 1;
        orders.member(0).operator().openNow();
        assertThat(orders.backend.probes().isLastResortDue(orders.now, 0)).isFalse();

        orders.now++;

        assertThat(orders.backend.probes().isLastResortDue(orders.now, 0)).isTrue();
    }
}
