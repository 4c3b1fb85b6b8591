package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.engine.TrafficSimulation.Ending;
import io.weir.engine.TrafficSimulation.Fault;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The circuit breaker at every traffic, deadline and fault, with the real engine in virtual time: whether it
 * opens, how many callers wait, and how soon the backend's callers are served again. Then the faults that
 * were once reproduced, one by one.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HealthScenarioTest {

    private static final Duration SERVICE = Duration.ofMillis(10);
    private static final Duration PROBE_INTERVAL = Duration.ofMillis(100);
    private static final int LIMIT = 64;
    private static final int STALL_CALLS = 5;
    private static final long FIRST_SEED = 200;

    /** Traffic and the time for which the backend is faulty. */
    private enum Traffic {
        ONE_A_MINUTE(1, Duration.ofMinutes(1), Duration.ofMinutes(12)),
        ONE_A_SECOND(1, Duration.ofSeconds(1), Duration.ofSeconds(60)),
        SIX_EVERY_SIX_SECONDS(6, Duration.ofSeconds(6), Duration.ofSeconds(60)),
        THREE_HUNDRED_A_SECOND(3, Duration.ofMillis(10), Duration.ofSeconds(8)),
        FIVE_THOUSAND_A_SECOND(5, Duration.ofMillis(1), Duration.ofSeconds(4));

        final int callers;
        final Duration interval;
        final Duration faulty;

        Traffic(int callers, Duration interval, Duration faulty) {
            this.callers = callers;
            this.interval = interval;
            this.faulty = faulty;
        }

        /** Long enough for twenty calls within a minute. */
        boolean hasAWindow() {
            return this != ONE_A_MINUTE;
        }
    }

    List<Arguments> everyCase() {
        List<Arguments> cases = new ArrayList<>();
        for (Traffic traffic : Traffic.values()) {
            for (Duration deadline : List.of(Duration.ofMillis(300), Duration.ofSeconds(2), Duration.ofSeconds(20))) {
                for (Fault fault : Fault.values()) {
                    if (fault != Fault.NONE) {
                        cases.add(Arguments.of(traffic, deadline, fault, FIRST_SEED + cases.size()));
                    }
                }
            }
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("everyCase")
    void opensByTheRulesAndServesAgainSoonAfterTheHeal(Traffic traffic, Duration deadline, Fault fault, long seed) {
        TrafficSimulation simulation = new TrafficSimulation(deadline, LIMIT, LIMIT, seed);
        simulation.service = SERVICE;
        Duration calm = atLeast(traffic.interval.multipliedBy(10), Duration.ofSeconds(1));
        simulation.traffic(traffic.callers, traffic.interval, calm);
        assertThat(simulation.endings).as("calm").allMatch(Ending::isAnswered);
        simulation.endings.clear();

        simulation.fault = fault;
        // The heal comes at a random moment between two callers, and between two probes.
        long late = (long) (new Random(seed).nextDouble() * traffic.interval.toNanos());
        simulation.traffic(traffic.callers, traffic.interval, traffic.faulty.plusNanos(late));

        boolean opens = opens(traffic, fault);
        assertThat(simulation.openedAt() > 0).as("opens").isEqualTo(opens);
        List<Ending> duringFault = List.copyOf(simulation.endings);
        simulation.endings.clear();
        long healedAt = simulation.now();
        simulation.fault = Fault.NONE;
        Duration after = atLeast(traffic.interval.multipliedBy(5), Duration.ofSeconds(4));
        simulation.traffic(traffic.callers, traffic.interval, after);
        simulation.advance(deadline);

        if (fault == Fault.HANG) {
            List<Ending> all = new ArrayList<>(duringFault);
            all.addAll(simulation.endings);
            long openedAt = simulation.openedAt();
            assertThat(all.stream()
                            .filter(ending -> waitedOut(ending, deadline))
                            .count())
                    .as("callers who wait out the deadline")
                    .isLessThanOrEqualTo(simulation.inBackendAtOpening() + STALL_CALLS);
            assertThat(all)
                    .as("none that came after the opening")
                    .noneMatch(ending -> ending.arrivedAt() > openedAt && waitedOut(ending, deadline));
        }
        assertServedAgain(simulation, traffic, deadline, healedAt);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(LIMIT);
    }

    private static boolean opens(Traffic traffic, Fault fault) {
        return switch (fault) {
            case NONE, SOME_ERRORS -> false;
            // Each stalled call counts, at any traffic; failures need twenty calls within a minute.
            case HANG -> true;
            case RESET, ERRORS, REFUSED -> traffic.hasAWindow();
        };
    }

    private static boolean waitedOut(Ending ending, Duration deadline) {
        return ending.reason() == Reason.DEADLINE_EXCEEDED && ending.nanos() >= deadline.toNanos();
    }

    /** At low traffic, the first callers after the heal are the probe. */
    private static void assertServedAgain(
            TrafficSimulation simulation, Traffic traffic, Duration deadline, long healedAt) {
        long stall = Math.max(Math.min(deadline.toNanos() / 2, 2_000_000_000L), 3 * SERVICE.toNanos());
        double doublings = Math.log(LIMIT / 5.0) / Math.log(2);
        long slack = Math.max(PROBE_INTERVAL.toNanos() * 11 / 10, stall / 4 * 11 / 10)
                + SERVICE.toNanos()
                + (long) (doublings * SERVICE.toNanos())
                + Duration.ofMillis(200).toNanos();
        long from = healedAt + slack;
        boolean sparse = traffic.interval.toNanos() > PROBE_INTERVAL.toNanos();
        List<Ending> later = simulation.endings.stream()
                .filter(ending -> ending.arrivedAt() > from)
                .filter(ending -> !sparse || ending.arrivedAt() > healedAt + traffic.interval.toNanos() + slack)
                .toList();
        assertThat(later).isNotEmpty();
        assertThat(100.0 * later.stream().filter(Ending::isAnswered).count() / later.size())
                .as("answered after the heal, in percent")
                .isGreaterThanOrEqualTo(99);
        if (sparse) {
            long lost = simulation.endings.stream()
                    .filter(ending -> ending.arrivedAt() > healedAt && !ending.isAnswered())
                    .count();
            assertThat(lost).as("lost after the heal: the first burst").isLessThanOrEqualTo(traffic.callers);
        }
        assertThat(simulation.health.state()).isEqualTo(State.CLOSED);
    }

    private static Duration atLeast(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }

    // ---------------------------------------------------------------- reproduced faults

    /** Resilience4j's half-open wants five calls within five seconds. */
    @Test
    void closesAtLowTraffic() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 1);
        simulation.traffic(6, Duration.ofSeconds(6), Duration.ofSeconds(30));
        simulation.fault = Fault.ERRORS;
        simulation.traffic(6, Duration.ofSeconds(6), Duration.ofSeconds(60));
        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        simulation.endings.clear();
        simulation.fault = Fault.NONE;

        simulation.traffic(6, Duration.ofSeconds(6), Duration.ofSeconds(60));

        assertThat(simulation.endings).hasSize(60);
        assertThat(simulation.endings.stream().filter(Ending::isAnswered)).hasSizeGreaterThanOrEqualTo(54);
        assertThat(simulation.endings.subList(6, 60)).allMatch(Ending::isAnswered);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 6, 20})
    void noCallerWaitsWhileItIsOpen(int callsPerSecond) {
        TrafficSimulation simulation = hanging(Duration.ofSeconds(2), callsPerSecond);

        simulation.traffic(1, Duration.ofSeconds(1).dividedBy(callsPerSecond), Duration.ofSeconds(25));

        assertThat(simulation.endings).hasSizeBetween(25 * callsPerSecond, 25 * callsPerSecond + 1);
        assertThat(simulation.endings)
                .allMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN && ending.nanos() == 0);
    }

    /** POSTs cannot be copied: one at a time waits for the stall time, which is 1 s here. */
    @Test
    void atMostOneCallerAtATimeWaitsWhereNoRequestCanBeCopied() {
        TrafficSimulation simulation = hanging(Duration.ofSeconds(2), 20);
        simulation.method = HttpMethod.POST;

        simulation.traffic(1, Duration.ofMillis(50), Duration.ofSeconds(25));

        List<Ending> waited =
                simulation.endings.stream().filter(ending -> ending.nanos() > 0).toList();
        assertThat(waited).hasSizeBetween(10, 26).allMatch(ending -> ending.nanos() <= 1_050_000_000L);
        for (int i = 1; i < waited.size(); i++) {
            assertThat(waited.get(i).arrivedAt())
                    .isGreaterThanOrEqualTo(waited.get(i - 1).endedAt());
        }
    }

    /** Five probes once held their slots until the deadline, and hung calls held the permits. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void hungProbesAndCallsDoNotDelayTheRecovery(int seed) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(20), 10, 10, seed);
        simulation.traffic(1, Duration.ofMillis(10), Duration.ofSeconds(2));
        simulation.fault = Fault.HANG;
        long late = (long) (new Random(seed).nextDouble() * 1e9);
        simulation.traffic(1, Duration.ofMillis(10), Duration.ofSeconds(5).plusNanos(late));
        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        simulation.fault = Fault.NONE;
        simulation.endings.clear();
        long healedAt = simulation.now();

        simulation.traffic(1, Duration.ofMillis(10), Duration.ofSeconds(2));

        long firstAnswer = simulation.endings.stream()
                .filter(Ending::isAnswered)
                .mapToLong(Ending::endedAt)
                .min()
                .orElseThrow();
        assertThat(firstAnswer - healedAt).isLessThan(Duration.ofSeconds(1).toNanos());
    }

    @Test
    void aFewSlowCallsAmongFastOnesOpenNothing() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 4);
        simulation.service = Duration.ofMillis(5);
        for (int second = 0; second < 5; second++) {
            simulation.service = Duration.ofMillis(1500);
            for (int i = 0; i < 5; i++) {
                simulation.call();
            }
            simulation.service = Duration.ofMillis(5);
            simulation.traffic(2, Duration.ofMillis(1), Duration.ofSeconds(1));
        }
        simulation.advance(Duration.ofSeconds(2));

        assertThat(simulation.endings).hasSize(10_025).allMatch(Ending::isAnswered);
    }

    /** Each caller sends its next request when the last one has ended; after a refusal, 10 ms later. */
    private static void repeatCalls(TrafficSimulation simulation, Duration time) {
        long end = simulation.now() + time.toNanos();
        simulation.onEnd = ending -> {
            if (simulation.now() < end) {
                simulation.schedule(ending.isAnswered() ? 0 : 10_000_000, simulation::call);
            }
        };
    }

    /** Twenty callers repeat calls of 1.2 s for 20 s: 333 answers are possible. */
    private static void assertNearlyAllAreAnswered(TrafficSimulation simulation) {
        simulation.advance(Duration.ofSeconds(23));

        assertThat(simulation.endings.stream().filter(Ending::isAnswered)).hasSizeGreaterThanOrEqualTo(300);
        assertThat(simulation.endings.stream().filter(ending -> !ending.isAnswered()))
                .hasSizeLessThanOrEqualTo(10);
    }

    /** Each of twenty callers sends its next request at once. */
    @Test
    void aSlowButHealthyBackendIsServed() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, 10, 5);
        simulation.service = Duration.ofMillis(1200);
        repeatCalls(simulation, Duration.ofSeconds(20));
        for (int i = 0; i < 20; i++) {
            simulation.call();
        }
        assertNearlyAllAreAnswered(simulation);
    }

    /**
     * The same at all defaults: the limit finds room for the callers. The first answers of a cold JVM are
     * late, and so are the callers.
     */
    @ParameterizedTest(name = "up to {0} ms late, seed {1}")
    @CsvSource({"0, 1", "50, 2", "100, 3", "200, 4", "200, 5", "300, 6", "300, 7", "300, 8", "400, 4", "400, 5"})
    void anAdaptiveLimitServesASlowButHealthyBackend(int lateMillis, int seed) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), TrafficSimulation.AUTO, 10, seed);
        simulation.service = Duration.ofMillis(1200);
        Random random = new Random(seed);
        long start = simulation.now();
        simulation.lateness = () -> (long)
                (random.nextDouble() * lateMillis * 1e6 * Math.max(0.1, Math.exp(-(simulation.now() - start) / 2e9)));
        repeatCalls(simulation, Duration.ofSeconds(20));
        for (int i = 0; i < 20; i++) {
            simulation.schedule((long) (random.nextDouble() * lateMillis * 1e6), simulation::call);
        }
        assertNearlyAllAreAnswered(simulation);
    }

    /** The same where no call waits: a refused call shows as well that the limit may be too low. */
    @Test
    void anAdaptiveLimitServesASlowButHealthyBackendWhereNoCallWaits() {
        TrafficSimulation simulation =
                new TrafficSimulation(Duration.ofSeconds(2), TrafficSimulation.AUTO, 0, 1, true, Duration.ZERO);
        simulation.service = Duration.ofMillis(1200);
        repeatCalls(simulation, Duration.ofSeconds(20));
        for (int i = 0; i < 20; i++) {
            simulation.call();
        }
        simulation.advance(Duration.ofSeconds(5));
        simulation.endings.clear();
        simulation.advance(Duration.ofSeconds(10));

        assertThat(simulation.endings.stream().filter(ending -> !ending.isAnswered()))
                .isEmpty();
    }

    @Test
    void opensOnAHangAlthoughCallersLeaveBeforeTheDeadline() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 6);
        simulation.callerTimeout = "500ms";
        simulation.traffic(1, Duration.ofMillis(50), Duration.ofSeconds(2));
        long from = simulation.now();
        simulation.fault = Fault.HANG;

        simulation.traffic(1, Duration.ofMillis(50), Duration.ofSeconds(10));

        assertThat(simulation.openedAt() - from)
                .isPositive()
                .isLessThanOrEqualTo(Duration.ofSeconds(2).toNanos());
        assertThat(simulation.endings.stream().filter(ending -> ending.arrivedAt() > simulation.openedAt()))
                .isNotEmpty()
                .allMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN && ending.nanos() == 0);
    }

    /** The calls that hang were sent before the last answer, and leave no permit for another one. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 10, TrafficSimulation.AUTO})
    void opensOnAHangOfCallsThatHoldAllPermits(int limit) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(20), limit, 10, 12);
        simulation.traffic(1, Duration.ofMillis(100), Duration.ofSeconds(10));
        simulation.fault = Fault.HANG;
        while (simulation.bulkhead.inUse() < simulation.bulkhead.maxConcurrentCalls() - 1) {
            simulation.call();
        }
        simulation.fault = Fault.NONE;
        simulation.service = SERVICE;
        simulation.call();
        simulation.fault = Fault.HANG;
        long answeredAt = simulation.now() + SERVICE.toNanos();
        simulation.traffic(1, Duration.ofMillis(100), Duration.ofSeconds(30));

        // The stall time of a fast route with this deadline.
        assertThat(simulation.openedAt() - answeredAt)
                .isPositive()
                .isLessThanOrEqualTo(Duration.ofMillis(2200).toNanos());
        assertThat(simulation.endings.stream().filter(ending -> ending.arrivedAt() > simulation.openedAt()))
                .isNotEmpty()
                .allMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN && ending.nanos() == 0);
    }

    /** Without the breaker, the bounds of this class are missed. */
    @Test
    void missesTheBoundsWithoutTheBreaker() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 11, false);
        simulation.traffic(3, Duration.ofMillis(10), Duration.ofSeconds(1));
        simulation.endings.clear();
        simulation.fault = Fault.HANG;
        simulation.traffic(3, Duration.ofMillis(10), Duration.ofSeconds(8));

        assertThat(simulation.endings.stream().filter(ending -> waitedOut(ending, Duration.ofSeconds(2))))
                .hasSizeGreaterThan(2 * (LIMIT + STALL_CALLS));
    }

    // ---------------------------------------------------------------- traffic that must not open the breaker

    @Test
    void aBurstAfterAnIdleMinuteOpensNothing() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 7);
        simulation.traffic(1, Duration.ofMillis(100), Duration.ofSeconds(5));
        simulation.advance(Duration.ofSeconds(61));
        // The backend is cold, too.
        simulation.service = Duration.ofMillis(1900);
        for (int i = 0; i < LIMIT; i++) {
            simulation.call();
        }
        simulation.advance(Duration.ofSeconds(3));

        assertThat(simulation.openedAt()).isEqualTo(-1);
        assertThat(simulation.endings).allMatch(Ending::isAnswered);
    }

    @Test
    void callersWhoLeaveAfterTenMillisecondsOpenNothing() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 8);
        simulation.traffic(1, Duration.ofMillis(10), Duration.ofSeconds(2));
        simulation.callerTimeout = "10ms";
        simulation.traffic(1, Duration.ofMillis(10), Duration.ofSeconds(20));

        assertThat(simulation.openedAt()).isEqualTo(-1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"SOME_ERRORS", "NONE"})
    void aBackendThatAnswersMostCallsStaysInUse(Fault fault) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), LIMIT, LIMIT, 9);
        simulation.fault = fault;
        simulation.traffic(3, Duration.ofMillis(10), Duration.ofSeconds(60));

        assertThat(simulation.openedAt()).isEqualTo(-1);
        assertThat(simulation.endings).noneMatch(ending -> ending.reason() != null);
    }

    /** A limit of one is left out: there, one call that stalls is all that the backend has. */
    @ParameterizedTest
    @ValueSource(ints = {2, 10, TrafficSimulation.AUTO})
    void aLongReportAmongFastCallsOpensNothing(int limit) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(20), limit, 10, 13);
        simulation.service = SERVICE;
        for (int minute = 0; minute < 15; minute++) {
            simulation.traffic(1, Duration.ofSeconds(2), Duration.ofSeconds(20));
            simulation.service = Duration.ofSeconds(15);
            simulation.call();
            simulation.service = SERVICE;
            // The last answer gets 2 s old, and no other call is under way for some time.
            simulation.traffic(1, Duration.ofMillis(700), Duration.ofSeconds(1));
            simulation.advance(Duration.ofSeconds(10));
            simulation.traffic(1, Duration.ofSeconds(2), Duration.ofSeconds(20));
        }

        assertThat(simulation.openedAt()).isEqualTo(-1);
        assertThat(simulation.endings).allMatch(Ending::isAnswered);
    }

    /** At one call a minute, nobody is refused even where one call is all that the limit allows. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 10, TrafficSimulation.AUTO})
    void aLongReportAtOneCallAMinuteCostsNobodyAnAnswer(int limit) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(20), limit, 10, 14);
        for (int minute = 0; minute < 40; minute++) {
            simulation.service = minute % 10 == 9 ? Duration.ofSeconds(15) : SERVICE;
            simulation.traffic(1, Duration.ofMinutes(1), Duration.ofMinutes(1));
        }

        assertThat(simulation.endings).hasSize(40).allMatch(Ending::isAnswered);
    }

    /** Ten callers of whom each calls again at once: all permits are always held. */
    @ParameterizedTest
    @CsvSource({"1, 1500", "2, 1500", "10, 1500", "0, 1500", "1, 6000", "2, 6000", "10, 6000", "0, 6000"})
    void answersInBurstsOpenNothing(int limit, int intervalMillis) {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(20), limit, 10, 15);
        simulation.burstInterval = Duration.ofMillis(intervalMillis);
        repeatCalls(simulation, Duration.ofMinutes(5));
        for (int i = 0; i < 10; i++) {
            simulation.call();
        }
        simulation.advance(Duration.ofMinutes(6));

        assertThat(simulation.openedAt()).isEqualTo(-1);
        assertThat(simulation.endings.stream().filter(Ending::isAnswered)).hasSizeGreaterThan(40);
        assertThat(simulation.endings).noneMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN);
    }

    /** A backend that is warm, and then hangs until the breaker has opened and no caller waits. */
    private static TrafficSimulation hanging(Duration deadline, int callsPerSecond) {
        TrafficSimulation simulation = new TrafficSimulation(deadline, LIMIT, LIMIT, 2);
        simulation.traffic(1, Duration.ofSeconds(1).dividedBy(callsPerSecond), Duration.ofSeconds(20));
        simulation.fault = Fault.HANG;
        simulation.traffic(1, Duration.ofSeconds(1).dividedBy(callsPerSecond), Duration.ofSeconds(20));
        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        simulation.advance(deadline);
        simulation.endings.clear();
        return simulation;
    }
}
