package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AnswerPaceTest {

    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long START = TimeUnit.HOURS.toNanos(1);

    private final AnswerPace pace = new AnswerPace();
    private long now = START;

    private void answers(int count, long millis) {
        for (int i = 0; i < count; i++) {
            now += MS;
            pace.answered(millis * MS, now);
        }
    }

    @ParameterizedTest
    @CsvSource({
        // The time of all answers, and the usual time of the route, both in ms; then a call is late.
        "1, 1, 100",
        "15, 0, 100",
        "20, 20, 100",
        "60, 60, 300",
        "400, 400, 2000",
        // A route that takes long beside fast ones
        "15, 90, 450",
        "15, 30000, 1000",
    })
    void aCallIsLateAfterFiveTimesTheEvenTimeOfTheOthers(long millis, long usualMillis, long lateMillis) {
        answers(200, millis);

        assertThat(pace.lateNanos(usualMillis * MS)).isBetween(lateMillis * MS, lateMillis * MS + MS);
    }

    @Test
    void aCallIsLateAfterAThirdOfASecondWhileNothingIsKnown() {
        assertThat(pace.lateNanos(0)).isEqualTo(300 * MS);
        assertThat(pace.usualSpreadNanos()).isZero();
    }

    /** Times without memory: one of 1000 takes 6.9 times the mean. */
    @Test
    void hardlyAnyCallOfAnUnevenBackendIsLate() {
        Random random = new Random(1);
        int late = 0;
        for (int i = 0; i < 20_000; i++) {
            long nanos = (long) (-Math.log(1 - random.nextDouble()) * 100 * MS);
            late += nanos > pace.lateNanos(70 * MS) ? 1 : 0;
            pace.answered(nanos, now += MS);
        }

        assertThat(late).isLessThan(20);
        assertThat(pace.usualSpreadNanos()).isLessThan(pace.lateNanos(70 * MS));
    }

    @Test
    void fewAnswersShowThatTheBackendHasBecomeSlower() {
        answers(200, 20);
        answers(3, 400);

        assertThat(pace.lateNanos(20 * MS)).isGreaterThan(800 * MS);
    }

    @Test
    void fewAnswersShowThatALongPollWasNoChange() {
        answers(200, 15);
        answers(1, 30_000);
        answers(60, 15);

        assertThat(pace.lateNanos(15 * MS)).isLessThan(300 * MS);
    }

    @Test
    void aScoutIsDueOnceNothingHasMovedForTheTimeAfterWhichACallIsLate() {
        answers(200, 20);
        long last = now;
        assertThat(pace.isScoutDue(20 * MS, last + 98 * MS)).isFalse();
        assertThat(pace.isScoutDue(20 * MS, last + 101 * MS)).isTrue();

        pace.sent(last + 101 * MS);

        assertThat(pace.isScoutDue(20 * MS, last + 110 * MS)).isFalse();
        assertThat(pace.isScoutDue(20 * MS, last + 202 * MS)).isTrue();
    }

    @Test
    void noScoutIsDueBeforeTheFirstCall() {
        assertThat(pace.isScoutDue(0, now)).isFalse();
        assertThat(pace.tryScout(0, now)).isFalse();
    }

    @Test
    void sendsScoutsMoreSeldomTheLongerTheSilenceIsButTwiceASecond() {
        pace.sent(now);
        int scouts = 0;
        long longestGap = 0;
        long last = now;
        for (long end = now + 14_000 * MS; now < end; now += MS) {
            if (pace.tryScout(0, now)) {
                longestGap = Math.max(longestGap, scouts == 0 ? 0 : now - last);
                scouts++;
                last = now;
                assertThat(pace.tryScout(0, now)).as("one at a time").isFalse();
            }
        }

        assertThat(scouts).isBetween(26, 45);
        assertThat(longestGap).isEqualTo(500 * MS);
    }
}
