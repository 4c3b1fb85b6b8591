package io.weir.limit;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The pace of a backend's answers at present: how long they take, and how much they differ. It tells from
 * when on a call without an answer is <i>late</i>: it hangs or polls if later calls are answered. And it
 * decides when a <i>scout</i> is due: a call outside the limit, while calls without an answer hold all
 * permits. If the scout is answered, those calls are left behind; without it, no call could show that.
 *
 * <p>A call is late after {@value #TIMES} times the mean of the recent answers, and beyond
 * {@value #DEVIATIONS} mean deviations, as the time-out of a retransmission in TCP. The mean alone either
 * takes calls of an uneven backend for hanging ones, or finds those of an even backend too late: with
 * exponential times one of a hundred calls takes five times the mean. The median does not help: a backend
 * with a few slow calls among many fast ones would have late calls all the time. Both figures follow a
 * backend that becomes slower within a few answers. In an overload all answers take long, and nothing is
 * late.
 */
// Concurrency: thread-safe, without locks. An answer costs two writes, and a call or an answer at most one of
// its moment in a millisecond. Benign: of two answers at the same time one may be missing in the mean or the
// deviation. The compare-and-set of `nextScoutAt` lets one call through.
public final class AnswerPace {

    static final int TIMES = 5;

    static final int DEVIATIONS = 16;

    /** Nearly all answers come within the mean and so many mean deviations. */
    private static final int DEVIATIONS_OF_SPREAD = 6;

    /** Shorter waits are within the jitter of a network and the pauses of a backend. */
    private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The same while nothing is known: the first answers of a cold JVM are late, too. */
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(300);
    /** The wait of a call whose route usually takes long. */
    private static final long LONGEST_OF_ROUTE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long LONGEST_SCOUT_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final int PERIODS_OF_SILENCE = 6;
    private static final int MEAN_OF = 8;
    private static final long PRECISION_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final AtomicLong nextScoutAt = new AtomicLong();
    /** The moment of the last answer or of the last call that got a permit, whichever is later. */
    private volatile long lastMovedAt;

    private volatile boolean hasMoved;
    /** 0: there has been no answer. */
    private volatile long meanNanos;
    /** The mean distance of an answer from the mean. */
    private volatile long deviationNanos;

    /** A call has got a permit, and is sent: it may overtake others. */
    public void sent(long now) {
        moved(now);
    }

    /**
     * The backend has sent the head of an answer.
     *
     * @param nanos the time since the call was sent
     */
    public void answered(long nanos, long now) {
        long mean = meanNanos;
        if (mean == 0) {
            meanNanos = Math.max(1, nanos);
            deviationNanos = nanos;
        } else {
            // A long poll that is answered must not hide for long what the others take.
            long counted = Math.min(nanos, Math.max(LONGEST_OF_ROUTE_NANOS, 2 * mean));
            long deviation = deviationNanos;
            meanNanos = Math.max(1, mean + (counted - mean) / MEAN_OF);
            deviationNanos = deviation + (Math.abs(counted - mean) - deviation) / MEAN_OF;
        }
        moved(now);
    }

    private void moved(long now) {
        if (!hasMoved) {
            lastMovedAt = now;
            nextScoutAt.set(now);
            hasMoved = true;
        } else if (now - lastMovedAt > PRECISION_NANOS) {
            // Not for each call: the threads would contend for the field.
            lastMovedAt = now;
        }
    }

    /**
     * The time after which a call without an answer is late.
     *
     * @param usualNanos the usual time of the call's route; 0: unknown
     */
    public long lateNanos(long usualNanos) {
        long mean = meanNanos;
        if (mean == 0) {
            return FIRST_NANOS;
        }
        long ofRoute = usualNanos > LONGEST_OF_ROUTE_NANOS / TIMES ? LONGEST_OF_ROUTE_NANOS : TIMES * usualNanos;
        long ofBackend = Math.max(TIMES * mean, mean + DEVIATIONS * deviationNanos);
        return Math.max(SHORTEST_NANOS, Math.max(ofRoute, ofBackend));
    }

    /** The time within which nearly all answers come at present; 0: there has been none. */
    public long usualSpreadNanos() {
        return meanNanos + DEVIATIONS_OF_SPREAD * deviationNanos;
    }

    /**
     * Whether a scout would be due now, if all permits are held.
     *
     * @param usualNanos the usual time of the calls that may be late; 0: unknown
     */
    public boolean isScoutDue(long usualNanos, long now) {
        return hasMoved && now - nextScoutAt.get() >= 0 && now - lastMovedAt >= lateNanos(usualNanos);
    }

    /** Takes the turn of a scout that {@linkplain #isScoutDue is due}. False: another call has taken it. */
    public boolean tryScout(long usualNanos, long now) {
        long due = nextScoutAt.get();
        if (!isScoutDue(usualNanos, now)) {
            return false;
        }
        long silence = now - lastMovedAt;
        long period = Math.clamp(silence / PERIODS_OF_SILENCE, SHORTEST_NANOS, LONGEST_SCOUT_PERIOD_NANOS);
        return nextScoutAt.compareAndSet(due, now + period);
    }
}
