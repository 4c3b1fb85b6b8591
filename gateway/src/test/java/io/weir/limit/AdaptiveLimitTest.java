package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.weir.limit.Limit.Beliefs;
import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import io.weir.testing.Allocation;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AdaptiveLimitTest {

    private static final long MILLI = 1_000_000;
    private static final long DEADLINE = 800 * MILLI;

    private final AtomicInteger changes = new AtomicInteger();
    private long now;
    private final AdaptiveLimit limit = limit(LimitBounds.DEFAULT);

    @Test
    void startsWithTheInitialLimitAndWithoutFigures() {
        assertThat(limit.beliefs()).isEqualTo(new Beliefs(8, 0, 0, 0, Change.INITIAL, 0, 0));
        assertThat(limit.queueCapacity()).isEqualTo(32);
    }

    @Test
    void growsWhileTheLimitIsTheBottleneckAndTheBackendIsFast() {
        bring(limit, 1_000, 50, Evidence.ANSWERED, true);

        assertThat(limit.value()).isGreaterThan(30);
        assertThat(limit.beliefs().utilisation()).isEqualTo(1);
        assertThat(limit.beliefs().answersPerSecond()).isPositive();
        assertThat(limit.beliefs().baseLatencyNanos()).isBetween(49 * MILLI, 51 * MILLI);
        assertThat(changes).hasPositiveValue();
    }

    @Test
    void doesNotGrowWhileTheLimitIsNotTheBottleneck() {
        bring(limit, 1_000, 50, Evidence.ANSWERED, false);

        assertThat(limit.value()).isEqualTo(8);
        assertThat(limit.beliefs().lastChange()).isEqualTo(Change.INITIAL);
        assertThat(limit.beliefs().baseLatencyNanos())
                .as("but it learns the latency")
                .isBetween(49 * MILLI, 51 * MILLI);
    }

    /** The time in which no answer can come is longer than calls can wait. */
    @Test
    void growsOnceForCallsThatWaitBeforeAnythingIsAnswered() {
        long longWait = limit.longWaitNanos();
        assertThat(longWait).isEqualTo(DEADLINE / 4);

        limit.waited(longWait / 2, 0);
        assertThat(limit.value()).isEqualTo(8);
        limit.waited(longWait, 0);
        assertThat(limit.value()).isEqualTo(16);
        assertThat(limit.beliefs().lastChange()).isEqualTo(Change.GROWTH);

        limit.waited(3 * longWait, longWait);
        assertThat(limit.value()).as("not again before an answer").isEqualTo(16);
    }

    @Test
    void growsWhileCallsHaveToWaitAndNoneEnds() {
        limit.queued(now + DEADLINE / 8);
        assertThat(limit.value()).as("nothing is known").isEqualTo(8);

        bring(limit, 200, 10, Evidence.ANSWERED, false);
        limit.queued(now + 40 * MILLI);
        assertThat(limit.value()).as("too short").isEqualTo(8);
        limit.queued(now + DEADLINE / 8);

        assertThat(limit.value()).isGreaterThan(8);
        assertThat(limit.beliefs().lastChange()).isEqualTo(Change.GROWTH);
    }

    @Test
    void ignoresTheTimeOutsOfCallsThatHadNoTimeLeftWhileOthersAreAnswered() {
        bring(limit, 1, 500, Evidence.ANSWERED, true);
        int before = limit.value();
        for (int i = 0; i < 20; i++) {
            bring(limit, 1, 500, Evidence.ANSWERED, true);
            bring(limit, 1, 550, Evidence.TIMED_OUT, true);
        }
        assertThat(limit.value()).isGreaterThanOrEqualTo(before);
        assertThat(limit.changes(Change.TIMEOUTS)).isZero();

        bring(limit, 5, 550, Evidence.TIMED_OUT, true);
        assertThat(limit.changes(Change.TIMEOUTS)).as("no call is answered").isPositive();
    }

    @Test
    void growsForCallsThatWaitWhileASlowBackendShowsNoQueue() {
        bring(limit, 1, 500, Evidence.ANSWERED, true);

        limit.waited(now, now - DEADLINE / 3);
        assertThat(limit.value()).isEqualTo(12);

        limit.waited(now + DEADLINE / 2, now);
        assertThat(limit.value()).as("not again before its effect is seen").isEqualTo(12);
        bring(limit, 1, 500, Evidence.ANSWERED, true);
        limit.waited(now, now - DEADLINE / 3);
        assertThat(limit.value()).isEqualTo(18);
    }

    @Test
    void doesNotGrowForCallsThatWaitIfTheBackendIsFastOrShowsAQueue() {
        bring(limit, 4, 50, Evidence.ANSWERED, true);
        int fast = limit.value();
        limit.waited(now + DEADLINE, now);
        assertThat(limit.value()).isEqualTo(fast);

        AdaptiveLimit slow = limit(LimitBounds.DEFAULT);
        bring(slow, 1, 400, Evidence.ANSWERED, true);
        bring(slow, 1, 600, Evidence.ANSWERED, true);
        slow.waited(now, now - DEADLINE / 3);
        assertThat(slow.value()).as("a call took longer than few calls do").isEqualTo(8);

        AdaptiveLimit hung = limit(LimitBounds.DEFAULT);
        bring(hung, 1, 500, Evidence.ANSWERED, true);
        bring(hung, 1, 800, Evidence.TIMED_OUT, true);
        hung.waited(now, now - DEADLINE / 3);
        assertThat(hung.value()).as("most calls timed out").isLessThan(8);
    }

    /** A cold JVM: its first calls are slow, reach the limit, and make the rate of answers look low. */
    @Test
    void keepsTheInitialLimitIfOnlyTheFirstCallsAreSlow() {
        AdaptiveLimit cold = limit(new LimitBounds(2, 8, 8));
        bring(cold, 3, 200, Evidence.ANSWERED, true);

        bring(cold, 400, 50, Evidence.ANSWERED, false);

        assertThat(cold.changes(Change.PROBE))
                .as("measured at half of the limit")
                .isPositive();
        assertThat(cold.value()).isEqualTo(8);
    }

    @Test
    void neverGrowsUnderConstantTimeouts() {
        for (int i = 0; i < 200; i++) {
            int before = limit.value();
            bring(limit, 1, 800, Evidence.TIMED_OUT, true);
            assertThat(limit.value()).isLessThanOrEqualTo(before);
        }

        assertThat(limit.value()).isEqualTo(2);
        assertThat(limit.beliefs().lastChange()).isEqualTo(Change.TIMEOUTS);
    }

    @Test
    void firstCallsThatAllTimeOutLeaveTheInitialLimit() {
        bring(limit, 2, 800, Evidence.TIMED_OUT, true);
        assertThat(limit.value()).isEqualTo(8);

        bring(limit, 4, 800, Evidence.TIMED_OUT, true);
        assertThat(limit.value()).isLessThan(8);
    }

    @Test
    void firstTimeoutsDoNotRaiseALimitThatShedsHaveLowered() {
        bring(limit, 30, 50, Evidence.SHED, true);
        int lowered = limit.value();
        assertThat(lowered).isLessThan(8);

        bring(limit, 4, 800, Evidence.TIMED_OUT, true);

        assertThat(limit.value()).isLessThanOrEqualTo(lowered);
    }

    @Test
    void doesNotShrinkForAFewTimeouts() {
        bring(limit, 200, 50, Evidence.ANSWERED, true);
        int before = limit.value();

        for (int i = 0; i < 20; i++) {
            bring(limit, 19, 50, Evidence.ANSWERED, true);
            now += 10 * MILLI;
            limit.ended(now, limit.started(now - DEADLINE, limit.value()), DEADLINE, Evidence.TIMED_OUT, limit.value());
        }

        assertThat(limit.value()).isGreaterThanOrEqualTo(before / 2);
        assertThat(limit.beliefs().lastChange()).isNotEqualTo(Change.TIMEOUTS);
    }

    @Test
    void returnsToHalfOfTheFormerLimitAfterAHang() {
        bring(limit, 2_000, 50, Evidence.ANSWERED, true);
        int before = limit.value();

        bring(limit, 20, 800, Evidence.TIMED_OUT, true);
        assertThat(limit.value()).isLessThan(before / 8);
        bring(limit, 40, 50, Evidence.ANSWERED, true);

        assertThat(limit.value()).isGreaterThanOrEqualTo(before / 2 - 1);
    }

    @Test
    void learnsNothingFromCallersFaults() {
        bring(limit, 1_000, 5, Evidence.NONE, true);

        assertThat(limit.beliefs()).isEqualTo(new Beliefs(8, 0, 0, 0, Change.INITIAL, 0, 0));
    }

    @ParameterizedTest
    @CsvSource({
        // A 503 with Retry-After is a sign of overload. A 503 without it is a sign if it is faster than an
        // answer.
        "SHED,        50, true",
        "UNAVAILABLE,  1, true",
        "UNAVAILABLE, 50, false"
    })
    void shrinksWhenTheBackendSheds(Evidence evidence, long latencyMillis, boolean shrinks) {
        AdaptiveLimit wide = limit(new LimitBounds(2, 100, 100));
        for (int i = 0; i < 40; i++) {
            wide.ended(now += 20 * MILLI, wide.started(now, 10), 50 * MILLI, Evidence.ANSWERED, 10);
        }

        for (int i = 0; i < 100; i++) {
            wide.ended(now += 5 * MILLI, wide.started(now, 30), latencyMillis * MILLI, evidence, 30);
            wide.ended(now += 5 * MILLI, wide.started(now, 20), 50 * MILLI, Evidence.ANSWERED, 20);
        }

        assertThat(wide.value() < 100).isEqualTo(shrinks);
        assertThat(wide.beliefs().lastChange()).isEqualTo(shrinks ? Change.SHEDDING : Change.INITIAL);
    }

    /** A reload, and at the same moment an instance that leaves or returns. */
    @Test
    void keepsTheBoundsOfAReloadWhileAnInstanceLeaves() throws InterruptedException {
        int rounds = 20_000;
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger scaled = new AtomicInteger();
        Thread instances = Thread.ofPlatform().start(() -> {
            for (int round = 2; round <= rounds; round++) {
                while (begun.get() < round) {
                    Thread.onSpinWait();
                }
                limit.scaleTo(round % 2 == 0 ? 1 : .5);
                scaled.set(round);
            }
        });
        int lost = 0;
        for (int round = 2; round <= rounds; round++) {
            begun.set(round);
            limit.configure(new LimitBounds(round, round, round), DEADLINE);
            while (scaled.get() < round) {
                Thread.onSpinWait();
            }
            lost += limit.value() == round ? 0 : 1;
        }
        instances.join();
        assertThat(lost).as("lost reloads").isZero();
    }

    /** Bursts with a minute between them: the rate is that of the bursts. */
    @Test
    void leavesTheTimeWithoutCallsOutOfTheRate() {
        AdaptiveLimit constant = limit(new LimitBounds(2, 8, 8));
        bring(constant, 2, 100, Evidence.ANSWERED, true);
        now += 60_000 * MILLI;
        bring(constant, 3, 100, Evidence.ANSWERED, true);

        assertThat(constant.beliefs().answersPerSecond()).isBetween(60., 120.);
    }

    /** The window that the wait opens begins before the first end of a call. */
    @Test
    void judgesTheFirstCallsAfterAGrowthForOneThatWaits() {
        limit.waited(DEADLINE / 4, 0);
        now = DEADLINE / 4;
        bring(limit, 4, 400, Evidence.ANSWERED, true);

        assertThat(limit.beliefs().answersPerSecond()).isPositive();
    }

    @Test
    void staysWithinItsBounds() {
        AdaptiveLimit narrow = limit(new LimitBounds(4, 12, 6));

        bring(narrow, 1_000, 50, Evidence.ANSWERED, true);
        assertThat(narrow.value()).isLessThanOrEqualTo(12).isGreaterThanOrEqualTo(6);
        bring(narrow, 100, 800, Evidence.TIMED_OUT, true);

        assertThat(narrow.value()).isEqualTo(4);
    }

    @Test
    void announcesEachChangeOfTheNumber() {
        AtomicInteger announced = new AtomicInteger(8);
        AdaptiveLimit[] self = new AdaptiveLimit[1];
        self[0] = new AdaptiveLimit(LimitBounds.DEFAULT, DEADLINE, 0, 0, () -> announced.set(self[0].value()));

        for (int i = 0; i < 500; i++) {
            bring(self[0], 1, 50, Evidence.ANSWERED, true);
            assertThat(announced.get()).isEqualTo(self[0].value());
        }
        assertThat(announced.get()).isGreaterThan(8);
    }

    @Test
    void knowsTheTimeOfItsLastChange() {
        long wall = 1_700_000_000_000L;
        AdaptiveLimit[] self = new AdaptiveLimit[1];
        long[] lastValue = {8};
        long[] changedAt = {0};
        self[0] = new AdaptiveLimit(LimitBounds.DEFAULT, DEADLINE, 0, wall * MILLI, () -> {
            if (self[0].value() != lastValue[0]) {
                lastValue[0] = self[0].value();
                changedAt[0] = now;
            }
        });
        assertThat(self[0].beliefs().changedAtMillis()).isEqualTo(wall);

        bring(self[0], 100, 50, Evidence.ANSWERED, true);
        bring(self[0], 20, 800, Evidence.TIMED_OUT, true);
        bring(self[0], 3, 50, Evidence.ANSWERED, false);

        assertThat(self[0].beliefs().lastChange()).isEqualTo(Change.TIMEOUTS);
        assertThat(self[0].beliefs().changedAtMillis()).isEqualTo(wall + changedAt[0] / MILLI);
        assertThat(changedAt[0]).isLessThan(now);
    }

    private void assertLastChange(Change reason, long atMillis) {
        assertThat(limit.beliefs().lastChange()).isEqualTo(reason);
        assertThat(limit.beliefs().changedAtMillis()).isEqualTo(atMillis);
    }

    /** A reason with the present time would name a decision that nothing has led to. */
    @Test
    void keepsReasonAndTimeOfItsLastChangeWhereSettingsOrInstancesMoveTheNumber() {
        bring(limit, 20, 800, Evidence.TIMED_OUT, true);
        assertThat(limit.value()).isEqualTo(2);
        long decidedAt = limit.beliefs().changedAtMillis();
        bring(limit, 5, 800, Evidence.TIMED_OUT, true);

        limit.scaleTo(1 / 3.);
        bring(limit, 1, 800, Evidence.NONE, false);
        assertThat(limit.value()).as("one instance takes one call at least").isEqualTo(3);
        assertLastChange(Change.TIMEOUTS, decidedAt);

        limit.scaleTo(1);
        limit.configure(new LimitBounds(5, 10, 5), DEADLINE);
        bring(limit, 1, 800, Evidence.NONE, false);
        assertThat(limit.value()).isEqualTo(5);
        assertLastChange(Change.TIMEOUTS, decidedAt);
    }

    @Test
    void forgetsAProbeThatAnInstanceWhichLeavesHasEnded() {
        Beliefs before;
        long growths;
        do {
            before = limit.beliefs();
            growths = limit.changes(Change.GROWTH);
            bring(limit, 1, 50, Evidence.ANSWERED, true);
        } while (before.lastChange() != Change.GROWTH
                || limit.beliefs().lastChange() != Change.PROBE
                || limit.changes(Change.GROWTH) != growths);

        limit.scaleTo(.5);

        assertLastChange(Change.GROWTH, before.changedAtMillis());
    }

    /** From 3.2 to 4.8 calls for two of five instances: the limit of all of them moves. */
    @Test
    void givesTheReasonOfADecisionWhileInstancesAreOut() {
        limit.scaleTo(.4);
        bring(limit, 8, 500, Evidence.ANSWERED, false);
        assertThat(limit.value()).isEqualTo(8);

        limit.waited(now, now - DEADLINE / 3);

        assertThat(limit.value()).isEqualTo(12);
        assertLastChange(Change.GROWTH, now / MILLI);
        assertThat(limit.changes(Change.GROWTH)).isOne();
    }

    /** A call costs no more bytes than with a fixed limit. The figures are published now and then. */
    @Test
    void allocatesNothingPerCall() {
        bring(limit, 1_000, 50, Evidence.ANSWERED, true);

        assertThat(Allocation.bytesPer(this::bringOne)).isZero();
    }

    private void bringOne() {
        int mark = limit.started(now, 2);
        now += 50 * MILLI;
        limit.ended(now, mark, 50 * MILLI, Evidence.ANSWERED, 2);
    }

    /** A base latency that drifts while no window is judged differently and no number changes. */
    @Test
    void publishesABaseLatencyThatDrifts() {
        bring(limit, 1_000, 50, Evidence.ANSWERED, false);

        bring(limit, 1_000, 70, Evidence.ANSWERED, false);

        assertThat(limit.beliefs().baseLatencyNanos()).isBetween(65 * MILLI, 71 * MILLI);
    }

    @Test
    void rejectsBoundsThatAreNotInOrder() {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new LimitBounds(0, 10, 5))
                .withMessage("min: 0 (expected: 1 to 1000000)");
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new LimitBounds(5, 10, 4))
                .withMessage("initial: 4 (expected: 5 to 1000000)");
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new LimitBounds(5, 7, 8))
                .withMessage("max: 7 (expected: 8 to 1000000)");
    }

    @Test
    void aFixedLimitLearnsNothing() {
        FixedLimit fixed = new FixedLimit(64);

        fixed.ended(0, fixed.started(0, 64), DEADLINE, Evidence.TIMED_OUT, 64);

        assertThat(fixed.beliefs()).isEqualTo(new Beliefs(64, 0, 0, 0, Change.FIXED, 0, 0));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new FixedLimit(0))
                .withMessage("max-concurrent-calls: 0 (expected: at least 1)");
    }

    private AdaptiveLimit limit(LimitBounds bounds) {
        return new AdaptiveLimit(bounds, DEADLINE, 0, 0, changes::incrementAndGet);
    }

    /** Rounds in which as many calls as the limit allows, or one, are sent together and end together. */
    private void bring(AdaptiveLimit to, int rounds, long latencyMillis, Evidence evidence, boolean saturated) {
        for (int round = 0; round < rounds; round++) {
            int calls = saturated ? to.value() : 1;
            int[] marks = new int[calls];
            for (int i = 0; i < calls; i++) {
                marks[i] = to.started(now, i + 1);
            }
            now += latencyMillis * MILLI;
            for (int i = 0; i < calls; i++) {
                to.ended(now, marks[i], latencyMillis * MILLI, evidence, saturated ? calls : 1);
            }
        }
    }
}
