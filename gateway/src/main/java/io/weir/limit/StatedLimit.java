package io.weir.limit;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;

/**
 * An adaptive limit whose place is taken by the capacity that the backend states, within the same bounds.
 * Meanwhile nothing is learnt: the calls in flight show the effect of another number.
 *
 * <p><b>A number that is too high</b> is disproved if most of the calls under it time out or are shed (less
 * than half are answered, of the last {@value #SHARE_OF} or so). For five minutes from then on, the learnt
 * limit counts if it is lower than a stated one of at least the disproved number. A number that is too low
 * cannot be disproved without more calls; {@link LimitBounds#min} bounds what it costs.
 *
 * <p><b>After the last statement</b> the learnt limit goes on from the stated one, as far as that was in use,
 * and not from where it stood: in the 30 s after it, at 4 times the capacity, the mean of 7 backends is .977
 * of the capacity and not .955, with 4 workers of 200 ms .89 and not .78. A disproved number leaves the
 * learnt limit where it stood.
 */
// Concurrency: what is stated is one immutable object in `stated`, replaced by a CAS from the one that the
// computation began with, so that the last one has seen the last statement. Benign: of two ends of calls at
// once, one may be missing in the share or the latency.
final class StatedLimit implements Limit {

    /** The mark of a call that starts under a stated limit; those of the learnt limit are not negative. */
    private static final int STATED_MARK = -2;

    /** The time between two looks at the statements; each change of one is another reason to look. */
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long DISPROVED_NANOS = TimeUnit.MINUTES.toNanos(5);
    private static final int SHARE_OF = 32;
    private static final double DISPROVED_SHARE = .5;
    private static final int MAX_QUEUE_CAPACITY = 100_000;
    private static final double MEAN_OF = 16;

    /** No capacity is stated. */
    private static final int NONE = 0;

    private final Limit learnt;
    private final CapacitySource source;
    private final Runnable onChange;
    private final AtomicReference<Stated> stated = new AtomicReference<>(new Stated(NONE, NONE, 0, 0));
    private final AtomicLong disproofs = new AtomicLong();

    private volatile LimitBounds bounds;
    private volatile long deadlineNanos;
    private volatile double answeredShare = 1;
    /** The most calls in flight under the stated limit. */
    private volatile int mostInUse;
    /** The mean latency of the answers under a stated limit; 0: unknown. */
    private volatile double latencyNanos;
    /** A number that was too high; {@link Integer#MAX_VALUE}: none was. */
    private volatile int disproved = Integer.MAX_VALUE;

    private volatile long disprovedUntil;

    /**
     * What is stated.
     *
     * @param calls the limit in force; {@link #NONE}: the learnt one
     * @param told the limit that is stated, in force or not; {@link #NONE}: none is
     * @param queueCapacity the capacity of the queue
     * @param lookAt the time of the next look
     */
    private record Stated(int calls, int told, int queueCapacity, long lookAt) {}

    /**
     * @param learnt the adaptive limit
     * @param onChange as for {@link AdaptiveLimit}, but on any thread
     */
    StatedLimit(Limit learnt, LimitBounds bounds, long deadlineNanos, CapacitySource source, Runnable onChange) {
        this.learnt = learnt;
        this.bounds = bounds;
        this.deadlineNanos = deadlineNanos;
        this.source = source;
        this.onChange = onChange;
    }

    /** The adaptive limit. */
    Limit learnt() {
        return learnt;
    }

    // ---------------------------------------------------------------- what is stated

    /** Looks at the statements now. Returns whether the limit or its queue has changed. */
    @Override
    public boolean look(long nowNanos) {
        while (true) {
            Stated before = stated.get();
            Stated next = looked(before, nowNanos);
            if (stated.compareAndSet(before, next)) {
                if (before.calls == NONE && next.calls != NONE) {
                    answeredShare = 1;
                    mostInUse = 0;
                }
                if (next.told == NONE && before.calls != NONE) {
                    learnt.resume(Math.min(before.calls, Math.max(learnt.value(), mostInUse)), nowNanos);
                }
                return next.calls != before.calls || next.queueCapacity != before.queueCapacity;
            }
        }
    }

    private Stated looked(Stated before, long nowNanos) {
        int learntNow = learnt.value();
        int said = source.limit(learntNow, nowNanos);
        if (said == CapacitySource.NONE) {
            return new Stated(NONE, NONE, 0, nowNanos + LOOK_NANOS);
        }
        int told = Math.clamp(said, bounds.min(), bounds.max());
        boolean isBelieved = told <= learntNow || told < disproved || nowNanos - disprovedUntil >= 0;
        if (!isBelieved) {
            return new Stated(NONE, told, 0, nowNanos + LOOK_NANOS);
        }
        int capacity = capacity(told);
        boolean isSame = before.calls == told
                && Math.abs(capacity - before.queueCapacity) <= before.queueCapacity / AdaptiveLimit.RESIZED_ONE_IN;
        return new Stated(told, told, isSame ? before.queueCapacity : capacity, nowNanos + LOOK_NANOS);
    }

    /** As that of {@link AdaptiveLimit#queueCapacity}. */
    private int capacity(int calls) {
        double latency = latencyNanos;
        double answeredInTime = latency == 0 ? 0 : deadlineNanos / 2. * calls / latency;
        double least = Math.max(learnt.queueCapacity(), 2. * calls);
        return (int) Math.min(MAX_QUEUE_CAPACITY, Math.max(least, answeredInTime));
    }

    private void lookIfDue(long nowNanos) {
        if (nowNanos - stated.get().lookAt >= 0 && look(nowNanos)) {
            onChange.run();
        }
    }

    /** The limit that is stated, in force or disproved; 0: none is. */
    int told() {
        return stated.get().told;
    }

    @Override
    public boolean isStated() {
        return stated.get().calls != NONE;
    }

    /** The numbers that were disproved so far. */
    long disproofs() {
        return disproofs.get();
    }

    // ---------------------------------------------------------------- samples

    @Override
    public int started(long nowNanos, int inUse) {
        lookIfDue(nowNanos);
        return isStated() ? STATED_MARK : learnt.started(nowNanos, inUse);
    }

    @Override
    public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse) {
        lookIfDue(nowNanos);
        if (mark != STATED_MARK) {
            learnt.ended(nowNanos, mark, latencyNanos, isStated() ? Evidence.NONE : evidence, inUse);
        } else if (isStated()) {
            if (inUse > mostInUse) {
                mostInUse = inUse;
            }
            judge(nowNanos, latencyNanos, evidence);
        }
    }

    private void judge(long nowNanos, long latency, Evidence evidence) {
        boolean isAnswered = evidence == Evidence.ANSWERED;
        if (!isAnswered && evidence != Evidence.TIMED_OUT && evidence != Evidence.SHED) {
            return;
        }
        if (isAnswered) {
            double mean = latencyNanos;
            latencyNanos = mean == 0 ? Math.max(1, latency) : mean + (latency - mean) / MEAN_OF;
        }
        double share = answeredShare;
        share += ((isAnswered ? 1 : 0) - share) / SHARE_OF;
        answeredShare = share;
        if (share < DISPROVED_SHARE) {
            answeredShare = 1;
            disproved = stated.get().told;
            disprovedUntil = nowNanos + DISPROVED_NANOS;
            disproofs.incrementAndGet();
            if (look(nowNanos)) {
                onChange.run();
            }
        }
    }

    @Override
    public long longWaitNanos() {
        return isStated() ? Long.MAX_VALUE : learnt.longWaitNanos();
    }

    @Override
    public void waited(long nowNanos, long sinceNanos) {
        if (!isStated()) {
            learnt.waited(nowNanos, sinceNanos);
        }
    }

    @Override
    public void queued(long nowNanos) {
        if (!isStated()) {
            learnt.queued(nowNanos);
        }
    }

    /** A lower limit can relieve the backend if the learnt one is lower, which follows a disproved number. */
    @Override
    public boolean absorbs(Evidence end, long latencyNanos) {
        int calls = stated.get().calls;
        if (calls == NONE) {
            return learnt.absorbs(end, latencyNanos);
        }
        return learnt.value() < calls && (end == Evidence.SHED || end == Evidence.QUOTA || end == Evidence.TIMED_OUT);
    }

    // ---------------------------------------------------------------- the limit

    @Override
    public int value() {
        int calls = stated.get().calls;
        return calls == NONE ? learnt.value() : calls;
    }

    @Override
    public int queueCapacity() {
        Stated seen = stated.get();
        return seen.calls == NONE ? learnt.queueCapacity() : seen.queueCapacity;
    }

    @Override
    public boolean isBelow(int ceiling, DoubleSupplier share) {
        int calls = stated.get().calls;
        if (calls == NONE) {
            return learnt.isBelow(ceiling, share);
        }
        double part = share.getAsDouble();
        return part > 0 && LearntLimit.partOf(calls, part) <= ceiling;
    }

    @Override
    public void configure(LimitBounds next, long nextDeadlineNanos) {
        bounds = next;
        deadlineNanos = nextDeadlineNanos;
        learnt.configure(next, nextDeadlineNanos);
    }

    @Override
    public void scaleTo(double share) {
        learnt.scaleTo(share);
    }

    /** The figures of the learnt limit. While it is not in force, it is not in use. */
    @Override
    public Beliefs beliefs() {
        Beliefs of = learnt.beliefs();
        return isStated()
                ? new Beliefs(
                        of.limit(),
                        of.baseLatencyNanos(),
                        of.answersPerSecond(),
                        0,
                        of.lastChange(),
                        of.changedAtMillis(),
                        of.decisions())
                : of;
    }

    @Override
    public long changes(Change reason) {
        return learnt.changes(reason);
    }
}
