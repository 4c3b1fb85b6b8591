package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.engine.InstancesSimulation.Replica;
import io.weir.engine.TrafficSimulation.Fault;
import io.weir.instance.LoadBalancingPolicy;
import io.weir.instance.LoadBalancingProperties;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A backend with primaries and backups, with the real engine in virtual time. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("simulation")
class BackupsScenarioTest {

    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final int LIMIT = 60;
    private static final long SEED = 1;

    private InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, LIMIT, SEED);
    private int primaries;

    private void create(int primariesWanted, int backups, int limit) {
        create(primariesWanted, new InstancesSimulation(primariesWanted + backups, DEADLINE, limit, SEED));
    }

    private void create(int primariesWanted, InstancesSimulation created) {
        primaries = primariesWanted;
        simulation = created;
        List<Replica> backups = backups();
        simulation.reload(instance -> backups.stream().anyMatch(backup -> backup.instance == instance)
                ? instance.with(1, true, instance.pool())
                : instance);
    }

    private List<Replica> primaries() {
        return simulation.replicas.subList(0, primaries);
    }

    private List<Replica> backups() {
        return simulation.replicas.subList(primaries, simulation.replicas.size());
    }

    private static int calls(List<Replica> replicas) {
        return replicas.stream().mapToInt(replica -> replica.calls).sum();
    }

    private void calm(int perSecond) {
        simulation.traffic(perSecond, Duration.ofSeconds(20));
        assertThat(simulation.answeredShare()).as("calm").isEqualTo(1);
        assertThat(calls(backups())).as("calls to backups in calm").isZero();
        simulation.endings.clear();
    }

    private void assertNothingHeld() {
        simulation.advance(DEADLINE);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    List<Arguments> faults() {
        List<Arguments> cases = new ArrayList<>();
        for (int perSecond : List.of(2, 20, 300)) {
            for (int instances : List.of(1, 2)) {
                for (Fault fault : List.of(Fault.HANG, Fault.ERRORS, Fault.RESET, Fault.REFUSED)) {
                    cases.add(Arguments.of(instances, perSecond, fault));
                }
            }
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("faults")
    void backupsServeWhilePrimariesFailAndLeaveTheCallsToThemAfterwards(int instances, int perSecond, Fault fault) {
        create(instances, instances, LIMIT);
        calm(perSecond);
        primaries().forEach(primary -> primary.fault = fault);
        simulation.traffic(perSecond, Duration.ofSeconds(perSecond < 20 ? 120 : 30));

        assertThat(primaries()).as("primaries").allMatch(Replica::isOpen);
        assertThat(backups()).as("backups").noneMatch(Replica::isOpen);
        assertThat(simulation.hasOpened).as("the backend opened").isFalse();
        assertThat(simulation.failed()).as("callers lost").isLessThanOrEqualTo(mostLost(instances, perSecond, fault));

        simulation.endings.clear();
        primaries().forEach(primary -> primary.fault = Fault.NONE);
        simulation.traffic(perSecond, Duration.ofSeconds(5));
        assertThat(primaries()).as("return").noneMatch(Replica::isOpen);
        int before = calls(backups());
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        assertThat(calls(backups())).as("calls to backups after the ramp").isEqualTo(before);
        assertThat(simulation.failed()).as("callers lost in the return").isZero();
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(LIMIT);
        assertNothingHeld();
    }

    /** Unsent and idempotent calls go to a backup at once; others are lost until the primaries open. */
    private static long mostLost(int instances, int perSecond, Fault fault) {
        return switch (fault) {
            case REFUSED, RESET -> 0;
            // As many as the window needs; a single instance without a backup loses as many.
            case ERRORS -> 50;
            // The retry budget bounds the calls that move, and fills again in time. Of two primaries, the
            // first one opens alone and spends the budget on the other one; and the queue is full before.
            default -> instances == 1 ? 5 : Math.max(5, perSecond * 3 / 20);
        };
    }

    @ParameterizedTest
    @EnumSource(names = {"HANG", "ERRORS", "RESET", "REFUSED"})
    void backupsGetNothingWhileOneOfTwoPrimariesFails(Fault fault) {
        create(2, 1, LIMIT);
        calm(100);
        primaries().getFirst().fault = fault;
        simulation.traffic(100, Duration.ofSeconds(30));
        primaries().getFirst().fault = Fault.NONE;
        simulation.traffic(100, Duration.ofSeconds(10));

        assertThat(calls(backups())).isZero();
        assertThat(primaries()).noneMatch(Replica::isOpen);
        assertThat(simulation.failed()).as("callers lost").isLessThanOrEqualTo(6);
        assertNothingHeld();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 20, 100})
    void aSlowPrimaryIsNoReason(int perSecond) {
        create(1, 1, LIMIT);
        calm(perSecond);
        primaries().getFirst().service = Duration.ofMillis(300);
        simulation.traffic(perSecond, Duration.ofSeconds(30));

        assertThat(calls(backups())).isZero();
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    @Test
    void aColdStartAndLateFirstAnswersAreNoReason() {
        create(2, 2, LIMIT);
        primaries().forEach(primary -> {
            primary.coldSince = simulation.now();
            primary.lateAnswers = 3;
            primary.late = Duration.ofMillis(300);
        });
        simulation.traffic(100, Duration.ofSeconds(10));

        assertThat(calls(backups())).isZero();
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    @Test
    void backupsShareTheCallsWhileAnOperatorHasDrainedAllPrimaries() {
        create(2, 2, LIMIT);
        calm(300);
        primaries()
                .forEach(primary -> assertThat(simulation.instances.mayDrain(primary.instance))
                        .as("may drain")
                        .isTrue());
        primaries().forEach(primary -> primary.instance.health().operator().drain());
        int before = calls(primaries());
        simulation.traffic(300, Duration.ofSeconds(10));
        assertThat(calls(primaries())).isEqualTo(before);
        assertThat(backups()).allSatisfy(backup -> assertThat(backup.calls).isBetween(1000, 2000));
        assertThat(backups())
                .allSatisfy(backup -> assertThat(simulation.instances.isInReserve(backup.instance))
                        .isFalse());

        primaries().forEach(primary -> primary.instance.restore());
        simulation.traffic(300, Duration.ofSeconds(2));
        before = calls(backups());
        simulation.traffic(300, Duration.ofSeconds(10));
        assertThat(calls(backups())).as("calls to backups after the ramp").isEqualTo(before);
        assertThat(simulation.answeredShare()).isEqualTo(1);
        assertThat(simulation.hasOpened).isFalse();
        assertNothingHeld();
    }

    @Test
    void backupsTakeTheCallsThatExceedARamp() {
        create(1, 1, LIMIT);
        simulation.replicas.forEach(replica -> replica.service = Duration.ofMillis(200));
        calm(200);
        primaries().getFirst().instance.health().operator().drain();
        simulation.traffic(200, Duration.ofSeconds(1));
        primaries().getFirst().instance.restore();
        int before = calls(backups());
        simulation.evenTraffic(200, Duration.ofMillis(200));
        assertThat(primaries().getFirst().inside).as("its ramp").isEqualTo(5);
        assertThat(calls(backups()) - before).as("calls beyond the ramp").isEqualTo(35);
        simulation.traffic(200, Duration.ofSeconds(5));
        assertThat(simulation.answeredShare()).isEqualTo(1);
        assertThat(backups().getFirst().inside).isZero();
    }

    @Test
    void aPrimaryThatRelapsesCostsFewCallsAndNoBackend() {
        create(1, 1, LIMIT);
        calm(100);
        Replica primary = primaries().getFirst();
        for (int i = 0; i < 20; i++) {
            primary.fault = Fault.REFUSED;
            simulation.traffic(100, Duration.ofSeconds(2));
            primary.fault = Fault.NONE;
            simulation.traffic(100, Duration.ofSeconds(1));
        }
        assertThat(simulation.hasOpened).isFalse();
        assertThat(simulation.failed()).as("callers lost").isZero();
    }

    @Test
    void anEjectedBackupOpensNothingWhilePrimariesAreIn() {
        create(2, 1, LIMIT);
        calm(100);
        Replica backup = backups().getFirst();
        backup.fault = Fault.HANG;
        backup.instance.health().resilience4j().transitionToOpenState();
        simulation.traffic(100, Duration.ofSeconds(5));
        assertThat(backup.isOpen()).isTrue();
        assertThat(backup.probes).as("probed like a primary").isPositive();
        assertThat(simulation.health.state()).isEqualTo(State.CLOSED);
        assertThat(simulation.bulkhead.maxConcurrentCalls()).as("limit").isEqualTo(LIMIT);

        backup.fault = Fault.NONE;
        simulation.traffic(100, Duration.ofSeconds(5));
        assertThat(backup.instance.health().isIn()).as("returns").isTrue();
        assertThat(backup.calls).isZero();
        assertThat(simulation.hasOpened).isFalse();
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(names = {"HANG", "ERRORS", "RESET", "REFUSED"})
    void theBackendOpensIfPrimariesAndBackupsFailAlike(Fault fault) {
        create(2, 2, LIMIT);
        calm(100);
        simulation.replicas.forEach(replica -> replica.fault = fault);
        simulation.traffic(100, Duration.ofSeconds(10));
        assertThat(simulation.health.state()).isEqualTo(State.OPEN);
        assertThat(simulation.endings.getLast().reason()).isEqualTo(Reason.CIRCUIT_OPEN);

        simulation.replicas.forEach(replica -> replica.fault = Fault.NONE);
        simulation.traffic(100, Duration.ofSeconds(5));
        assertThat(simulation.replicas).noneMatch(Replica::isOpen);
        simulation.endings.clear();
        int before = calls(backups());
        simulation.traffic(100, Duration.ofSeconds(5));
        assertThat(calls(backups())).isEqualTo(before);
        assertThat(simulation.answeredShare()).isEqualTo(1);
        assertNothingHeld();
    }

    @Test
    void aRouteThatFailsAloneOpensAloneAndMovesNothing() {
        create(1, 1, LIMIT);
        List<Route> routes = simulation.routesApart("good", "bad");
        simulation.routeFaults.set(routes.get(1), Fault.ERRORS);
        for (int i = 0; i < 500; i++) {
            simulation.call(routes.get(i % 2));
            simulation.advance(Duration.ofMillis(10));
        }
        assertThat(primaries().getFirst().isOpen()).isFalse();
        assertThat(calls(backups())).isZero();
        assertThat(simulation.endings.stream().filter(ending -> ending.route().equals("good")))
                .allMatch(TrafficSimulation.Ending::isAnswered);
        assertThat(simulation.endings.stream().filter(ending -> ending.reason() == Reason.CIRCUIT_OPEN))
                .as("refused by the route's breaker")
                .hasSizeGreaterThan(200);
    }

    @Test
    void callsWaitForAPrimaryThatHasAsManyCallsAsItsCap() {
        create(
                1,
                new InstancesSimulation(
                        2,
                        DEADLINE,
                        LIMIT,
                        SEED,
                        new LoadBalancingProperties(
                                LoadBalancingPolicy.ROUND_ROBIN, null, null, Duration.ofSeconds(10), 4)));
        simulation.traffic(150, Duration.ofSeconds(10));
        assertThat(primaries().getFirst().mostInside).isEqualTo(4);
        assertThat(calls(backups())).isZero();
        assertThat(simulation.answeredShare()).isEqualTo(1);
    }

    @Test
    void aReloadChangesTheTierOfAnInstance() {
        create(1, 1, LIMIT);
        calm(100);
        simulation.reload(instance -> instance.with(1, !instance.isBackup(), instance.pool()));
        int before = calls(primaries());
        simulation.traffic(100, Duration.ofSeconds(5));
        assertThat(calls(primaries())).as("calls to the former primary").isEqualTo(before);
        assertThat(calls(backups())).as("calls to the former backup").isPositive();

        simulation.reload(instance -> instance.with(1, false, instance.pool()));
        simulation.traffic(100, Duration.ofSeconds(5));
        assertThat(calls(primaries())).as("both are primaries").isGreaterThan(before);
        assertThat(simulation.answeredShare()).isEqualTo(1);
        assertNothingHeld();
    }

    @ParameterizedTest
    @EnumSource(names = {"HANG", "RESET", "REFUSED"})
    void anAdaptiveLimitServesBothTiers(Fault fault) {
        create(2, 2, TrafficSimulation.AUTO);
        simulation.replicas.forEach(replica -> replica.workers = 10);
        calm(200);
        primaries().forEach(primary -> primary.fault = fault);
        simulation.traffic(200, Duration.ofSeconds(3));
        simulation.endings.clear();
        simulation.traffic(200, Duration.ofSeconds(20));
        assertThat(simulation.answeredShare()).as("by the backups").isEqualTo(1);
        primaries().forEach(primary -> primary.fault = Fault.NONE);
        simulation.traffic(200, Duration.ofSeconds(20));
        assertThat(simulation.answeredShare()).as("in the return").isEqualTo(1);
        assertThat(simulation.hasOpened).isFalse();
        assertNothingHeld();
    }

    @Test
    void callsThatMayNotBeSentTwiceGoToABackupAfterTheOpening() {
        create(1, 1, LIMIT);
        simulation.method = HttpMethod.POST;
        calm(100);
        primaries().getFirst().fault = Fault.RESET;
        simulation.traffic(100, Duration.ofSeconds(10));
        assertThat(simulation.failed()).as("lost by the window of the breaker").isLessThanOrEqualTo(60);
        assertThat(simulation.hasOpened).isFalse();
        simulation.endings.clear();
        simulation.traffic(100, Duration.ofSeconds(10));
        assertThat(simulation.failed()).as("callers who were probes").isLessThanOrEqualTo(3);
    }

    /**
     * The budget holds 20 retries and 10 a second. Without new calls, only the latter come after the opening.
     */
    @Test
    void callsLeaveAPrimaryThatHangsAsFastAsTheRetryBudgetAllows() {
        create(1, new InstancesSimulation(2, Duration.ofSeconds(2), 1000, SEED));
        calm(300);
        Replica primary = primaries().getFirst();
        primary.fault = Fault.HANG;
        simulation.evenTraffic(300, Duration.ofMillis(1050));
        assertThat(primary.isOpen()).isTrue();
        int atOpening = calls(backups());
        assertThat(atOpening).as("moved, or new").isBetween(30, 50);
        assertThat(primary.inside).as("left").isBetween(250, 290);

        simulation.advance(Duration.ofMillis(500));
        assertThat(calls(backups()) - atOpening).as("moved later").isBetween(4, 6);
        simulation.advance(Duration.ofSeconds(2));
        assertThat(primary.inside).isZero();
        assertNothingHeld();
    }

    @Test
    void losesNoPermitInAnyOrderOfFaults() {
        for (long seed = 1; seed <= 30; seed++) {
            create(2, new InstancesSimulation(4, DEADLINE, LIMIT, seed));
            Random random = new Random(seed);
            Fault[] kinds = Fault.values();
            for (int i = 0; i < 40; i++) {
                Replica one = simulation.replicas.get(random.nextInt(4));
                one.fault = random.nextBoolean() ? Fault.NONE : kinds[random.nextInt(kinds.length)];
                if (random.nextInt(5) == 0) {
                    Replica moved = simulation.replicas.get(1 + random.nextInt(3));
                    simulation.reload(instance -> instance == moved.instance
                            ? instance.with(1, !instance.isBackup(), instance.pool())
                            : instance);
                }
                simulation.traffic(200, Duration.ofMillis(300));
            }
            simulation.replicas.forEach(replica -> replica.fault = Fault.NONE);
            simulation.traffic(100, Duration.ofSeconds(20));
            simulation.endings.clear();
            simulation.traffic(100, Duration.ofSeconds(5));
            assertThat(simulation.answeredShare()).as("seed " + seed).isEqualTo(1);
            assertNothingHeld();
        }
    }
}
