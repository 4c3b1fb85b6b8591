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
 *
 * <p>One caller cannot use up the budget: half of the balance and half of the floor are kept for the callers
 * who have lately had no more retries than the mean ({@link RecentRetries}). The only caller has all of it.
 */
public final class RetryBudget {

    /** The price of a retry, in the balance's unit. */
    private static final long RETRY = 1_000_000;

    private static final long CAP_IN_DEPOSITS = 100;

    private final long deposit;
    private final long cap;
    /** The part of a full balance, in whole retries, that is kept from callers above the mean. */
    private final long kept;

    private final long floorIntervalNanos;
    private final long keptFloorNanos;
    private final AtomicLong balance = new AtomicLong();
    /** The time up to which the floor is used, as in the generic cell rate algorithm. */
    private final AtomicLong floorUsedUntilNanos;

    private final RecentRetries recent;

    /** An empty budget. */
    public RetryBudget(RetryBudgetProperties properties, long nowNanos) {
        this.deposit = Math.round(RETRY * properties.share() / 100.0);
        // With a share below one percent, a hundred deposits are less than one retry.
        this.cap = Math.max(RETRY, deposit * CAP_IN_DEPOSITS);
        this.kept = cap / RETRY / 2 * RETRY;
        this.floorIntervalNanos = properties.floor() == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / properties.floor();
        this.keptFloorNanos = properties.floor() / 2 * floorIntervalNanos;
        this.floorUsedUntilNanos = new AtomicLong(nowNanos - TimeUnit.SECONDS.toNanos(1));
        this.recent = new RecentRetries(nowNanos);
    }

    /** Records a first attempt. */
    public void deposit() {
        if (deposit > 0 && balance.get() < cap) {
            // Concurrency: concurrent deposits may each exceed the cap by one; benign.
            balance.addAndGet(deposit);
        }
    }

    /**
     * Withdraws a retry; false if the budget is empty, or what is left is kept for other callers.
     *
     * @param caller a hash of the caller
     */
    public boolean tryWithdraw(int caller, long nowNanos) {
        boolean isKept = balance.get() < kept + RETRY && recent.isAboveMean(caller, nowNanos);
        boolean isAllowed = tryBalance(isKept ? kept : 0) || tryFloor(isKept ? keptFloorNanos : 0, nowNanos);
        if (isAllowed) {
            recent.allowed(caller);
        } else {
            recent.denied(caller);
        }
        return isAllowed;
    }

    private boolean tryBalance(long rest) {
        while (true) {
            long current = balance.get();
            if (current - rest < RETRY) {
                return false;
            }
            if (balance.compareAndSet(current, current - RETRY)) {
                return true;
            }
        }
    }

    /**
     * Returns a withdrawn retry that is not made. One from the floor counts in the balance afterwards.
     *
     * @param caller the hash with which it was withdrawn
     */
    public void giveBack(int caller) {
        recent.givenBack(caller);
        // The balance may then exceed the cap by one retry; benign.
        balance.addAndGet(RETRY);
    }

    /** The retries available from the share, without the floor. */
    public long available() {
        return balance.get() / RETRY;
    }

    private boolean tryFloor(long restNanos, long nowNanos) {
        if (floorIntervalNanos == 0) {
            return false;
        }
        while (true) {
            long used = floorUsedUntilNanos.get();
            // The unused floor of more than a second ago has expired.
            long from = Math.max(used, nowNanos - TimeUnit.SECONDS.toNanos(1));
            if (from + floorIntervalNanos + restNanos - nowNanos > 0) {
                return false;
            }
            if (floorUsedUntilNanos.compareAndSet(used, from + floorIntervalNanos)) {
                return true;
            }
        }
    }
}
