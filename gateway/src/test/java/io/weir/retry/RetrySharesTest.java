package io.weir.retry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What each of several callers gets of one retry budget. */
class RetrySharesTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MINUTE = 60 * SECOND;
    private static final int OTHERS = 100;

    private RetryBudget budget = new RetryBudget(new RetryBudgetProperties(20, 3), 0);

    private final Random random = new Random(1);

    /** A caller whose calls come at random moments, and fail at random. */
    private static final class Traffic {

        final int caller;
        final double callsPerMillisecond;
        final double failing;
        int calls;
        int needed;
        int got;

        Traffic(int caller, double callsPerSecond, double failing) {
            this.caller = caller;
            this.callsPerMillisecond = callsPerSecond / 1000;
            this.failing = failing;
        }
    }

    private void run(long from, long duration, Traffic... all) {
        for (long now = from; now < from + duration; now += SECOND / 1000) {
            for (Traffic each : all) {
                if (random.nextDouble() < each.callsPerMillisecond) {
                    call(each, now);
                }
            }
        }
    }

    private void call(Traffic each, long now) {
        budget.deposit();
        each.calls++;
        if (random.nextDouble() < each.failing) {
            each.needed++;
            if (budget.tryWithdraw(each.caller, now)) {
                each.got++;
            }
        }
    }

    /** The first caller, and others with a call per second each, of which 1 % fail. */
    private static Traffic[] withOthers(Traffic first, IntUnaryOperator callers) {
        Traffic[] all = new Traffic[OTHERS + 1];
        all[0] = first;
        for (int i = 1; i <= OTHERS; i++) {
            all[i] = new Traffic(callers.applyAsInt(i), 1, .01);
        }
        return all;
    }

    private static double gotOfOthers(Traffic[] all) {
        int needed = 0;
        int got = 0;
        for (int i = 1; i < all.length; i++) {
            needed += all[i].needed;
            got += all[i].got;
        }
        return (double) got / needed;
    }

    @ParameterizedTest
    @CsvSource({"20, 3, .99", "20, 0, .99", "5, 0, .98", "0, 10, .98", "0, 3, .85"})
    void aCallerWhoseCallsAllFailLeavesTheOthersTheirRetries(float share, int floor, double others) {
        budget = new RetryBudget(new RetryBudgetProperties(share, floor), 0);
        Traffic failing = new Traffic(1, 100, 1);
        Traffic[] all = withOthers(failing, i -> i * 7_919);

        run(0, 5 * MINUTE, all);

        assertThat(gotOfOthers(all)).isGreaterThan(others);
        double perSecond = share * 2 + floor;
        assertThat(failing.got).as("the rest of the budget").isGreaterThan((int) (.7 * (perSecond - 1) * 300));
    }

    /** What the test above shows, if the budget takes all callers for one. */
    @Test
    void callersThatAreNotToldApartLoseTheirRetries() {
        Traffic[] all = withOthers(new Traffic(1, 100, 1), i -> 1);

        run(0, 5 * MINUTE, all);

        assertThat(gotOfOthers(all)).isLessThan(.5);
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 100})
    void theOnlyCallerHasTheWholeBudget(double callsPerSecond) {
        Traffic only = new Traffic(1, callsPerSecond, 1);

        run(0, MINUTE, only);

        double allowed = Math.min(only.calls, only.calls * .2 + 3 * 60);
        assertThat(only.got).isBetween((int) (.98 * allowed), (int) allowed + 3);
    }

    @Test
    void theOnlyCallerHasABurstOfTheWholeBalance() {
        for (int i = 0; i < 1_000; i++) {
            budget.deposit();
        }

        int got = 0;
        while (budget.tryWithdraw(1, 0)) {
            got++;
        }

        assertThat(got).isEqualTo(23);
    }

    /** Half a minute after the last failure of another one. */
    @Test
    void forgetsACallerWhoNeedsNoMoreRetries() {
        run(0, 2 * SECOND, new Traffic(1, 100, 1), new Traffic(2, 10, .2));
        for (int i = 0; i < 1_000; i++) {
            budget.deposit();
        }

        int got = 0;
        while (budget.tryWithdraw(1, MINUTE)) {
            got++;
        }

        assertThat(got).isEqualTo(23);
    }

    /** None of them starves, and nothing of the budget is left unused. */
    @Test
    void callersWhoFailAlikeShareAlike() {
        Traffic first = new Traffic(1, 60, 1);
        Traffic second = new Traffic(2, 40, 1);
        Traffic third = new Traffic(3, 40, 1);

        run(0, MINUTE, first, second, third);

        double each = (140 * .2 + 3) * 60 / 3;
        assertThat(first.got).isBetween((int) (.8 * each), (int) (1.2 * each));
        assertThat(second.got).isBetween((int) (.8 * each), (int) (1.2 * each));
        assertThat(third.got).isBetween((int) (.8 * each), (int) (1.2 * each));
        assertThat(first.got + second.got + third.got).isBetween((int) (.98 * 3 * each), (int) (3 * each) + 3);
    }

    /** The one who has had all retries so far waits a moment, not for as long as it has had them. */
    @Test
    void aCallerWhoHadAllRetriesStarvesForAMomentOnly() {
        Traffic first = new Traffic(1, 100, 1);
        run(0, MINUTE, first);
        first.got = 0;

        run(MINUTE, 5 * SECOND, first, new Traffic(2, 100, 1));

        assertThat(first.got).isGreaterThan(50);
    }

    /** Such as a hedge for which no permit is free. */
    @Test
    void retriesThatAreGivenBackCountForNobody() {
        budget = new RetryBudget(new RetryBudgetProperties(20, 0), 0);
        for (int i = 0; i < 50; i++) {
            budget.deposit();
        }
        assertThat(budget.tryWithdraw(2, 0)).isTrue();
        for (int i = 0; i < 1_000; i++) {
            assertThat(budget.tryWithdraw(1, 0)).isTrue();
            budget.giveBack(1);
        }

        assertThat(budget.tryWithdraw(1, 0)).isTrue();
    }

    /** Where all calls fail, the retries are as many as the budget allows, with any number of callers. */
    @ParameterizedTest
    @ValueSource(ints = {2, 50, 1_000})
    void manyCallersOfAFailingBackendUseTheWholeBudget(int callers) {
        int got = 0;
        for (int i = 0; i < 30_000; i++) {
            budget.deposit();
            if (budget.tryWithdraw(i % callers * 31, i * SECOND / 1_000)) {
                got++;
            }
        }

        assertThat(got).isBetween(6_000, 6_000 + 3 * 31);
    }
}
