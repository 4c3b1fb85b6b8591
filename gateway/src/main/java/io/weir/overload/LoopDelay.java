package io.weir.overload;

import io.weir.limit.Priority;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * The time that one event loop keeps others waiting: the lateness of a timer on that loop. A loop runs its
 * timers once per iteration, so a timer that is due during an iteration is late by the rest of it. After a
 * late run the timer is due again at once, so that the lateness of the next run is the length of a whole
 * iteration. Otherwise it rests for {@value #REST_MILLIS} ms.
 *
 * <p>The time for which the loop was ready to run, and the processors ran other threads, is no part of the
 * delay ({@link ProcessorWait}): the loop's requests have not caused it, and to refuse them does not end it.
 * The requests that arrive meanwhile make the next iteration longer; so a loop that gets too little of the
 * processors for its requests has a delay, too.
 *
 * <p>Only a <em>standing</em> delay counts, after CoDel (Nichols and Jacobson, "Controlling Queue Delay", ACM
 * Queue 10(5), 2012): the lowest of the last measurements, at least {@value #ITERATIONS} over at least one
 * interval. A pause of any length (a garbage collection, stolen CPU, one long task) makes one iteration long.
 * A load beyond the loop's capacity makes every iteration long.
 *
 * <p>The same timer measures the loop's {@linkplain LoopPauses pauses}: between two of its runs at most
 * {@value #LONGEST_TICK_MILLIS} ms count as time that the loop has spent; the rest is a pause.
 *
 * <p>The iterations after a pause are long too, while the loop works off the requests that came meanwhile,
 * but each of them is shorter than the one before. A delay that shrinks by more than a tenth from the first
 * to the last of these measurements is therefore no standing delay: the loop catches up by itself. The loop's
 * {@link LoadShedder} begins only if the delay has not shrunk by as much over the last
 * {@value #LOOKBACK_INTERVALS} intervals: near its capacity a loop needs seconds to work off a pause, and its
 * iterations shrink by a few percent only.
 */
// Concurrency: measurements and pauses are confined to the loop's thread. The volatile fields hand their
// results to the sampler's thread. The sampler can lose a highest value that the loop writes at the same
// time; the loop writes the next one an iteration later.
final class LoopDelay implements LoopPauses, Runnable {

    /** Runs a task on the loop. */
    @FunctionalInterface
    interface Timer {

        /**
         * Schedules a task.
         *
         * @throws RejectedExecutionException if the loop has stopped
         */
        void schedule(Runnable task, long delayNanos);
    }

    static final int ITERATIONS = 3;
    static final int LOOKBACK_INTERVALS = 5;
    static final int REST_MILLIS = 25;
    static final int LONGEST_TICK_MILLIS = 2 * REST_MILLIS;

    private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(REST_MILLIS);
    private static final long LONGEST_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(LONGEST_TICK_MILLIS);
    /** After a shorter delay the timer rests: otherwise the measurement itself would keep the loop busy. */
    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** A pause fades for so many times as long as it lasted: a queue drains only beside new calls. */
    private static final int FADING_TIMES = 4;

    private static final double SHRINKING = 0.9;
    /**
     * More than the measurements of one interval: those of a standing delay are one target apart, and an
     * interval has at most 100 targets. A power of two.
     */
    private static final int KEPT = 128;

    private final Timer loop;
    private final LongSupplier nanoClock;
    private final ProcessorWait processorWait;
    private final long limitNanos;
    private final LoadShedder shedder;
    private final AtomicInteger sheddingLoops;
    private final LoopTurns turns;

    private final long[] dueNanos = new long[KEPT];
    private final long[] delayNanos = new long[KEPT];
    private int measurements;
    private long lastRunAt;
    private long waitedNanos;
    private long pausedNanos;
    private long latestPauseNanos;
    private long latestPauseEndedAt;
    private boolean isCounted;

    private volatile long threadId;
    private volatile long dueAtNanos;
    private volatile long standingNanos;
    private volatile long highestNanos;
    private volatile boolean isOverloaded;
    private volatile boolean isClosed = true;

    /**
     * A delay that is not measured yet.
     *
     * @param processorWait the time for which the loop's thread has waited for a processor
     * @param limitNanos the hard limit: the loop is overloaded if its standing delay is longer
     * @param shedder receives each measurement
     * @param sheddingLoops counts this loop while its shedder may refuse requests
     */
    LoopDelay(
            Timer loop,
            LongSupplier nanoClock,
            ProcessorWait processorWait,
            long limitNanos,
            LoadShedder shedder,
            AtomicInteger sheddingLoops) {
        this.loop = loop;
        this.turns = new LoopTurns(loop);
        this.nanoClock = nanoClock;
        this.processorWait = processorWait;
        this.limitNanos = limitNanos;
        this.shedder = shedder;
        this.sheddingLoops = sheddingLoops;
        this.dueAtNanos = nanoClock.getAsLong();
    }

    /** Begins to measure. */
    void start() {
        long now = nanoClock.getAsLong();
        // The first task of the loop sees these, since it is scheduled after them.
        lastRunAt = now;
        isClosed = false;
        schedule(now, 0);
    }

    /** Ends the measurements. The loop is not overloaded from now on. */
    void close() {
        isClosed = true;
    }

    /** The standing delay; 0: there is none. */
    long standingNanos() {
        return standingNanos;
    }

    /** The highest standing delay since the last call. For the sampler's thread. */
    long takeHighestNanos() {
        long highest = highestNanos;
        highestNanos = standingNanos;
        return Math.max(highest, standingNanos);
    }

    /** Whether the standing delay is above the hard limit. */
    boolean isOverloaded() {
        return isOverloaded && !isClosed;
    }

    /** Counts a request. On the loop, once for each request, before it is decided upon. */
    void arrived() {
        shedder.arrived();
    }

    /** Whether each request on this loop is refused, whatever its class. On the loop. */
    boolean refusesAll() {
        return isOverloaded() && !shedder.areRequestsFew();
    }

    /** Whether a request on this loop is refused. On the loop, once for each request. */
    boolean refuses(Priority priority) {
        return shedder.isShedding() && !isClosed && shedder.refuses(priority);
    }

    /**
     * Whether this loop may begin a costly task now; if not, the task runs in a later iteration. On the loop.
     */
    boolean takeTurn(Runnable task) {
        return isClosed || turns.take(task);
    }

    /** A task of {@link #takeTurn} no longer waits. On the loop. */
    void leaveTurns(Runnable task) {
        turns.leave(task);
    }

    /** The share of requests that is refused at present. */
    double share() {
        return shedder.share();
    }

    /** The highest share since the last call. For the sampler's thread. */
    double takeHighestShare() {
        return shedder.takeHighestShare();
    }

    @Override
    public long nanos(long now) {
        return isClosed ? pausedNanos : pausedNanos + presentPauseNanos(now);
    }

    @Override
    public long recentNanos(long now) {
        if (isClosed) {
            return 0;
        }
        long recent = Math.max(wholePauseNanos(presentPauseNanos(now)), leftOfLatestPauseNanos(now));
        return shedder.isPatient() ? Math.max(recent, shedder.targetNanos()) : recent;
    }

    /** With the first {@value #LONGEST_TICK_MILLIS} ms, which count as no pause: what came then waits. */
    private static long wholePauseNanos(long pause) {
        return pause == 0 ? 0 : pause + LONGEST_TICK_NANOS;
    }

    private long leftOfLatestPauseNanos(long now) {
        return latestPauseNanos == 0 ? 0 : Math.max(0, latestPauseNanos - (now - latestPauseEndedAt) / FADING_TIMES);
    }

    private long presentPauseNanos(long now) {
        return Math.max(0, now - lastRunAt - LONGEST_TICK_NANOS);
    }

    /**
     * Makes the loop patient, or ends that: a delay counts only above longer limits while others take the
     * processors from the loop. For the sampler's thread.
     */
    void setPatient(boolean isPatient) {
        shedder.setPatient(isPatient);
    }

    private long limitNanos() {
        return shedder.isPatient() ? LoadShedder.PATIENT_LIMITS * limitNanos : limitNanos;
    }

    /** The id of the loop's thread; 0: it has not run yet. */
    long threadId() {
        return threadId;
    }

    /** The time at which the timer is due, or was due if it is late. */
    long dueAtNanos() {
        return dueAtNanos;
    }

    /** Whether nothing is measured: not yet, or not any more. */
    boolean isClosed() {
        return isClosed;
    }

    @Override
    public void run() {
        if (isClosed) {
            publish(0);
            shedder.end();
            count(false);
            turns.close();
            processorWait.close();
            return;
        }
        if (threadId == 0) {
            threadId = Thread.currentThread().threadId();
        }
        long now = nanoClock.getAsLong();
        endPause(presentPauseNanos(now), now);
        lastRunAt = now;
        long late = now - dueAtNanos;
        long delay = Math.max(0, late - newWaitNanos());
        int newest = measurements++ & (KEPT - 1);
        dueNanos[newest] = dueAtNanos;
        delayNanos[newest] = delay;
        long standing = standing(now);
        publish(standing);
        boolean begins = !shedder.isShedding() && standing > shedder.targetNanos() && !hasShrunk(now, delay);
        shedder.observe(now, delay, begins, standing > limitNanos());
        count(shedder.isShedding());
        schedule(now, late < LATE_NANOS ? REST_NANOS : 0);
    }

    private void endPause(long pause, long now) {
        pausedNanos += pause;
        long whole = wholePauseNanos(pause);
        if (whole > leftOfLatestPauseNanos(now)) {
            latestPauseNanos = whole;
            latestPauseEndedAt = now;
        }
    }

    /**
     * The time for which the loop has waited for a processor since the last run. It may have waited before
     * the timer was due: that does not happen in an overload, in which the timer is due at once.
     */
    private long newWaitNanos() {
        long before = waitedNanos;
        waitedNanos = processorWait.nanos();
        return waitedNanos - before;
    }

    /** Whether an earlier delay was longer, so that the loop may be catching up. */
    private boolean hasShrunk(long now, long delay) {
        long lookback = LOOKBACK_INTERVALS * shedder.intervalNanos();
        for (int count = 1; count <= Math.min(measurements, KEPT); count++) {
            int i = (measurements - count) & (KEPT - 1);
            if (now - dueNanos[i] > lookback && count > ITERATIONS) {
                return false;
            }
            if (delay < SHRINKING * delayNanos[i]) {
                return true;
            }
        }
        return false;
    }

    private void count(boolean isShedding) {
        if (isShedding != isCounted) {
            isCounted = isShedding;
            sheddingLoops.addAndGet(isShedding ? 1 : -1);
        }
    }

    private long standing(long now) {
        long newest = delayNanos[(measurements - 1) & (KEPT - 1)];
        long lowest = Long.MAX_VALUE;
        for (int count = 1; count <= Math.min(measurements, KEPT); count++) {
            int i = (measurements - count) & (KEPT - 1);
            lowest = Math.min(lowest, delayNanos[i]);
            if (count >= ITERATIONS && now - dueNanos[i] >= shedder.intervalNanos()) {
                return newest < SHRINKING * delayNanos[i] ? 0 : lowest;
            }
        }
        return 0;
    }

    private void publish(long standing) {
        standingNanos = standing;
        if (standing > highestNanos) {
            highestNanos = standing;
        }
        isOverloaded = standing > limitNanos();
    }

    private void schedule(long now, long restNanos) {
        dueAtNanos = now + restNanos;
        try {
            loop.schedule(this, restNanos);
        } catch (RejectedExecutionException e) {
            // The loop has stopped: no request waits for it.
            isClosed = true;
        }
    }
}
