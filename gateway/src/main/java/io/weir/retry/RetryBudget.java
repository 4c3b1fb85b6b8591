package io.weir.retry;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How many retries a backend bears: a share of its first attempts, and a floor per second.
 *
 * <p>Each first attempt deposits its share of a retry, each retry withdraws one. The balance is capped at a hundred
 * deposits, or one retry, so that a long calm does not save up for a storm. The floor is apart from it and fills with time. After
 * Finagle's {@code RetryBudget}, with a cap in place of its window.
 */
public final class RetryBudget {

    /** A retry, in the balance's unit. */
    private static final long RETRY = 1_000_000;

    private static final long CAP_IN_DEPOSITS = 100;

    private final long deposit;
    private final long cap;
    private final long floorIntervalNanos;
    private final AtomicLong balance = new AtomicLong();
    /** The moment up to which the floor has been used, as in the generic cell rate algorithm. */
    private final AtomicLong floorUsedUpTo;

    /** An empty budget. */
    public RetryBudget(RetryBudgetProperties properties, long nowNanos) {
        this.deposit = Math.round(RETRY * properties.share() / 100.0);
        // Of a share below a percent, a hundred deposits are no retry.
        this.cap = Math.max(RETRY, deposit * CAP_IN_DEPOSITS);
        this.floorIntervalNanos = properties.floor() == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / properties.floor();
        this.floorUsedUpTo = new AtomicLong(nowNanos - TimeUnit.SECONDS.toNanos(1));
    }

    /** A first attempt was made. */
    public void deposit() {
        if (deposit > 0 && balance.get() < cap) {
            // Concurrency: racing deposits may overshoot the cap by one each; benign.
            balance.addAndGet(deposit);
        }
    }

    /** Takes a retry out of the budget; false: it is empty. */
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

    /** Retries that could be made now, out of the share. */
    public long available() {
        return balance.get() / RETRY;
    }

    private boolean tryFloor(long nowNanos) {
        if (floorIntervalNanos == 0) {
            return false;
        }
        while (true) {
            long used = floorUsedUpTo.get();
            // What was not used within the last second is gone.
            long from = Math.max(used, nowNanos - TimeUnit.SECONDS.toNanos(1));
            if (from + floorIntervalNanos - nowNanos > 0) {
                return false;
            }
            if (floorUsedUpTo.compareAndSet(used, from + floorIntervalNanos)) {
                return true;
            }
        }
    }
}
