package io.weir.hedge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class AnswerTimesTest {

    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final HedgePolicy policy = HedgePolicy.of(new HedgeProperties(HedgeDelay.P95, true), null);
    private final Random random = new Random(1);
    private long now = 7;

    private void answer(int times, long nanos) {
        for (int i = 0; i < times; i++) {
            now += 10 * MILLI;
            policy.answered(nanos, now);
        }
    }

    @Test
    void knowsNothingBeforeAHundredAnswers() {
        answer(AnswerTimes.MIN_ANSWERS - 1, 20 * MILLI);
        assertThat(policy.afterNanos()).isEqualTo(HedgePolicy.UNKNOWN);

        answer(1, 20 * MILLI);
        assertThat(policy.afterNanos()).isGreaterThan(20 * MILLI);
    }

    /** Exponential, of a mean of 20 ms. */
    private long drawNanos() {
        return (long) (-Math.log(1 - random.nextDouble()) * 20 * MILLI);
    }

    /** The answers of hedges are faster than those that they replace, and must not lower the time. */
    @Test
    void staysTheSameWhileOneCallInTwentyIsSentTwice() {
        int sentTwice = 0;
        for (int i = 0; i < 40_000; i++) {
            long after = policy.afterNanos();
            long nanos = drawNanos();
            if (after != HedgePolicy.UNKNOWN && nanos > after) {
                sentTwice += i >= 20_000 ? 1 : 0;
                nanos = Math.min(nanos, after + drawNanos());
            }
            answer(1, nanos);
        }
        assertThat(sentTwice).as("of 20000").isBetween(700, 1_200);
    }

    @Test
    void isTheTimeThatOneAnswerInTwentyExceeds() {
        int later = 0;
        for (int i = 0; i < 20_000; i++) {
            long nanos = drawNanos();
            if (i >= 10_000 && nanos > policy.afterNanos()) {
                later++;
            }
            answer(1, nanos);
        }
        assertThat(later).as("later than p95, of 10000").isBetween(350, 600);
        assertThat(policy.afterNanos()).isCloseTo((long) (Math.log(20) * 20 * MILLI), withinPercentage(12));
    }

    /** Where answers hardly differ, only the rare slow ones are sent twice, and not a twentieth. */
    @Test
    void isAboveAnswersThatTakeTheSameTime() {
        for (int i = 0; i < 5_000; i++) {
            long nanos = i % 100 == 0 ? 200 * MILLI : 20 * MILLI;
            answer(1, nanos);
            if (i > AnswerTimes.MIN_ANSWERS) {
                assertThat(policy.afterNanos()).isBetween(20 * MILLI + 1, 25 * MILLI);
            }
        }
    }

    @Test
    void followsABackendThatHasBecomeSlowerOrFaster() {
        answer(3_000, 20 * MILLI);
        answer(3_000, 100 * MILLI);
        assertThat(policy.afterNanos()).isCloseTo(100 * MILLI, withinPercentage(12));

        answer(6_000, 10 * MILLI);
        assertThat(policy.afterNanos()).isCloseTo(10 * MILLI, withinPercentage(12));
    }

    @Test
    void staysAtAReload() {
        answer(200, 20 * MILLI);
        HedgeProperties fixed = new HedgeProperties(HedgeDelay.of(Duration.ofMillis(80)), true);

        assertThat(HedgePolicy.of(fixed, policy).afterNanos()).isEqualTo(80 * MILLI);
        assertThat(HedgePolicy.of(new HedgeProperties(HedgeDelay.P95, true), policy)
                        .afterNanos())
                .isEqualTo(policy.afterNanos());
    }
}
