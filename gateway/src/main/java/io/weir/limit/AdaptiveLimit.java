package io.weir.limit;

import io.weir.limit.HandedOverSamples.Sample;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A limit that {@link Knee} finds from the samples, and the capacity of the queue that suits it. It has
 * neither threads nor a clock: each sample contains its time.
 *
 * <p>Limitations: nothing changes while no call starts, ends or waits. A backend that answers fewer than 2
 * &middot; initial / deadline calls per second is filled beyond the deadline before anything is measured:
 * such a backend needs a smaller {@code initial}, or a fixed limit.
 */
// Concurrency: `knee`, `recentRate` and `samples` are confined to the thread that raises `processing` from 0.
// That thread processes its own sample, and those that other threads add to `handedOver` meanwhile, until
// `processing` is 0 again. The other threads continue at once. So a sample without contention costs one CAS
// and one decrement, and allocates nothing; the start of a call is one volatile read, except during a probe.
// The limit, and everything that a start reads, are one immutable object in `published`. onChange runs on the
// processing thread, so the last change is announced last; samples that onChange causes are handed over.
// Benign: samples of two threads may be processed in another order than that of their times; the knee's time
// never goes back. A start that reads `published` just before a probe lowers the limit is missing in the
// probe's mean.
public final class AdaptiveLimit implements Limit {

    private static final int MIN_QUEUE_CAPACITY = 32;
    private static final int MAX_QUEUE_CAPACITY = 100_000;
    /** A smaller difference of the queue's capacity is not worth a resize. */
    static final int RESIZED_ONE_IN = 16;

    private static final double SECOND = 1e9;
    private static final double MILLIS_PER_SECOND = 1e3;
    private static final double NANOS_PER_MILLI = 1e6;

    /** A figure that has changed by less than this share is not published again. */
    private static final double NOTICEABLE_SHARE = 1 / 16.;

    /** A backend that answers less than this share of its calls fails; a lower limit does not help it. */
    private static final double MIN_ANSWERED_SHARE = .1;

    /** The weight of a sample in that share is 1 / this. */
    private static final double ANSWERED_SHARE_SAMPLES = 32;

    /**
     * This bit of a mark is set if the call is a sample of the base latency; the other bits are the calls in
     * flight.
     */
    private static final int BASE = 1 << 30;

    /** In place of the calls in flight: the sample is a call that waits. */
    private static final int WAITING = -1;

    /** As WAITING: the call has just begun to wait. */
    private static final int QUEUED = -2;

    /** As WAITING: the mark is the number that was in force in place of the limit. */
    private static final int RESUMED = -3;

    private final long startNanos;
    private final double startMillis;
    private final Runnable onChange;

    private final Knee knee;
    private final RecentRate recentRate = new RecentRate();
    private final LastChange lastChange = new LastChange();
    /** The number that the last change led to, or the settings since. */
    private int explained;

    private double lastNow;
    private long samples;
    private double answeredShare = 1;
    private Settings applied;

    /** Written by any thread; the processing thread applies it. */
    private final AtomicReference<Settings> settings;

    private final AtomicInteger processing = new AtomicInteger();
    private final HandedOverSamples handedOver = new HandedOverSamples();
    private volatile Published published;

    /** A 503 within this time counts as fast, whatever the backend's base latency is. */
    private static final long MIN_FAST_NANOS = 1_000_000;

    private record Settings(LimitBounds bounds, double deadline, double share) {}

    /**
     * All that other threads read.
     *
     * @param share the share of the instances that the samples come from
     * @param longWaitNanos the wait after which {@link Knee#waited} must be called; {@link Long#MAX_VALUE}:
     *     never
     * @param mindsSilence whether {@link Knee#queued} must be called for each call that has to wait
     * @param canHelp whether a lower limit may help the backend: there is a lower one, and the backend
     *     answers some of its calls
     */
    private record Published(
            Beliefs beliefs,
            double share,
            int queueCapacity,
            int baseInFlight,
            boolean holding,
            long longWaitNanos,
            boolean mindsSilence,
            boolean canHelp) {}

    /**
     * A limit without samples.
     *
     * @param deadlineNanos the deadline of the backend's calls
     * @param nowNanos the time on the samples' clock
     * @param wallNanos the same moment on the wall clock; the gateways in front of one backend use it to
     *     probe together
     * @param onChange called when {@link #value()} or {@link #queueCapacity()} has changed, one call at a
     *     time. It must neither block nor throw
     */
    public AdaptiveLimit(LimitBounds bounds, long deadlineNanos, long nowNanos, long wallNanos, Runnable onChange) {
        this.startNanos = nowNanos;
        this.startMillis = wallNanos / NANOS_PER_MILLI;
        this.onChange = onChange;
        this.applied = new Settings(bounds, deadlineNanos / SECOND, 1);
        this.settings = new AtomicReference<>(applied);
        this.knee = new Knee(bounds, applied.deadline, wallNanos / SECOND);
        this.explained = knee.wholeValue();
        this.published = currentState(capacity());
    }

    /** The limit if all instances of the backend took calls. */
    @Override
    public int value() {
        return published.beliefs.limit();
    }

    /** Of a limit that learns from some instances only, their part must be at most the ceiling. */
    @Override
    public boolean isBelow(int ceiling, DoubleSupplier share) {
        Published seen = published;
        int limit = seen.beliefs.limit();
        return seen.share == 1
                ? limit <= ceiling
                : seen.share == share.getAsDouble() && Knee.partOf(limit, seen.share) <= ceiling;
    }

    @Override
    public void scaleTo(double share) {
        if (settings.get().share != share) {
            change(before -> new Settings(before.bounds, before.deadline, share));
        }
    }

    /**
     * The number of calls that may wait: at least twice the limit, and at least the number that is probably
     * answered within half the deadline. That number comes from the highest recent rate of answers, or from
     * the rate of an idle backend at this limit. At least {@value #MIN_QUEUE_CAPACITY}.
     */
    @Override
    public int queueCapacity() {
        return published.queueCapacity;
    }

    @Override
    public Beliefs beliefs() {
        return published.beliefs;
    }

    @Override
    public long changes(Change reason) {
        return knee.changes(reason);
    }

    @Override
    public int started(long nowNanos, int inUse) {
        Published seen = published;
        if (seen.holding) {
            process(nowNanos, 0, 0, null, inUse);
        }
        return inUse <= seen.baseInFlight ? inUse | BASE : inUse;
    }

    @Override
    public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse) {
        process(nowNanos, mark, latencyNanos, evidence, inUse);
    }

    /**
     * A third of the deadline, or a quarter while no call has ended; {@link Long#MAX_VALUE} while the windows
     * judge the limit in time.
     */
    @Override
    public long longWaitNanos() {
        return published.longWaitNanos;
    }

    @Override
    public void waited(long nowNanos, long sinceNanos) {
        if (published.longWaitNanos < Long.MAX_VALUE) {
            process(nowNanos, 0, nowNanos - sinceNanos, null, WAITING);
        }
    }

    @Override
    public void queued(long nowNanos) {
        if (published.mindsSilence) {
            process(nowNanos, 0, 0, null, QUEUED);
        }
    }

    @Override
    public void resume(int calls, long nowNanos) {
        process(nowNanos, calls, 0, null, RESUMED);
    }

    /** {@link LimitBounds#initial} has no effect once the limit has measured something. */
    @Override
    public void configure(LimitBounds bounds, long deadlineNanos) {
        change(before -> new Settings(bounds, deadlineNanos / SECOND, before.share));
    }

    private void change(UnaryOperator<Settings> part) {
        settings.updateAndGet(part);
        if (processing.getAndIncrement() == 0) {
            processHandedOver();
        }
    }

    @Override
    public boolean absorbs(Evidence end, long latencyNanos) {
        Published seen = published;
        return seen.canHelp
                && (end == Evidence.SHED
                        || end == Evidence.QUOTA
                        || end == Evidence.TIMED_OUT
                        || (end == Evidence.UNAVAILABLE
                                && latencyNanos < Math.max(seen.beliefs.baseLatencyNanos() / 2, MIN_FAST_NANOS)));
    }

    private void process(long nowNanos, int mark, long latencyNanos, @Nullable Evidence evidence, int inUse) {
        if (processing.compareAndSet(0, 1)) {
            apply(nowNanos, mark, latencyNanos, evidence, inUse);
        } else {
            handedOver.add(nowNanos, mark, latencyNanos, evidence, inUse);
            if (processing.getAndIncrement() != 0) {
                return;
            }
        }
        processHandedOver();
    }

    private void processHandedOver() {
        int requests = 1;
        while (requests != 0) {
            Settings latest = settings.get();
            if (!latest.equals(applied)) {
                recordChange();
                applied = latest;
                knee.configure(latest.bounds, latest.deadline, latest.share);
                moved();
            }
            for (Sample sample : handedOver.takeAll()) {
                apply(sample.nowNanos(), sample.mark(), sample.latencyNanos(), sample.evidence(), sample.inUse());
            }
            publish();
            requests = processing.addAndGet(-requests);
        }
    }

    private void apply(long nowNanos, int mark, long latencyNanos, @Nullable Evidence evidence, int inUse) {
        double now = Math.max(lastNow, (nowNanos - startNanos) / SECOND);
        lastNow = now;
        if (evidence == null) {
            if (inUse == QUEUED) {
                knee.queued(now);
            } else if (inUse == RESUMED) {
                recordChange();
                knee.resume(mark);
                moved();
            } else if (inUse == WAITING) {
                knee.waited(now, now - latencyNanos / SECOND);
            } else {
                knee.started(now, inUse);
            }
            return;
        }
        samples++;
        if (evidence != Evidence.NONE && evidence != Evidence.QUOTA) {
            answeredShare += ((evidence == Evidence.ANSWERED ? 1 : 0) - answeredShare) / ANSWERED_SHARE_SAMPLES;
        }
        if (evidence == Evidence.ANSWERED) {
            recentRate.answered();
        }
        recentRate.advance(now);
        knee.ended(now, latencyNanos / SECOND, evidence, (mark & BASE) != 0, mark & ~BASE, inUse);
    }

    private void publish() {
        Published seen = published;
        Beliefs before = seen.beliefs;
        int limit = knee.wholeValue();
        recordChange();
        int capacity = capacity();
        boolean resized = limit != before.limit()
                || Math.abs(capacity - seen.queueCapacity) > seen.queueCapacity / RESIZED_ONE_IN;
        boolean outdated = resized
                || applied.share != seen.share
                || lastChange.reason() != before.lastChange()
                || knee.baseInFlight() != seen.baseInFlight
                || knee.isHolding() != seen.holding
                || longWait() != seen.longWaitNanos
                || knee.isSilencePossible() != seen.mindsSilence
                || canHelp() != seen.canHelp
                || knee.utilisation() != before.utilisation()
                || differs(knee.baseLatency(), before.baseLatencyNanos() / SECOND)
                || differs(knee.rate(), before.answersPerSecond());
        if (outdated) {
            published = currentState(resized ? capacity : seen.queueCapacity);
        }
        if (resized) {
            onChange.run();
        }
    }

    /** Records the decision that has moved the number, if one has. */
    private void recordChange() {
        int limit = knee.wholeValue();
        if (limit != explained || (lastChange.isProbing() && knee.lastChange() != Change.PROBE)) {
            lastChange.record(explained, limit, knee.lastChange(), lastNow);
            explained = limit;
        }
    }

    /** The number has changed without a decision. */
    private void moved() {
        explained = knee.wholeValue();
        lastChange.moved(knee.wholeLimit(), knee.lastChange() == Change.PROBE);
    }

    private static boolean differs(double now, double before) {
        return Math.abs(now - before) > NOTICEABLE_SHARE * before;
    }

    private Published currentState(int queueCapacity) {
        Beliefs beliefs = new Beliefs(
                knee.wholeValue(),
                (long) (knee.baseLatency() * SECOND),
                knee.rate(),
                knee.utilisation(),
                lastChange.reason(),
                (long) (startMillis + lastChange.at() * MILLIS_PER_SECOND),
                lastChange.decisions());
        return new Published(
                beliefs,
                applied.share,
                queueCapacity,
                knee.baseInFlight(),
                knee.isHolding(),
                longWait(),
                knee.isSilencePossible(),
                canHelp());
    }

    private long longWait() {
        double seconds = knee.longWait();
        return seconds == Double.POSITIVE_INFINITY ? Long.MAX_VALUE : (long) (seconds * SECOND);
    }

    private boolean canHelp() {
        return !knee.isAtFloor() && answeredShare >= MIN_ANSWERED_SHARE;
    }

    private int capacity() {
        double perSecond = recentRate.perSecond();
        if (knee.baseLatency() > 0) {
            perSecond = Math.max(perSecond, knee.value() / knee.baseLatency());
        }
        double answeredInTime = applied.deadline / 2 * perSecond;
        return (int) Math.clamp(Math.max(2. * knee.value(), answeredInTime), MIN_QUEUE_CAPACITY, MAX_QUEUE_CAPACITY);
    }

    /** For tests: the samples processed so far. Read while no other thread is active. */
    long samples() {
        return samples;
    }
}
