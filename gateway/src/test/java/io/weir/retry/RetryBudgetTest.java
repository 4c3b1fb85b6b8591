package io.weir.retry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RetryBudgetTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int CALLER = 1;

    @Test
    void allowsTheShareOfFirstAttempts() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(20, 0), 0);
        for (int i = 0; i < 50; i++) {
            budget.deposit();
        }

        assertThat(withdrawals(budget, 100, 0)).isEqualTo(10);
    }

    @Test
    void allowsAShareBelowOnePercent() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(0.04f, 0), 0);
        for (int i = 0; i < 2_499; i++) {
            budget.deposit();
        }
        assertThat(budget.tryWithdraw(CALLER, 0)).isFalse();

        budget.deposit();

        assertThat(withdrawals(budget, 10, 0)).isEqualTo(1);
    }

    @Test
    void capsTheBalanceInAQuietPeriod() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(20, 0), 0);
        for (int i = 0; i < 1_000_000; i++) {
            budget.deposit();
        }

        assertThat(withdrawals(budget, 1_000, 0)).isEqualTo(20);
    }

    @Test
    void allowsARetryAgainThatWasGivenBack() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(0, 1), 0);
        assertThat(budget.tryWithdraw(CALLER, 0)).isTrue();
        assertThat(budget.tryWithdraw(CALLER, 0)).isFalse();

        budget.giveBack(CALLER);

        assertThat(withdrawals(budget, 10, 0)).isEqualTo(1);
    }

    @Test
    void allowsTheFloorEverySecondWithoutTraffic() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(0, 3), 0);

        assertThat(withdrawals(budget, 100, 0)).isEqualTo(3);
        assertThat(withdrawals(budget, 100, SECOND / 3 + 1)).isEqualTo(1);
        assertThat(withdrawals(budget, 100, 100 * SECOND)).isEqualTo(3);
    }

    @Test
    void allowsNoRetryIfShareAndFloorAreZero() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(0, 0), 0);
        budget.deposit();

        assertThat(budget.tryWithdraw(CALLER, SECOND)).isFalse();
    }

    @Test
    void usesTheShareBeforeTheFloor() {
        RetryBudget budget = new RetryBudget(new RetryBudgetProperties(100, 1), 0);
        budget.deposit();
        budget.deposit();

        assertThat(budget.available()).isEqualTo(2);
        assertThat(withdrawals(budget, 10, 0)).isEqualTo(3);
    }

    private static int withdrawals(RetryBudget budget, int tries, long now) {
        int allowed = 0;
        for (int i = 0; i < tries; i++) {
            if (budget.tryWithdraw(CALLER, now)) {
                allowed++;
            }
        }
        return allowed;
    }
}
