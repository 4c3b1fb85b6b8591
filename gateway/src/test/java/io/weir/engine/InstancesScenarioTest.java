package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.engine.InstancesSimulation.Replica;
import io.weir.engine.TrafficSimulation.Fault;
import io.weir.instance.LoadBalancingPolicy;
import io.weir.instance.LoadBalancingProperties;
import io.weir.limit.Limit.Change;
import io.weir.limit.LimitBounds;
import io.weir.limit.LimitInForce.Binding;
import io.weir.outcome.Reason;
import io.weir.testing.Tier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A backend with several instances, of which some or all are faulty, with the real engine in virtual time:
 * which instances are ejected and after how many calls, whether the backend opens, and how many callers are
 * answered.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("simulation")
class InstancesScenarioTest {

    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final Duration CALM = Duration.ofMillis(20);
    private static final int LIMIT = 60;
    private static final int MOST_FAILED_CALLS = 6;
    private static final int MOST_CALLS_IN_A_HANG = 8;
    private static final int STALL_CALLS = 5;
    private static final long SEED = 1;

    private static InstancesSimulation calm(int instances, int perSecond) {
        InstancesSimulation simulation = new InstancesSimulation(instances, DEADLINE, LIMIT, SEED);
        simulation.traffic(perSecond, Duration.ofSeconds(40));
        assertThat(simulation.answeredShare()).as("calm").isEqualTo(1);
        assertThat(simulation.replicas).as("calm").noneMatch(Replica::isOpen);
        simulation.endings.clear();
        return simulation;
    }

    List<Arguments> oneBadInstance() {
        List<Arguments> cases = new ArrayList<>();
        for (int instances : List.of(2, 3)) {
            for (int perSecond : List.of(2, 20, 300)) {
                for (Fault fault : List.of(Fault.HANG, Fault.ERRORS, Fault.RESET, Fault.REFUSED)) {
                    cases.add(Arguments.of(instances, perSecond, fault));
                }
            }
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("oneBadInstance")
    void ejectsOneBadInstanceAfterFewCallsAndNeverOpens(int instances, int perSecond, Fault fault) {
        InstancesSimulation simulation = calm(instances, perSecond);
        Replica bad = simulation.replicas.getFirst();
        bad.fault = fault;
        // A few calls a second take minutes to fail five times, since most go to the others.
        simulation.traffic(perSecond, Duration.ofSeconds(perSecond < 300 ? 600 : 30));

        assertThat(bad.isOpen()).as("ejected").isTrue();
        assertThat(simulation.failedAtEjection).as("failed before the ejection").isLessThanOrEqualTo(MOST_FAILED_CALLS);
        // Calls that hang have not failed when their instance is ejected.
        int most = fault == Fault.HANG ? MOST_CALLS_IN_A_HANG : MOST_FAILED_CALLS;
        assertThat(bad.faultyCallsAtEjection).as("calls to the bad instance").isLessThanOrEqualTo(most);
        assertThat(bad.faultyCalls).as("calls after the ejection").isEqualTo(bad.faultyCallsAtEjection);
        assertThat(simulation.hasOpened).as("the backend opened").isFalse();
        assertThat(simulation.replicas.subList(1, instances)).as("others").noneMatch(Replica::isOpen);
        long failed = simulation.failed();
        assertThat(failed).as("callers who got no answer").isLessThanOrEqualTo(most);
        if (fault == Fault.REFUSED || fault == Fault.RESET) {
            assertThat(failed)
                    .as("unsent or idempotent calls go to another instance")
                    .isZero();
        }
        if (fault == Fault.HANG) {
            // Calls that wait in the instance when it is ejected go to another one.
            assertThat(failed).as("calls that waited alone").isLessThan(MOST_FAILED_CALLS);
        }

        bad.fault = Fault.NONE;
        int before = bad.calls;
        simulation.traffic(perSecond, Duration.ofSeconds(5));
        simulation.advance(DEADLINE);
        assertThat(bad.instance.health().state()).as("returns").isEqualTo(State.CLOSED);
        assertThat(bad.calls).as("gets calls again").isGreaterThan(before);
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(LIMIT);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    List<Arguments> coldStarts() {
        List<Arguments> cases = new ArrayList<>();
        for (int perSecond : List.of(2, 20, 300)) {
            for (int lateAnswers : List.of(1, 20)) {
                for (Fault fault : List.of(Fault.ERRORS, Fault.HANG, Fault.RESET)) {
                    cases.add(Arguments.of(perSecond, lateAnswers, fault));
                }
            }
        }
        return cases;
    }

    /** No instance is known yet: of two, one fails from its first call on, and the other one is cold. */
    @ParameterizedTest
    @MethodSource("coldStarts")
    void losesFewCallersWhereOneInstanceFailsAndTheOtherOneIsCold(int perSecond, int lateAnswers, Fault fault) {
        for (long seed = 1; seed <= Tier.choose(1, 3); seed++) {
            InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, seed);
            Replica bad = simulation.replicas.getFirst();
            bad.fault = fault;
            Replica cold = simulation.replicas.get(1);
            cold.lateAnswers = lateAnswers;
            cold.late = Duration.ofMillis(500);
            simulation.traffic(perSecond, Duration.ofSeconds(perSecond < 300 ? 300 : 30));

            assertThat(bad.isOpen()).as("ejected, seed %d", seed).isTrue();
            assertThat(simulation.failed())
                    .as("callers lost, seed %d", seed)
                    .isLessThanOrEqualTo(fault == Fault.HANG ? MOST_CALLS_IN_A_HANG : MOST_FAILED_CALLS);
            assertThat(simulation.hasOpened)
                    .as("the backend opened, seed %d", seed)
                    .isFalse();
            assertThat(cold.isOpen()).as("the cold one, seed %d", seed).isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 300})
    void losesFewCallersWhereTwoOfThreeFail(int perSecond) {
        for (long seed = 1; seed <= Tier.choose(1, 2); seed++) {
            InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, LIMIT, seed);
            simulation.traffic(perSecond, Duration.ofSeconds(40));
            simulation.endings.clear();
            simulation.replicas.get(0).fault = Fault.ERRORS;
            simulation.replicas.get(1).fault = Fault.ERRORS;
            simulation.traffic(perSecond, Duration.ofMinutes(2));

            assertThat(simulation.hasOpened).as("the backend opened").isFalse();
            assertThat(simulation.failed()).as("callers lost").isLessThanOrEqualTo(2 * MOST_FAILED_CALLS);
        }
    }

    /** The share of the calls that an instance gets in this time. */
    private static double share(InstancesSimulation simulation, Replica replica, int perSecond, Duration time) {
        simulation.replicas.forEach(each -> each.calls = 0);
        simulation.traffic(perSecond, time);
        return (double) replica.calls
                / simulation.replicas.stream().mapToInt(each -> each.calls).sum();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 20, 300})
    void givesAnInstanceItsShareAgainAfterOneLateAnswer(int perSecond) {
        for (int instances : List.of(2, 3)) {
            InstancesSimulation simulation = calm(instances, perSecond);
            Replica late = simulation.replicas.getFirst();
            late.lateAnswers = 1;
            late.late = Duration.ofMillis(700);
            while (late.lateAnswers > 0) {
                simulation.traffic(perSecond, Duration.ofMillis(10));
            }
            simulation.traffic(perSecond, Duration.ofSeconds(perSecond < 20 ? 10 : 5));

            assertThat(share(simulation, late, perSecond, Duration.ofMinutes(1)))
                    .as("of %d instances", instances)
                    .isGreaterThan(0.7 / instances);
            assertThat(simulation.failed()).isZero();
        }
    }

    /** The time from the next late answer of an instance to its next call, at two calls a second. */
    private static Duration silence(InstancesSimulation simulation, Replica late) {
        late.lateAnswers = 1;
        late.late = Duration.ofSeconds(2);
        while (late.lateAnswers > 0) {
            simulation.traffic(2, Duration.ofMillis(10));
        }
        while (late.inside > 0) {
            simulation.traffic(2, Duration.ofMillis(10));
        }
        int before = late.calls;
        long answeredAt = simulation.now();
        while (late.calls == before) {
            simulation.traffic(2, Duration.ofMillis(10));
        }
        return Duration.ofNanos(simulation.now() - answeredAt);
    }

    private static double meanSeconds(List<Duration> silences) {
        return silences.stream().mapToLong(Duration::toMillis).average().orElseThrow() / 1_000;
    }

    @Test
    void sendsCallsToAnInstanceSomeSecondsAfterALateAnswerWhereCallsAreRare() {
        List<Duration> silences = new ArrayList<>();
        for (long seed = 1; seed <= 20; seed++) {
            InstancesSimulation simulation = new InstancesSimulation(3, Duration.ofSeconds(5), LIMIT, seed);
            simulation.traffic(2, Duration.ofSeconds(40));
            silences.add(silence(simulation, simulation.replicas.getFirst()));
        }
        assertThat(meanSeconds(silences)).as("%s", silences).isLessThan(4.5);
        assertThat(silences).allSatisfy(silence -> assertThat(silence).isLessThan(Duration.ofSeconds(8)));
    }

    /** A fast restart: the first answer is late, and the slow start is not over. */
    @Test
    void sendsCallsToARestartedInstanceSomeSecondsAfterItsLateFirstAnswer() {
        List<Duration> silences = new ArrayList<>();
        for (long seed = 1; seed <= 20; seed++) {
            InstancesSimulation simulation = new InstancesSimulation(3, Duration.ofSeconds(5), LIMIT, seed);
            simulation.traffic(2, Duration.ofSeconds(40));
            Replica restarted = simulation.replicas.getFirst();
            restarted.instance.health().operator().drain();
            simulation.traffic(2, Duration.ofSeconds(2));
            restarted.instance.restore();
            silences.add(silence(simulation, restarted));
        }
        assertThat(meanSeconds(silences)).as("%s", silences).isLessThan(6);
    }

    /** Less than its third, and few callers meet it. */
    @Test
    void givesASlowInstanceLessTrafficWhereCallsAreRare() {
        InstancesSimulation simulation = calm(3, 2);
        Replica slow = simulation.replicas.getFirst();
        slow.service = Duration.ofMillis(200);
        assertThat(share(simulation, slow, 2, Duration.ofMinutes(10))).isLessThan(0.05);
    }

    /** All calls of a cold instance take long at first, so that no early call shows the later latency. */
    @ParameterizedTest
    @ValueSource(ints = {2, 20, 300})
    void givesAColdInstanceItsShareSoonAfterItIsWarm(int perSecond) {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, SEED);
        Replica cold = simulation.replicas.getFirst();
        cold.coldSince = simulation.now();
        simulation.traffic(perSecond, Duration.ofSeconds(15));

        assertThat(share(simulation, cold, perSecond, Duration.ofMinutes(1))).isGreaterThan(0.35);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 20, 300})
    void givesAnInstanceItsShareAgainWithinTenSecondsOfItsRecovery(int perSecond) {
        for (int failures = 2; failures <= 4; failures++) {
            InstancesSimulation simulation = calm(2, perSecond);
            Replica bad = simulation.replicas.getFirst();
            bad.fault = Fault.ERRORS;
            while (bad.faultyCalls < failures) {
                simulation.traffic(perSecond, Duration.ofMillis(10));
            }
            simulation.traffic(perSecond, Duration.ofMillis(100));
            bad.fault = Fault.NONE;
            assertThat(bad.isOpen()).as("ejected").isFalse();
            // At two calls a second the next one may come seconds after the end of the cool-down.
            simulation.traffic(perSecond, Duration.ofSeconds(perSecond < 20 ? 15 : 10));

            assertThat(share(simulation, bad, perSecond, Duration.ofMinutes(1)))
                    .as("after %d failures", failures)
                    .isGreaterThan(0.4);
        }
    }

    /**
     * One instance fails its last calls, and the other one hangs: the calls must not all go to the latter.
     */
    @Test
    void sendsCallsToACoolingInstanceWhereTheOtherOneHangs() {
        InstancesSimulation simulation = calm(2, 300);
        Replica cooling = simulation.replicas.getFirst();
        cooling.fault = Fault.ERRORS;
        while (cooling.faultyCalls < 2) {
            simulation.traffic(300, Duration.ofMillis(1));
        }
        simulation.advance(Duration.ofMillis(2));
        assertThat(cooling.instance.coolDownFailures(simulation.now())).isEqualTo(2);
        cooling.fault = Fault.NONE;
        simulation.replicas.get(1).fault = Fault.HANG;
        simulation.endings.clear();
        simulation.traffic(300, Duration.ofSeconds(10));

        assertThat(simulation.failed()).isLessThanOrEqualTo(MOST_CALLS_IN_A_HANG);
        assertThat(simulation.hasOpened).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 300})
    void drainsAnInstanceByHandWithoutLosingACallAndReturnsIt(int perSecond) {
        InstancesSimulation simulation = calm(3, perSecond);
        Replica drained = simulation.replicas.getFirst();
        while (drained.instance.inFlight() == 0) {
            simulation.traffic(perSecond, Duration.ofMillis(5));
        }
        int underWay = drained.instance.inFlight();
        int before = drained.calls;
        long answeredBefore = drained.instance.answeredCalls();
        drained.instance.health().operator().drain();

        assertThat(drained.instance.inFlight()).as("calls under way").isEqualTo(underWay);
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(LIMIT * 2 / 3);
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        assertThat(drained.calls).as("new calls").isEqualTo(before);
        assertThat(drained.probes).as("probes").isZero();
        assertThat(drained.instance.inFlight()).as("calls under way").isZero();
        assertThat(drained.instance.answeredCalls()).as("its calls ended there").isEqualTo(answeredBefore + underWay);
        assertThat(drained.instance.health().word()).isEqualTo("drained");

        drained.instance.restore();
        assertThat(drained.instance.health().state()).as("a ramp").isEqualTo(State.HALF_OPEN);
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        simulation.advance(DEADLINE);
        assertThat(drained.instance.health().state()).isEqualTo(State.CLOSED);
        assertThat(drained.calls).as("gets calls again").isGreaterThan(before);
        assertThat(simulation.failed()).isZero();
        assertThat(simulation.hasOpened).isFalse();
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(LIMIT);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    /**
     * One call at a time, and a call that took long before the drain: no other call shows that this is over.
     */
    @Test
    void sendsCallsToAReturnedInstanceThatWasSlowBefore() {
        InstancesSimulation simulation = calm(2, 20);
        Replica slow = simulation.replicas.getFirst();
        slow.service = Duration.ofMillis(700);
        while (slow.instance.lastLatencyNanos() < Duration.ofMillis(500).toNanos()) {
            simulation.traffic(20, Duration.ofMillis(100));
        }
        slow.instance.health().operator().drain();
        slow.service = Duration.ofMillis(20);
        simulation.traffic(2, Duration.ofSeconds(2));
        int before = slow.calls;

        slow.instance.restore();
        // Slow start: of calls one after the other, the instance gets hardly any for some seconds.
        simulation.traffic(2, Duration.ofSeconds(20));

        assertThat(slow.calls).isGreaterThan(before + 5);
    }

    /**
     * Operators force the breaker of the backend and release it, while another one has drained an instance.
     */
    @Test
    void keepsADrainedInstanceOutWhateverIsForcedOnTheBackend() {
        InstancesSimulation simulation = calm(3, 20);
        Replica drained = simulation.replicas.getFirst();
        drained.instance.health().operator().drain();
        int before = drained.calls;

        simulation.health.operator().forceOpen();
        simulation.health.operator().release();
        assertThat(drained.instance.health().isDrained()).isTrue();
        simulation.health.operator().forceClosed();
        simulation.traffic(20, Duration.ofSeconds(5));
        assertThat(drained.instance.health().isDrained()).isTrue();
        assertThat(drained.calls).isEqualTo(before);

        drained.instance.restore();
        assertThat(drained.instance.health().word()).as("as the backend").isEqualTo("forced-closed");
        simulation.health.operator().release();
        assertThat(drained.instance.health().word()).isEqualTo("closed");
        simulation.traffic(20, Duration.ofSeconds(5));
        assertThat(drained.calls).isGreaterThan(before);
        assertThat(simulation.failed()).isZero();
    }

    /** A drained instance that hangs: its calls end by their deadlines, and no other instance is blamed. */
    @Test
    void endsTheCallsOfADrainedInstanceThatHangsByTheirDeadlines() {
        InstancesSimulation simulation = calm(3, 300);
        Replica drained = simulation.replicas.getFirst();
        drained.fault = Fault.HANG;
        while (drained.faultyCalls < 2) {
            simulation.traffic(300, Duration.ofMillis(2));
        }
        drained.instance.health().operator().drain();
        simulation.traffic(300, Duration.ofSeconds(5));

        assertThat(simulation.failed()).as("the calls under way").isEqualTo(drained.faultyCalls);
        assertThat(drained.instance.health().isDrained()).isTrue();
        assertThat(simulation.replicas.subList(1, 3)).noneMatch(Replica::isOpen);
        simulation.advance(DEADLINE);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void sendsACallThatAnOpenBreakerWouldHaveRefusedToNoDrainedInstance(int index) {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, SEED, false);
        Replica drained = simulation.replicas.get(index);
        Replica failing = simulation.replicas.get(1 - index);
        drained.instance.health().operator().drain();
        failing.fault = Fault.ERRORS;
        simulation.traffic(100, Duration.ofSeconds(2));
        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        int before = failing.calls;

        simulation.traffic(100, Duration.ofSeconds(2));

        assertThat(failing.calls).as("not refused").isGreaterThan(before + 100);
        assertThat(drained.calls).isZero();
    }

    @Test
    void opensAndRecoversWithTheInstancesThatAreNotDrained() {
        InstancesSimulation simulation = calm(3, 300);
        Replica drained = simulation.replicas.getFirst();
        drained.instance.health().operator().drain();
        simulation.replicas.forEach(replica -> replica.fault = Fault.HANG);
        simulation.traffic(300, Duration.ofSeconds(3));
        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        assertThat(simulation.health.probes().nanosToNext()).as("of the others").isPositive();
        assertThat(drained.instance.health().isDrained()).isTrue();

        simulation.replicas.forEach(replica -> replica.fault = Fault.NONE);
        simulation.traffic(300, Duration.ofSeconds(2));
        simulation.endings.clear();
        simulation.traffic(300, Duration.ofSeconds(2));
        assertThat(simulation.answeredShare()).isEqualTo(1);
        assertThat(drained.probes).isZero();
        assertThat(drained.instance.health().isDrained()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 300})
    void opensTheBackendWhereAllInstancesHang(int perSecond) {
        InstancesSimulation simulation = calm(3, perSecond);
        long hungAt = simulation.now();
        simulation.replicas.forEach(replica -> replica.fault = Fault.HANG);
        simulation.traffic(perSecond, Duration.ofSeconds(3));

        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        assertThat(simulation.health.why()).startsWith("stalled");
        assertThat(simulation.replicas).allMatch(Replica::isOpen);
        // Five calls that wait for half of the deadline, as at a single instance.
        long opened = simulation.now() - simulation.health.nanosInState() - hungAt;
        assertThat(Duration.ofNanos(opened))
                .isLessThan(DEADLINE.dividedBy(2).plusMillis(20 + 5 * 3 * 1000 / perSecond));
        assertThat(simulation.endings.getLast().reason()).isEqualTo(Reason.CIRCUIT_OPEN);

        simulation.replicas.forEach(replica -> replica.fault = Fault.NONE);
        simulation.traffic(perSecond, Duration.ofSeconds(1));
        simulation.endings.clear();
        simulation.traffic(perSecond, Duration.ofSeconds(5));
        simulation.advance(DEADLINE);
        assertThat(simulation.answeredShare()).as("a second after the heal").isEqualTo(1);
        assertThat(simulation.replicas)
                .allMatch(replica -> replica.instance.health().state() == State.CLOSED);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    @ParameterizedTest
    @EnumSource(names = {"ERRORS", "RESET", "REFUSED"})
    void opensTheBackendAsEarlyAsASingleInstanceWhereAllFail(Fault fault) {
        int[] faultyCalls = new int[2];
        for (int i = 0; i < 2; i++) {
            InstancesSimulation simulation = new InstancesSimulation(i == 0 ? 2 : 6, DEADLINE, LIMIT, SEED);
            simulation.replicas.forEach(replica -> replica.fault = fault);
            simulation.method = HttpMethod.POST;
            while (!simulation.hasOpened && simulation.endings.size() < 200) {
                simulation.traffic(100, Duration.ofMillis(50));
            }
            faultyCalls[i] = simulation.replicas.stream()
                    .mapToInt(replica -> replica.faultyCalls)
                    .sum();
            assertThat(simulation.replicas).allMatch(Replica::isOpen);
        }
        // The window's minimum is twenty calls; a few more are under way.
        assertThat(faultyCalls[0]).isBetween(20, 28);
        assertThat(faultyCalls[1]).isBetween(20, 28);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 20, 300})
    void ejectsNobodyWhereAllInstancesFailThirtyPercent(int perSecond) {
        InstancesSimulation simulation = calm(3, perSecond);
        simulation.replicas.forEach(replica -> replica.fault = Fault.SOME_ERRORS);
        simulation.traffic(perSecond, Duration.ofSeconds(perSecond < 300 ? 600 : 120));

        assertThat(simulation.hasOpened).as("the backend opened").isFalse();
        assertThat(simulation.replicas).as("ejected").allMatch(replica -> replica.faultyCallsAtEjection < 0);
        double mean = simulation.replicas.stream()
                .mapToInt(replica -> replica.faultyCalls)
                .average()
                .orElseThrow();
        assertThat(simulation.replicas)
                .as("balanced")
                .allSatisfy(replica -> assertThat((double) replica.faultyCalls).isBetween(0.85 * mean, 1.15 * mean));
    }

    @Test
    void usesTheThirdInstanceWhereTwoHang() {
        InstancesSimulation simulation = calm(3, 300);
        simulation.replicas.get(0).fault = Fault.HANG;
        simulation.replicas.get(1).fault = Fault.HANG;
        simulation.traffic(300, Duration.ofSeconds(15));
        assertThat(simulation.hasOpened).as("the backend opened").isFalse();
        assertThat(simulation.answeredShare()).isGreaterThan(0.995);
        assertThat(simulation.bulkhead.maxConcurrentCalls())
                .as("a third of the limit")
                .isEqualTo(LIMIT / 3);
    }

    /** A call with a millisecond left gets no permit elsewhere: it lacks time, and no breaker refuses it. */
    @Test
    void noMovedCallIsRefusedAsIfTheBackendWereOpen() {
        for (long seed = 1; seed <= Tier.choose(7, 14); seed++) {
            InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, TrafficSimulation.AUTO, seed);
            // Another phase of the traffic with each seed.
            simulation.traffic(300, Duration.ofMillis(30_000 + seed % 7 * 31));
            simulation.replicas.get(0).fault = Fault.HANG;
            simulation.replicas.get(1).fault = Fault.HANG;
            simulation.traffic(300, Duration.ofSeconds(15));

            assertThat(simulation.endings)
                    .as("seed %d", seed)
                    .noneMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN);
        }
    }

    @Test
    void givesASlowInstanceLessTrafficAndKeepsIt() {
        InstancesSimulation simulation = calm(3, 300);
        Replica slow = simulation.replicas.getFirst();
        slow.service = Duration.ofMillis(200);
        simulation.replicas.forEach(replica -> replica.calls = 0);
        simulation.traffic(300, Duration.ofSeconds(15));
        assertThat(slow.isOpen()).isFalse();
        assertThat(slow.faultyCallsAtEjection).as("ejected").isNegative();
        assertThat(slow.calls).as("calls").isLessThan(simulation.endings.size() / 100);
        assertThat(Duration.ofNanos(p99(simulation))).as("p99").isLessThanOrEqualTo(CALM.multipliedBy(2));
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    /**
     * The few calls in the slow instance hold half of the initial limit, which has sufficed so far: no other
     * call waits long for them.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void noCallerWaitsForTheCallsOfASlowInstance(long seed) {
        InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, TrafficSimulation.AUTO, seed);
        simulation.evenTraffic(300, Duration.ofMillis(5000 + seed));
        assertThat(simulation.bulkhead.maxConcurrentCalls()).isEqualTo(LimitBounds.DEFAULT.initial());
        simulation.endings.clear();
        simulation.replicas.getFirst().service = Duration.ofMillis(200);
        simulation.evenTraffic(300, Duration.ofSeconds(15));
        assertThat(Duration.ofNanos(p99(simulation))).as("p99").isLessThanOrEqualTo(CALM.multipliedBy(2));
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    /**
     * Short disturbances of all instances, as on a busy machine, do not make a slow instance look like the
     * others.
     */
    @Test
    void givesASlowInstanceLittleWhereAllAreDisturbedNowAndThen() {
        int perSecond = 300;
        InstancesSimulation simulation = calm(3, perSecond);
        Replica slow = simulation.replicas.getFirst();
        simulation.replicas.forEach(replica -> replica.calls = 0);
        for (int i = 0; i < 10; i++) {
            simulation.replicas.forEach(replica -> replica.service = Duration.ofMillis(150));
            simulation.traffic(perSecond, Duration.ofMillis(30));
            simulation.replicas.forEach(replica -> replica.service = CALM);
            slow.service = Duration.ofMillis(200);
            simulation.traffic(perSecond, Duration.ofSeconds(3));
        }
        assertThat(slow.calls).as("calls").isLessThan(simulation.endings.size() / 100);
    }

    @Test
    void probesAnEjectedInstanceWithRareCallersWhereNothingCanBeCopied() {
        InstancesSimulation simulation = calm(3, 20);
        simulation.method = HttpMethod.POST;
        Replica bad = simulation.replicas.getFirst();
        bad.fault = Fault.ERRORS;
        simulation.traffic(20, Duration.ofMinutes(2));
        assertThat(bad.isOpen()).isTrue();
        assertThat(bad.faultyCalls - bad.faultyCallsAtEjection)
                .as("callers as probes")
                .isBetween(3, 14);
        bad.fault = Fault.NONE;
        simulation.traffic(20, Duration.ofSeconds(40));
        assertThat(bad.instance.health().state()).isEqualTo(State.CLOSED);
    }

    /**
     * The limit follows the share of an instance that leaves or returns, and goes on learning meanwhile.
     * Medians of several seeds, since a limit is above its usual value now and then while it probes.
     */
    @Test
    void anAdaptiveLimitLearnsWhileAnInstanceIsOut() {
        List<List<Integer>> limits = LongStream.rangeClosed(1, Tier.choose(3, 5))
                .mapToObj(InstancesScenarioTest::limitsWhileAnInstanceIsOut)
                .toList();

        int before = median(limits, 0);
        int half = median(limits, 1);
        int lower = median(limits, 2);
        int higher = median(limits, 3);
        assertThat(before).as("of twenty workers").isBetween(22, 34);
        assertThat(half).as("of ten workers").isBetween(before / 3, before * 2 / 3);
        assertThat(lower).as("of five workers").isBetween(5, 11).isLessThan(half);
        assertThat(higher).as("of twenty workers").isBetween(22, 36);
        assertThat(median(limits, 4)).as("of forty workers").isBetween(higher * 3 / 2, 75);
    }

    private static List<Integer> limitsWhileAnInstanceIsOut(long seed) {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, TrafficSimulation.AUTO, seed);
        simulation.replicas.forEach(replica -> {
            replica.service = Duration.ofMillis(50);
            replica.workers = 10;
        });
        List<Integer> limits = new ArrayList<>();
        simulation.traffic(300, Duration.ofSeconds(10));
        simulation.traffic(800, Duration.ofSeconds(15));
        limits.add(simulation.bulkhead.maxConcurrentCalls());

        Replica bad = simulation.replicas.getFirst();
        bad.fault = Fault.REFUSED;
        simulation.traffic(800, Duration.ofSeconds(2));
        assertThat(bad.isOpen()).isTrue();
        limits.add(simulation.bulkhead.maxConcurrentCalls());
        Replica good = simulation.replicas.get(1);
        good.workers = 5;
        simulation.traffic(800, Duration.ofSeconds(25));
        limits.add(simulation.bulkhead.maxConcurrentCalls());
        assertThat(simulation.limitInForce.binding()).isEqualTo(Binding.AUTO);
        good.workers = 20;
        simulation.traffic(800, Duration.ofSeconds(20));
        limits.add(simulation.bulkhead.maxConcurrentCalls());

        bad.fault = Fault.NONE;
        bad.workers = 20;
        simulation.traffic(1600, Duration.ofSeconds(3));
        assertThat(bad.isOpen()).isFalse();
        limits.add(simulation.bulkhead.maxConcurrentCalls());
        return limits;
    }

    private static int median(List<List<Integer>> runs, int column) {
        return runs.stream().map(run -> run.get(column)).sorted().toList().get(runs.size() / 2);
    }

    /** The limit has just been found, for calls that need few permits; then one instance fails for long. */
    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"ERRORS", "HANG", "REFUSED", "RESET"})
    void servesTheCallersOfABadInstanceAtAnAdaptiveLimit(Fault fault) {
        for (long seed = 1; seed <= Tier.choose(1, 2); seed++) {
            InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, TrafficSimulation.AUTO, seed);
            simulation.traffic(300, Duration.ofSeconds(10));
            simulation.endings.clear();
            simulation.replicas.getFirst().fault = fault;
            simulation.traffic(300, Duration.ofSeconds(15));

            boolean isRepeated = fault == Fault.REFUSED || fault == Fault.RESET;
            assertThat(simulation.failed())
                    .as("callers lost, seed %d", seed)
                    .isLessThanOrEqualTo(isRepeated ? 0 : MOST_CALLS_IN_A_HANG);
        }
    }

    /** A rolling restart: each instance is killed in turn, and is cold when it comes back. */
    @ParameterizedTest
    @ValueSource(ints = {TrafficSimulation.AUTO, LIMIT})
    void losesNoCallerWhereInstancesAreKilledOneAfterTheOther(int limit) {
        for (long seed = 1; seed <= Tier.choose(1, 2); seed++) {
            InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, limit, seed);
            simulation.traffic(300, Duration.ofSeconds(15));
            for (Replica restarted : simulation.replicas) {
                simulation.traffic(300, Duration.ofSeconds(1));
                restarted.kill();
                simulation.traffic(300, Duration.ofSeconds(2));
                assertThat(restarted.isOpen()).isTrue();
                restarted.fault = Fault.NONE;
                restarted.coldSince = simulation.now();
                simulation.traffic(300, Duration.ofSeconds(15));
                assertThat(restarted.isOpen()).isFalse();
            }
            assertThat(simulation.failed()).as("callers lost, seed %d", seed).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"ERRORS", "HANG"})
    void oneBadInstanceDoesNotLowerAnAdaptiveLimit(Fault fault) {
        assertDoesNotLowerAnAdaptiveLimit(fault);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSED", "RESET"})
    @Tag("full")
    void oneInstanceThatEndsConnectionsDoesNotLowerAnAdaptiveLimit(Fault fault) {
        assertDoesNotLowerAnAdaptiveLimit(fault);
    }

    private static void assertDoesNotLowerAnAdaptiveLimit(Fault fault) {
        int runs = Tier.choose(12, 20);
        List<Long> failed = new ArrayList<>();
        for (long seed = 1; seed <= runs; seed++) {
            InstancesSimulation simulation = adaptive(seed);
            int before = simulation.limitInForce.permits();
            Replica bad = simulation.replicas.getFirst();
            int waiting = bad.instance.inFlight();
            bad.errorStatus = 503;
            bad.fault = fault;
            long sheds = simulation.limitInForce.changes(Change.SHEDDING);
            long timeOuts = simulation.limitInForce.changes(Change.TIMEOUTS);
            simulation.traffic(200, Duration.ofSeconds(20));

            assertThat(bad.isOpen()).isTrue();
            assertThat(simulation.limitInForce.changes(Change.SHEDDING)).isEqualTo(sheds);
            assertThat(simulation.limitInForce.changes(Change.TIMEOUTS)).isEqualTo(timeOuts);
            assertThat(simulation.limitInForce.permits())
                    .as("of all instances, seed %d", seed)
                    .isGreaterThanOrEqualTo(before);
            assertThat(simulation.failed()).as("seed %d", seed).isLessThanOrEqualTo(waiting + STALL_CALLS);
            failed.add(simulation.failed());
        }
        failed.sort(null);
        assertThat(failed.get(runs / 2)).as("median").isLessThanOrEqualTo(STALL_CALLS);
        assertThat(failed.get(runs * 9 / 10)).as("nine in ten").isLessThanOrEqualTo(MOST_CALLS_IN_A_HANG);
    }

    /** Each instance refuses more than it can do: the limit's matter, and nobody is ejected. */
    @Test
    void refusalsOfAllInstancesLowerAnAdaptiveLimit() {
        InstancesSimulation simulation = adaptive(SEED);
        simulation.replicas.forEach(replica -> {
            replica.errorStatus = 503;
            replica.fault = Fault.SOME_ERRORS;
        });
        simulation.traffic(300, Duration.ofSeconds(20));

        assertThat(simulation.limitInForce.changes(Change.SHEDDING)).isPositive();
        assertThat(simulation.replicas).noneMatch(Replica::isOpen);
    }

    private static InstancesSimulation adaptive(long seed) {
        InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, TrafficSimulation.AUTO, seed);
        simulation.replicas.forEach(replica -> {
            replica.service = Duration.ofMillis(50);
            replica.workers = 10;
        });
        // The limit gets higher than the calm calls need.
        simulation.traffic(1600, Duration.ofSeconds(10));
        simulation.traffic(200, Duration.ofSeconds(3));
        assertThat(simulation.limitInForce.permits()).isGreaterThan(25);
        simulation.endings.clear();
        simulation.traffic(200, Duration.ofSeconds(5));
        assertThat(simulation.answeredShare()).as("calm").isEqualTo(1);
        simulation.endings.clear();
        return simulation;
    }

    @Test
    void forcesAndReleasesAllInstancesWithTheBackend() {
        InstancesSimulation simulation = calm(3, 20);
        simulation.health.operator().forceOpen();
        simulation.traffic(20, Duration.ofSeconds(1));
        assertThat(simulation.endings).allMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN);
        simulation.health.operator().release();
        simulation.endings.clear();
        simulation.traffic(20, Duration.ofSeconds(1));
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    // ---------------------------------------------------------------- slow start

    /** The 99th percentile of the times of all callers. */
    private static long p99(InstancesSimulation simulation) {
        List<Long> times = simulation.endings.stream()
                .map(TrafficSimulation.Ending::nanos)
                .sorted()
                .toList();
        return times.get(times.size() * 99 / 100);
    }

    /** The ten seconds after the return of an instance that is cold. */
    private static InstancesSimulation returnOfAColdInstance(
            LoadBalancingPolicy policy, Duration slowStart, int perSecond, long seed) {
        LoadBalancingProperties balancing = new LoadBalancingProperties(policy, null, null, slowStart, null);
        InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, LIMIT, seed, balancing);
        simulation.traffic(perSecond, Duration.ofSeconds(20));
        Replica restarted = simulation.replicas.getFirst();
        restarted.fault = Fault.REFUSED;
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        assertThat(restarted.isOpen()).isTrue();
        restarted.fault = Fault.NONE;
        restarted.coldSince = simulation.now();
        while (!restarted.instance.isIn()) {
            simulation.traffic(perSecond, Duration.ofMillis(10));
        }
        simulation.endings.clear();
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        assertThat(simulation.answeredShare()).isEqualTo(1);
        return simulation;
    }

    /** Callers whose answers took three times the calm's. */
    private static long slowAnswers(InstancesSimulation simulation) {
        long limitNanos = 3 * CALM.toNanos();
        return simulation.endings.stream()
                .filter(ending -> ending.nanos() > limitNanos)
                .count();
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 300, 1000})
    void startsAColdInstanceSlowly(int perSecond) {
        long slowAnswers = 0;
        long without = 0;
        for (long seed = 1; seed <= Tier.choose(1, 3); seed++) {
            InstancesSimulation slowStart =
                    returnOfAColdInstance(LoadBalancingPolicy.LEAST_LATENCY, Duration.ofSeconds(10), perSecond, seed);
            assertThat(Duration.ofNanos(p99(slowStart))).as("p99").isLessThanOrEqualTo(CALM.multipliedBy(3));
            slowAnswers += slowAnswers(slowStart);
            without += slowAnswers(
                    returnOfAColdInstance(LoadBalancingPolicy.LEAST_LATENCY, Duration.ZERO, perSecond, seed));
        }
        assertThat(slowAnswers).as("slow answers").isLessThan(without);
    }

    @Test
    void startsAColdInstanceSlowlyWhereLatencyDoesNotDecide() {
        InstancesSimulation slowStart =
                returnOfAColdInstance(LoadBalancingPolicy.ROUND_ROBIN, Duration.ofSeconds(10), 300, SEED);
        InstancesSimulation without = returnOfAColdInstance(LoadBalancingPolicy.ROUND_ROBIN, Duration.ZERO, 300, SEED);
        assertThat(slowAnswers(slowStart)).as("slow answers").isLessThan(slowAnswers(without) / 2);
        assertThat(p99(slowStart)).as("p99").isLessThan(p99(without));
    }

    // ---------------------------------------------------------------- the cap of each instance

    private static InstancesSimulation capped(int cap, long seed) {
        return new InstancesSimulation(
                3,
                DEADLINE,
                LIMIT,
                seed,
                new LoadBalancingProperties(
                        LoadBalancingPolicy.LEAST_LATENCY, null, null, Duration.ofSeconds(10), cap));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void neverExceedsTheCapOfAnInstance(long seed) {
        InstancesSimulation simulation = capped(2, seed);
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(6);
        // Six calls of 20 ms: room for 300 in a second.
        simulation.traffic(200, Duration.ofSeconds(20));
        assertThat(simulation.answeredShare())
                .as("the queue absorbs the bursts")
                .isGreaterThan(0.99);
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.mostInside).isEqualTo(2));

        Replica bad = simulation.replicas.getFirst();
        for (Fault fault : List.of(Fault.ERRORS, Fault.REFUSED, Fault.RESET)) {
            bad.fault = fault;
            simulation.traffic(290, Duration.ofSeconds(5));
            assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(4);
            bad.fault = Fault.NONE;
            simulation.traffic(150, Duration.ofSeconds(5));
            assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(6);
        }
        simulation.advance(DEADLINE);
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.mostInside).isEqualTo(2));
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.inside).isZero());
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
        assertThat(simulation.bulkhead.queued()).as("waiting").isZero();
    }

    @Test
    void waitsForAnotherPermitIfAnInstanceOpensAfterTheGrant() {
        InstancesSimulation simulation = capped(2, SEED);
        for (int i = 0; i < 6; i++) {
            simulation.call();
        }
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.inside).isEqualTo(2));
        simulation.call();
        simulation.call();
        assertThat(simulation.bulkhead.queued()).isEqualTo(2);
        // The permits that the opening gives back are on their way to the two when the limit shrinks.
        simulation.replicas.getFirst().instance.health().resilience4j().transitionToOpenState();
        simulation.advance(DEADLINE);
        assertThat(simulation.endings).hasSize(8).allMatch(TrafficSimulation.Ending::isAnswered);
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.mostInside).isEqualTo(2));
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    /** Calls that may not be sent twice, and more of them than the budget has retries. */
    @Test
    void sendsTheCallsThatCannotLeaveAnInstanceWhichOpensBeforeTheyAreSent() {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, SEED);
        simulation.method = HttpMethod.POST;
        Replica first = simulation.replicas.getFirst();
        first.connectsLate = true;
        for (int i = 0; i < LIMIT; i++) {
            simulation.call();
        }
        assertThat(first.inside).as("more than the budget's retries").isGreaterThan(20);
        first.instance.health().resilience4j().transitionToOpenState();
        simulation.advance(DEADLINE);
        assertThat(simulation.endings).hasSize(LIMIT).allMatch(TrafficSimulation.Ending::isAnswered);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    @Test
    void movesCallsThatBeganBeforeAReloadOfTheWeights() {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, SEED);
        Replica first = simulation.replicas.getFirst();
        first.fault = Fault.HANG;
        for (int i = 0; i < 12; i++) {
            simulation.call();
        }
        assertThat(first.inside).as("calls that hang").isPositive();
        simulation.reload(instance -> instance.with(2, instance.pool()));
        first.instance.health().resilience4j().transitionToOpenState();
        simulation.advance(Duration.ofMillis(100));
        assertThat(simulation.endings).hasSize(12).allMatch(TrafficSimulation.Ending::isAnswered);
    }

    @Test
    void repeatsNoCallOnTheSameInstanceAfterAReloadOfTheWeights() {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, SEED);
        simulation.replicas.forEach(replica -> replica.fault = Fault.REFUSED);
        int calls = 4;
        for (int i = 0; i < calls; i++) {
            simulation.call();
        }
        simulation.reload(instance -> instance.with(2, instance.pool()));
        simulation.advance(DEADLINE);
        assertThat(simulation.endings).hasSize(calls);
        assertThat(simulation.replicas.stream().mapToInt(replica -> replica.calls))
                .as("calls that reached each instance")
                .allMatch(reached -> reached <= calls);
    }

    // ---------------------------------------------------------------- streams

    @Test
    void ejectsAnInstanceThatHangsWithAsManyCallsAsItsCap() {
        InstancesSimulation simulation = capped(2, SEED);
        simulation.traffic(100, Duration.ofSeconds(5));
        simulation.endings.clear();
        simulation.replicas.getFirst().fault = Fault.HANG;
        simulation.traffic(100, Duration.ofSeconds(15));
        assertThat(simulation.replicas.getFirst().isOpen()).isTrue();
        assertThat(simulation.failed()).as("callers who got no answer").isLessThanOrEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void countsStreamsAsLoad(boolean isWebSocket) {
        InstancesSimulation simulation = calm(3, 20);
        List<Exchange> open = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            open.add(isWebSocket ? simulation.openWebSocket() : simulation.openStream());
            simulation.advance(Duration.ofMillis(50));
        }
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.instance.streams()).isBetween(18, 22));

        Replica first = simulation.replicas.getFirst();
        // The streams of the first instance end, so it gets the next ones.
        open.stream()
                .filter(exchange -> exchange.record().instance() == first.instance)
                .forEach(Exchange::callerLeft);
        assertThat(first.instance.streams()).isZero();
        for (int i = 0; i < 90; i++) {
            open.add(isWebSocket ? simulation.openWebSocket() : simulation.openStream());
            simulation.advance(Duration.ofMillis(50));
        }
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.instance.streams()).isBetween(38, 50));
        assertThat(Duration.ofNanos(first.instance.lastLatencyNanos()))
                .as("the latency is that of the head")
                .isLessThan(Duration.ofMillis(50));
        open.forEach(Exchange::callerLeft);
        assertThat(simulation.replicas)
                .allSatisfy(replica -> assertThat(replica.instance.streams()).isZero());
    }
}
