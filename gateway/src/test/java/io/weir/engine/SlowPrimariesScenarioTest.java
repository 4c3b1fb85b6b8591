package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.InstancesSimulation.Replica;
import io.weir.engine.TrafficSimulation.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A primary that becomes slower than the stall time, with and without a backup, with the real engine in
 * virtual time. It answers within the deadline, so it is no outage.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("simulation")
class SlowPrimariesScenarioTest {

    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Duration STALL = DEADLINE.dividedBy(2);
    private static final Duration HALF = Duration.ofSeconds(15);
    private static final int AMPLE = 1000;
    private static final long SEED = 1;

    /** What happened in a time: openings of the primary, calls to the backup, callers without an answer. */
    private record Course(int openings, int toBackup, long lost, int callers) {}

    /** A backend of one instance, or of a primary and a backup. */
    private static InstancesSimulation calm(int instances, int limit, int perSecond) {
        InstancesSimulation simulation = new InstancesSimulation(instances, DEADLINE, limit, SEED);
        if (instances > 1) {
            Replica backup = simulation.replicas.getLast();
            simulation.reload(one -> one == backup.instance ? one.with(1, true, one.pool()) : one);
        }
        simulation.traffic(perSecond, Duration.ofSeconds(20));
        assertThat(simulation.answeredShare()).as("calm").isEqualTo(1);
        simulation.endings.clear();
        return simulation;
    }

    private static Course course(InstancesSimulation simulation, int perSecond, Duration time) {
        Replica primary = simulation.replicas.getFirst();
        Replica backup = simulation.replicas.getLast();
        int openings = primary.openings;
        int calls = backup.calls;
        simulation.endings.clear();
        simulation.traffic(perSecond, time);
        return new Course(
                primary.openings - openings,
                backup == primary ? 0 : backup.calls - calls,
                simulation.failed(),
                simulation.endings.size());
    }

    private static void assertNothingHeld(InstancesSimulation simulation) {
        simulation.advance(DEADLINE);
        assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
    }

    List<Arguments> steps() {
        List<Arguments> steps = new ArrayList<>();
        for (int millis : List.of(400, 800, 1500, 1900)) {
            for (int perSecond : List.of(2, 20, 100, 300)) {
                steps.add(Arguments.of(millis, perSecond));
            }
        }
        return steps;
    }

    @ParameterizedTest
    @MethodSource("steps")
    void opensAtMostOnceAndServesAllCallsAfterwards(int millis, int perSecond) {
        InstancesSimulation simulation = calm(2, AMPLE, perSecond);
        simulation.replicas.getFirst().service = Duration.ofMillis(millis);

        Course first = course(simulation, perSecond, HALF);
        assertThat(first.openings).as("openings").isLessThanOrEqualTo(millis > STALL.toMillis() ? 1 : 0);
        assertThat(first.toBackup).as("calls to the backup").isLessThanOrEqualTo(first.openings * (14 + 6 * perSecond));
        assertThat(first.lost).as("callers lost").isZero();
        assertThat(course(simulation, perSecond, HALF))
                .as("afterwards")
                .returns(0, Course::openings)
                .returns(0, Course::toBackup)
                .returns(0L, Course::lost);
        assertThat(simulation.hasOpened).as("the backend opened").isFalse();
        assertNothingHeld(simulation);
    }

    /** Callers are refused only until the first answer, and while the ramp is short. */
    @ParameterizedTest
    @MethodSource("steps")
    void opensAtMostOnceWithoutABackupToo(int millis, int perSecond) {
        InstancesSimulation simulation = calm(1, AMPLE, perSecond);
        simulation.replicas.getFirst().service = Duration.ofMillis(millis);

        Course first = course(simulation, perSecond, HALF);
        assertThat(first.openings).as("openings").isLessThanOrEqualTo(millis > STALL.toMillis() ? 1 : 0);
        assertThat(first.lost).as("callers lost").isLessThanOrEqualTo(first.openings * 2L * perSecond);
        assertThat(course(simulation, perSecond, HALF))
                .as("afterwards")
                .returns(0, Course::openings)
                .returns(0L, Course::lost);
        assertNothingHeld(simulation);
    }

    /** A limit of 60, or an adaptive one: calls beyond the limit are refused with and without a backup. */
    @ParameterizedTest
    @CsvSource({
        "60, 400",
        "60, 800",
        "60, 1500",
        "60, 1900",
        "0, 400",
        "0, 800",
        "0, 1500",
        "0, 1900",
        "1000, 1500",
        "1000, 1900"
    })
    void losesNoMoreCallersThanOneInstanceWithoutABackup(int limit, int millis) {
        for (int perSecond : List.of(2, 20, 100, 300)) {
            Course single = inThirtySeconds(1, limit, perSecond, one -> one.service = Duration.ofMillis(millis));
            Course tiers = inThirtySeconds(2, limit, perSecond, one -> one.service = Duration.ofMillis(millis));
            assertThat(share(tiers)).as("lost at %d/s", perSecond).isLessThanOrEqualTo(share(single) + 0.01);
            assertThat(single.openings).as("openings at %d/s", perSecond).isLessThanOrEqualTo(1);
            assertThat(tiers.openings).as("openings at %d/s", perSecond).isLessThanOrEqualTo(1);
        }
    }

    private static double share(Course course) {
        return (double) course.lost / course.callers;
    }

    private static Course inThirtySeconds(int instances, int limit, int perSecond, Consumer<Replica> change) {
        InstancesSimulation simulation = calm(instances, limit, perSecond);
        change.accept(simulation.replicas.getFirst());
        Course course = course(simulation, perSecond, HALF.multipliedBy(2));
        assertNothingHeld(simulation);
        return course;
    }

    /** Log-normal times, of which up to a quarter miss the deadline; and a tenth of fast answers. */
    @ParameterizedTest
    @CsvSource({"300, 0.7", "800, 0.7", "300, 1.2", "800, 1.2"})
    void heavyTailsOpenNothing(int medianMillis, double sigma) {
        for (int perSecond : List.of(2, 20, 100, 300)) {
            Random random = new Random(SEED);
            Course course = inThirtySeconds(
                    2,
                    AMPLE,
                    perSecond,
                    one -> one.answerNanos =
                            () -> (long) (medianMillis * 1e6 * Math.exp(sigma * random.nextGaussian())));
            assertThat(course.openings).as("at %d/s", perSecond).isZero();
            assertThat(course.toBackup).as("at %d/s", perSecond).isZero();
        }
    }

    /** What the backup has answered in the outage shows nothing about the calls that fail later. */
    @ParameterizedTest
    @CsvSource({"20", "100", "300"})
    void someErrorsAfterAnOutageOpenNothing(int perSecond) {
        InstancesSimulation simulation = calm(2, AMPLE, perSecond);
        Replica primary = simulation.replicas.getFirst();
        primary.fault = Fault.REFUSED;
        assertThat(course(simulation, perSecond, Duration.ofSeconds(5)).openings)
                .isOne();
        primary.fault = Fault.NONE;
        simulation.traffic(perSecond, Duration.ofSeconds(5));

        primary.fault = Fault.SOME_ERRORS;
        Course course = course(simulation, perSecond, Duration.ofSeconds(30));
        assertThat(course.openings).isZero();
        assertThat(course.toBackup).isZero();
        assertNothingHeld(simulation);
    }

    /** The slow answer has made the stall time as long as the deadline; it counts from the last answer. */
    @ParameterizedTest
    @CsvSource({"20", "100", "300"})
    void aHangOfASlowPrimaryOpensAtItsDeadline(int perSecond) {
        InstancesSimulation simulation = calm(2, AMPLE, perSecond);
        Replica primary = simulation.replicas.getFirst();
        primary.service = Duration.ofMillis(1500);
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        assertThat(primary.isOpen()).as("served by it").isFalse();

        primary.fault = Fault.HANG;
        assertOpensWithin(simulation, perSecond, primary.service.plus(DEADLINE).plusMillis(500));
    }

    @ParameterizedTest
    @CsvSource({"20", "100", "300"})
    void aHangOfAPrimaryThatIsFastAgainOpensAtTheStallTime(int perSecond) {
        InstancesSimulation simulation = calm(2, AMPLE, perSecond);
        Replica primary = simulation.replicas.getFirst();
        primary.service = Duration.ofMillis(1500);
        simulation.traffic(perSecond, Duration.ofSeconds(4));
        primary.service = Duration.ofMillis(20);
        simulation.traffic(perSecond, Duration.ofSeconds(5));
        assertThat(primary.isOpen()).isFalse();

        primary.fault = Fault.HANG;
        assertOpensWithin(simulation, perSecond, STALL.plusMillis(500));
    }

    /** All permits are held, and the calls that wait for them have less than the deadline left. */
    @ParameterizedTest
    @CsvSource({"1, 60, 100", "1, 60, 300", "2, 60, 100", "2, 60, 300", "1, 0, 300", "2, 0, 300"})
    void aHangOfASlowPrimaryOpensWhileCallsQueue(int instances, int limit, int perSecond) {
        InstancesSimulation simulation = calm(instances, limit, perSecond);
        Replica primary = simulation.replicas.getFirst();
        primary.service = Duration.ofMillis(1500);
        simulation.traffic(perSecond, Duration.ofSeconds(10));
        assertThat(primary.isOpen()).as("served by it").isFalse();

        primary.fault = Fault.HANG;
        simulation.traffic(perSecond, primary.service.plus(DEADLINE).plusMillis(500));
        assertThat(primary.isOpen()).as("open").isTrue();
    }

    private static void assertOpensWithin(InstancesSimulation simulation, int perSecond, Duration time) {
        Replica primary = simulation.replicas.getFirst();
        simulation.traffic(perSecond, time);
        assertThat(primary.isOpen()).as("open").isTrue();
        simulation.advance(DEADLINE);
        Course course = course(simulation, perSecond, HALF);
        assertThat(course.openings).as("openings by probes that hang").isZero();
        assertThat(course.lost).as("callers lost while the backup serves").isZero();
        assertThat(simulation.hasOpened).as("the backend opened").isFalse();
    }

    @Test
    void theFirstAnswerOfARestartMayTakeAsLongAsTheDeadline() {
        InstancesSimulation simulation = calm(2, AMPLE, 100);
        Replica primary = simulation.replicas.getFirst();
        primary.kill();
        simulation.traffic(100, Duration.ofSeconds(5));
        primary.fault = Fault.NONE;
        primary.lateAnswers = 20;
        primary.late = Duration.ofMillis(1900);
        Course course = course(simulation, 100, HALF);
        assertThat(course.openings).as("openings").isZero();
        assertThat(course.lost).as("callers lost").isZero();
        assertNothingHeld(simulation);
    }
}
