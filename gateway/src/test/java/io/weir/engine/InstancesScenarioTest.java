package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.engine.InstancesSimulation.Replica;
import io.weir.engine.TrafficSimulation.Fault;
import io.weir.limit.Limit.Change;
import io.weir.limit.LimitInForce.Binding;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
class InstancesScenarioTest {

    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final int LIMIT = 60;
    private static final int MOST_FAILED_CALLS = 6;
    private static final int MOST_CALLS_IN_A_HANG = 8;
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
            // Those who wait in the instance when it is ejected go to another one.
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
        List<Long> times = simulation.endings.stream()
                .map(TrafficSimulation.Ending::nanos)
                .sorted()
                .toList();
        assertThat(Duration.ofNanos(times.get(times.size() * 99 / 100)))
                .as("p99")
                .isLessThanOrEqualTo(Duration.ofMillis(40));
        assertThat(simulation.answeredShare()).isEqualTo(1);
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

    /** The limit follows the share of an instance that leaves or returns, and goes on learning meanwhile. */
    @Test
    void anAdaptiveLimitLearnsWhileAnInstanceIsOut() {
        InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, TrafficSimulation.AUTO, SEED);
        simulation.replicas.forEach(replica -> {
            replica.service = Duration.ofMillis(50);
            replica.workers = 10;
        });
        simulation.traffic(300, Duration.ofSeconds(10));
        simulation.traffic(800, Duration.ofSeconds(15));
        int before = simulation.bulkhead.maxConcurrentCalls();
        assertThat(before).as("of twenty workers").isBetween(22, 34);

        Replica bad = simulation.replicas.getFirst();
        bad.fault = Fault.REFUSED;
        simulation.traffic(800, Duration.ofSeconds(2));
        assertThat(bad.isOpen()).isTrue();
        int half = simulation.bulkhead.maxConcurrentCalls();
        assertThat(half).as("of ten workers").isBetween(before / 3, before * 2 / 3);
        Replica good = simulation.replicas.get(1);
        good.workers = 5;
        simulation.traffic(800, Duration.ofSeconds(25));
        int lower = simulation.bulkhead.maxConcurrentCalls();
        assertThat(lower).as("of five workers").isBetween(5, 11).isLessThan(half);
        assertThat(simulation.limitInForce.binding()).isEqualTo(Binding.AUTO);
        good.workers = 20;
        simulation.traffic(800, Duration.ofSeconds(20));
        int higher = simulation.bulkhead.maxConcurrentCalls();
        assertThat(higher).as("of twenty workers").isBetween(22, 36);

        bad.fault = Fault.NONE;
        bad.workers = 20;
        simulation.traffic(1600, Duration.ofSeconds(3));
        assertThat(bad.isOpen()).isFalse();
        assertThat(simulation.bulkhead.maxConcurrentCalls())
                .as("of forty workers")
                .isBetween(higher * 3 / 2, 75);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"ERRORS", "HANG", "REFUSED", "RESET"})
    void oneBadInstanceDoesNotLowerAnAdaptiveLimit(Fault fault) {
        InstancesSimulation simulation = adaptive();
        int before = simulation.limitInForce.permits();
        Replica bad = simulation.replicas.getFirst();
        bad.errorStatus = 503;
        bad.fault = fault;
        long sheds = simulation.limitInForce.changes(Change.SHEDDING);
        long timeOuts = simulation.limitInForce.changes(Change.TIMEOUTS);
        simulation.traffic(200, Duration.ofSeconds(20));

        assertThat(bad.isOpen()).isTrue();
        assertThat(simulation.limitInForce.changes(Change.SHEDDING)).isEqualTo(sheds);
        assertThat(simulation.limitInForce.changes(Change.TIMEOUTS)).isEqualTo(timeOuts);
        assertThat(simulation.limitInForce.permits()).as("of all instances").isGreaterThanOrEqualTo(before);
        assertThat(simulation.failed()).isLessThanOrEqualTo(MOST_CALLS_IN_A_HANG);
    }

    /** Each instance refuses more than it can do: the limit's matter, and nobody is ejected. */
    @Test
    void refusalsOfAllInstancesLowerAnAdaptiveLimit() {
        InstancesSimulation simulation = adaptive();
        simulation.replicas.forEach(replica -> {
            replica.errorStatus = 503;
            replica.fault = Fault.SOME_ERRORS;
        });
        simulation.traffic(300, Duration.ofSeconds(20));

        assertThat(simulation.limitInForce.changes(Change.SHEDDING)).isPositive();
        assertThat(simulation.replicas).noneMatch(Replica::isOpen);
    }

    private static InstancesSimulation adaptive() {
        InstancesSimulation simulation = new InstancesSimulation(3, DEADLINE, TrafficSimulation.AUTO, SEED);
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
        simulation.health.forceOpen();
        simulation.traffic(20, Duration.ofSeconds(1));
        assertThat(simulation.endings).allMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN);
        simulation.health.release();
        simulation.endings.clear();
        simulation.traffic(20, Duration.ofSeconds(1));
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }
}
