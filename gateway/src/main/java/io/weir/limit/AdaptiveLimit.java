package io.weir.limit;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A limit that {@link Knee} finds. */
// Concurrency: `knee` is confined to the thread that raises `processing` from 0. It processes its own sample and
// those that other threads hand to it meanwhile through `handedOver` (a Treiber stack, taken whole), until
// `processing` is 0 again. Those threads go on at once. So an uncontended sample costs one CAS and one decrement.
// The number, and all that a start needs, are published in volatile fields.
public final class AdaptiveLimit implements Limit {

    /** Samples that may wait for a suspended thread; more are dropped. */
    private static final int MAX_HANDED_OVER = 10_000;

    private static final double SECOND = 1e9;
    private static final int BASE = 1 << 30;

    private final Knee knee;
    private final RecentRate recentRate = new RecentRate();
    private final Runnable onChange;
    private final double maxWait;
    private final long startNanos;

    private final AtomicInteger processing = new AtomicInteger();
    private final AtomicReference<@Nullable Sample> handedOver = new AtomicReference<>();

    private volatile Published published;

    private record Published(int value, int queueCapacity, int baseBelow, boolean holding) {}

    private record Sample(
            double now, int mark, double latency, @Nullable Evidence evidence, int inUse, @Nullable Sample before, int depth) {}

    /** Test. */
    public AdaptiveLimit(
            int min, int max, int initial, double deadline, long nowNanos, long wallNanos, Runnable onChange) {
        this.knee = new Knee(min, max, initial, deadline, (wallNanos) / SECOND);
        this.startNanos = nowNanos;
        this.onChange = onChange;
        this.maxWait = deadline / 2;
        this.published = new Published(knee.value(), capacity(), knee.baseBelow(), false);
    }

    @Override
    public int value() {
        return published.value;
    }

    @Override
    public int started(long nowNanos, int inUse) {
        Published seen = published;
        if (seen.holding) {
            process(nowNanos, 0, 0, null, inUse);
        }
        return inUse <= seen.baseBelow ? inUse | BASE : inUse;
    }

    @Override
    public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse) {
        process(nowNanos, mark, latencyNanos / SECOND, evidence, inUse);
    }

    private void process(long nowNanos, int mark, double latency, @Nullable Evidence evidence, int inUse) {
        double now = (nowNanos - startNanos) / SECOND;
        if (processing.compareAndSet(0, 1)) {
            apply(now, mark, latency, evidence, inUse);
        } else {
            handOver(now, mark, latency, evidence, inUse);
            if (processing.getAndIncrement() != 0) {
                return;
            }
        }
        int requests = 1;
        while (true) {
            Sample last = handedOver.get() == null ? null : handedOver.getAndSet(null);
            if (last != null) {
                applyAll(last);
            }
            boolean changed = publish();
            if (changed) {
                onChange.run();
            }
            requests = processing.addAndGet(-requests);
            if (requests == 0) {
                return;
            }
        }
    }

    private void handOver(double now, int mark, double latency, @Nullable Evidence evidence, int inUse) {
        Sample last = handedOver.get();
        while (true) {
            int depth = last == null ? 1 : last.depth + 1;
            if (depth > MAX_HANDED_OVER
                    || handedOver.compareAndSet(last, new Sample(now, mark, latency, evidence, inUse, last, depth))) {
                return;
            }
            last = handedOver.get();
        }
    }

    private void applyAll(Sample last) {
        Sample[] all = new Sample[last.depth];
        int i = all.length;
        for (Sample s = last; s != null; s = s.before) {
            all[--i] = s;
        }
        for (Sample s : all) {
            apply(s.now, s.mark, s.latency, s.evidence, s.inUse);
        }
    }

    private void apply(double now, int mark, double latency, @Nullable Evidence evidence, int inUse) {
        if (evidence == null) {
            knee.started(now, inUse);
        } else {
            if (evidence == Evidence.ANSWERED) {
                recentRate.answered();
            }
            recentRate.advance(now);
            knee.ended(now, latency, evidence, (mark & BASE) != 0, mark & ~BASE, inUse);
        }
    }

    private boolean publish() {
        Published seen = published;
        int value = knee.value();
        int baseBelow = knee.baseBelow();
        boolean holding = knee.isHolding();
        int capacity = capacity();
        boolean resized = seen.value != value || Math.abs(capacity - seen.queueCapacity) > seen.queueCapacity / 16;
        if (!resized && seen.baseBelow == baseBelow && seen.holding == holding) {
            return false;
        }
        published = new Published(value, resized ? capacity : seen.queueCapacity, baseBelow, holding);
        return resized;
    }

    private int capacity() {
        return (int) Math.max(8, Math.max(2 * knee.value(), maxWait * recentRate.perSecond()));
    }

    /** The calls that may wait. */
    public int queueCapacity() {
        return published.queueCapacity;
    }

    Knee knee() {
        return knee;
    }

    @Override
    public Beliefs beliefs() {
        return new Beliefs(published.value, (long) (knee.base * SECOND), knee.rate(), knee.utilisation(), knee.lastChange());
    }
}
