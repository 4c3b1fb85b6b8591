package io.weir.retry;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The number of retries that a backend may receive: a share of its first attempts, and a minimum per second.
 *
 * <p>Each first attempt deposits its share of a retry, and each retry withdraws a whole one. The balance is
 * capped at a hundred deposits, but at least one retry, so that a quiet period does not accumulate retries
 * for a later fault. The minimum, called floor, is separate from the balance and refills with time. The
 * design follows Finagle's {@code RetryBudget}, with a cap instead of its time window.
 */
public final class RetryBudget {

    /** The price of a retry, in the balance's unit. */
    private static final long RETRY = 1_000_000;

    private static final long CAP_IN_DEPOSITS = 100;

    private final long deposit;
    private final long cap;
    private final long floorIntervalNanos;
    private final AtomicLong balance = new AtomicLong();
    /** The time up to which the floor is used, as in the generic cell rate algorithm. */
    private final AtomicLong floorUsedUntilNanos;

    /** An empty budget. */
    public RetryBudget(RetryBudgetProperties properties, long nowNanos) {
        this.deposit = Math.round(RETRY * properties.share() / 100.0);
        // With a share below one percent, a hundred deposits are less than one retry.
        this.cap = Math.max(RETRY, deposit * CAP_IN_DEPOSITS);
        this.floorIntervalNanos = properties.floor() == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / properties.floor();
        this.floorUsedUntilNanos = new AtomicLong(nowNanos - TimeUnit.SECONDS.toNanos(1));
    }

    /** Records a first attempt. */
    public void deposit() {
        if (deposit > 0 && balance.get() < cap) {
            // Concurrency: concurrent deposits may each exceed the cap by one; benign.
            balance.addAndGet(deposit);
        }
    }

    /** Withdraws a retry; false if the budget is empty. */
    public boolean tryWithdraw(long nowNanos) {
        while (true) {
            long current = balance.get();
            if (current < RETRY) {
                return tryFloor(nowNanos);
            }
            if (balance.compareAndSet(current, current - RETRY)) {
                return true;
            }
        }
    }

    /**
     * Returns a withdrawn retry that is not made. One from the floor counts in the balance afterwards.
     */
    public void giveBack() {
        // The balance may then exceed the cap by one retry; benign.
        balance.addAndGet(RETRY);
    }

    /** The retries available from the share, without the floor. */
    public long available() {
        return balance.get() / RETRY;
    }

    private boolean tryFloor(long nowNanos) {
        if (floorIntervalNanos == 0) {
            return false;
        }
        while (true) {
            long used = floorUsedUntilNanos.get();
            // The unused floor of more than a second ago has expired.
            long from = Math.max(used, nowNanos - TimeUnit.SECONDS.toNanos(1));
            if (from + floorIntervalNanos - nowNanos > 0) {
                return false;
            }
            if (floorUsedUntilNanos.compareAndSet(used, from + floorIntervalNanos)) {
                return true;
            }
        }
    }
}
