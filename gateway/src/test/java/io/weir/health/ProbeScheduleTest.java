package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The probes of one opening, at intervals of 100 ms. {@code HealthCollisions} (jcstress) has the races. */
class ProbeScheduleTest {

    private static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long INTERVAL = 100 * MILLIS;
    private static final long STALL = SECOND;
    private static final long DEADLINE = 20 * SECOND;

    /** The clock overflows soon after the opening. */
    private static final long OPENED_AT = Long.MAX_VALUE - 150 * MILLIS;

    private long now = OPENED_AT;
    private double random = 0.5;
    private ProbeSchedule schedule = schedule(5);

    private ProbeSchedule schedule(int maxProbes) {
        return new ProbeSchedule(settings(maxProbes), () -> random, now);
    }

    private static HealthSettings settings(int maxProbes) {
        return TestHealth.settings(
                Duration.ofNanos(DEADLINE),
                20,
                null,
                new RecoveryProperties(null, Duration.ofNanos(INTERVAL), maxProbes, Duration.ofSeconds(30), null));
    }

    private @Nullable Probe tryStart() {
        return schedule.tryStart(now, STALL, true);
    }

    /** Starts the next probe at the moment at which it is due. */
    private Probe start() {
        return start(true);
    }

    private Probe start(boolean mayBePatient) {
        now += schedule.nanosToNextProbe(now, STALL);
        return Objects.requireNonNull(schedule.tryStart(now, STALL, mayBePatient), "no probe is due");
    }

    private Probe startLastResort() {
        return Objects.requireNonNull(schedule.tryStartLastResort(now, STALL), "not due");
    }

    // ---------------------------------------------------------------- intervals

    @Test
    void theFirstProbeIsDueAnIntervalAfterTheOpening() {
        assertThat(schedule.nanosToNextProbe(now, STALL)).isEqualTo(INTERVAL);
        now += INTERVAL - 1;
        assertThat(tryStart()).isNull();
        assertThat(schedule.nanosToNextProbe(now, STALL)).isEqualTo(1);
        assertThat(schedule.underWay()).isZero();

        now++;

        assertThat(schedule.nanosToNextProbe(now, STALL)).isZero();
        assertThat(tryStart()).isNotNull();
        assertThat(schedule.underWay()).isOne();
    }

    @Test
    void anotherProbeIsDueAnIntervalLaterIfTheFirstOneHasEnded() {
        start().end();
        assertThat(tryStart()).as("at the same moment").isNull();
        now += 3 * INTERVAL;
        assertThat(schedule.nanosToNextProbe(now, STALL)).as("overdue").isZero();

        assertThat(tryStart()).isNotNull();
        assertThat(tryStart()).as("missed intervals are not made up for").isNull();
    }

    /** One of five places belongs to the patient probe. */
    @ParameterizedTest
    @CsvSource({"5, 250", "3, 500", "2, 1000", "1, 1000", "100, 100"})
    void spacesProbesEvenlyOverTheStallTimeWhileOneIsUnanswered(int maxProbes, long millis) {
        schedule = schedule(maxProbes);

        start();

        assertThat(schedule.nanosToNextProbe(now, STALL)).isEqualTo(millis * MILLIS);
    }

    @Test
    void keepsItsPaceIfTheStallTimeIsShorterThanTheInterval() {
        start();

        assertThat(schedule.nanosToNextProbe(now, 10 * MILLIS)).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @CsvSource({"0, 90", "0.5, 100", "1, 110"})
    void jittersEachIntervalByATenth(double randomNumber, long millis) {
        random = randomNumber;
        schedule = schedule(5);
        assertThat(schedule.nanosToNextProbe(now, STALL)).isEqualTo(millis * MILLIS);
        random = 0.75;
        start().end();

        assertThat(schedule.nanosToNextProbe(now, STALL)).as("another jitter").isEqualTo(105 * MILLIS);
    }

    @Test
    void neverStartsAProbeWhereAHealthCheckEndsTheOpening() {
        schedule = ProbeSchedule.never(settings(5), () -> 1, now);
        now += TimeUnit.DAYS.toNanos(3_000);

        assertThat(tryStart()).isNull();
        assertThat(schedule.tryStartLastResort(now, STALL)).isNull();
        assertThat(schedule.isLastResortDue(now, STALL)).isFalse();
        assertThat(schedule.nanosToNextProbe(now, STALL)).isPositive();
    }

    // ---------------------------------------------------------------- places

    @Test
    void startsNoMoreProbesThanThereArePlaces() {
        schedule = schedule(3);
        Probe first = start();
        start();
        start();
        now += DEADLINE;
        assertThat(tryStart()).isNull();
        assertThat(schedule.underWay()).as("the refused probe took no place").isEqualTo(3);

        first.end();

        assertThat(tryStart()).as("due since long").isNotNull();
        assertThat(schedule.underWay()).isEqualTo(3);
    }

    @Test
    void aProbeGivesItsPlaceBackOnce() {
        Probe probe = start();
        start();

        assertThat(probe.end()).isTrue();
        assertThat(probe.end()).as("a late answer").isFalse();

        assertThat(schedule.underWay()).isOne();
    }

    // ---------------------------------------------------------------- patience

    @Test
    void oneProbeAtATimeIsPatientForTwiceAsLongAfterEachThatWasNotAnswered() {
        List<Long> patience = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Probe patient = start();
            Probe other = start();
            assertThat(other.patienceNanos()).isEqualTo(STALL);
            patience.add(patient.patienceNanos() / SECOND);
            patient.end();
            other.end();
        }
        assertThat(patience).as("up to the deadline").containsExactly(2L, 4L, 8L, 16L, 20L, 20L);
    }

    @Test
    void aPatientProbeIsPatientForTheDeadlineHoweverManyWereNotAnswered() {
        for (int i = 0; i < 100; i++) {
            Probe patient = start();
            patient.end();
            assertThat(patient.patienceNanos()).as("after %d", i).isEqualTo(i < 4 ? STALL << (i + 1) : DEADLINE);
        }
    }

    /** The deadline may be shorter than the time that is configured for a stall. */
    @Test
    void noProbeIsPatientForLongerThanTheDeadline() {
        start().end();
        now += INTERVAL;
        Probe probe = Objects.requireNonNull(schedule.tryStart(now, 1L << 62, true));

        assertThat(probe.isPatient()).isTrue();
        assertThat(probe.patienceNanos()).as("four times as long is no number").isEqualTo(DEADLINE);
    }

    @Test
    void aProbeForWhichACallerWaitsIsNeverPatient() {
        Probe callers = start(false);

        assertThat(callers.patienceNanos()).isEqualTo(STALL);
        assertThat(callers.isPatient()).isFalse();
        assertThat(start(true).isPatient()).as("the place is still free").isTrue();
    }

    @Test
    void theOnlyProbeIsNotPatient() {
        schedule = schedule(1);

        assertThat(start().patienceNanos()).isEqualTo(STALL);
    }

    // ---------------------------------------------------------------- last resort

    @Test
    void aCallerIsTheLastResortAfterTwoIntervalsWithoutAProbe() {
        now += 2 * INTERVAL - 1;
        assertThat(schedule.isLastResortDue(now, STALL)).isFalse();
        assertThat(schedule.tryStartLastResort(now, STALL)).isNull();
        now++;
        assertThat(schedule.isLastResortDue(now, STALL)).isTrue();

        Probe caller = startLastResort();

        assertThat(caller.patienceNanos()).isEqualTo(STALL);
        assertThat(caller.isPatient()).isFalse();
        assertThat(caller.isLastResort()).isTrue();
        assertThat(schedule.underWay()).isOne();
        assertThat(tryStart()).as("the interval starts again").isNull();
    }

    @Test
    void anotherProbePutsTheLastResortOff() {
        start().end();
        now += 2 * INTERVAL - 1;

        assertThat(schedule.isLastResortDue(now, STALL)).isFalse();
    }

    @Test
    void oneCallerAtATimeIsTheLastResort() {
        now += 2 * INTERVAL;
        Probe caller = startLastResort();
        now += DEADLINE;
        assertThat(schedule.isLastResortDue(now, STALL)).isFalse();
        assertThat(schedule.tryStartLastResort(now, STALL)).isNull();
        Probe other = start();
        other.end();
        now += DEADLINE;
        assertThat(schedule.tryStartLastResort(now, STALL))
                .as("another probe has ended")
                .isNull();

        caller.end();

        assertThat(schedule.isLastResortDue(now, STALL)).isTrue();
        assertThat(startLastResort()).isNotNull();
    }

    /** All places are taken by probes that hang. */
    @Test
    void theLastResortNeedsNoPlace() {
        schedule = schedule(1);
        start();
        now += 2 * STALL - 1;
        assertThat(schedule.tryStartLastResort(now, STALL)).isNull();
        now++;

        assertThat(startLastResort()).isNotNull();
        assertThat(schedule.underWay()).isEqualTo(2);
    }

    @Test
    void rareProbesStartAtIntervalsThatDoubleUpToHalfAMinute() {
        List<Long> startedAt = new ArrayList<>();
        while (startedAt.size() < 12) {
            now += 10 * MILLIS;
            Probe rare = schedule.tryStartRare(now, OPENED_AT, STALL);
            if (rare != null) {
                startedAt.add((now - OPENED_AT) / MILLIS);
                assertThat(rare.isLastResort()).isTrue();
                rare.end();
            }
        }
        assertThat(startedAt)
                .containsExactly(
                        200L, 400L, 800L, 1_600L, 3_200L, 6_400L, 12_800L, 25_600L, 51_200L, 81_200L, 111_200L,
                        141_200L);
    }
}
