package io.weir.limit;

import io.weir.limit.Limit.Evidence;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The samples that threads hand over to the thread that processes an {@link AdaptiveLimit}. */
// Concurrency: a Treiber stack, taken whole. Any thread adds; one thread at a time takes.
final class HandedOverSamples {

    /** Samples that may wait for a suspended thread. More are dropped: they are statistics. */
    static final int MAX_SAMPLES = 10_000;

    private static final Sample[] NONE = {};

    private final AtomicReference<@Nullable Sample> last = new AtomicReference<>();

    /** A sample for the processing thread; without evidence, the start of a call, or a call that waits. */
    record Sample(
            long nowNanos,
            int mark,
            long latencyNanos,
            @Nullable Evidence evidence,
            int inUse,
            @Nullable Sample before,
            int depth) {}

    void add(long nowNanos, int mark, long latencyNanos, @Nullable Evidence evidence, int inUse) {
        while (true) {
            Sample before = last.get();
            int depth = before == null ? 1 : before.depth + 1;
            if (depth > MAX_SAMPLES) {
                return;
            }
            Sample sample = new Sample(nowNanos, mark, latencyNanos, evidence, inUse, before, depth);
            if (last.compareAndSet(before, sample)) {
                return;
            }
        }
    }

    /** Takes all samples, in the order in which they were added. */
    Sample[] takeAll() {
        if (last.get() == null) {
            return NONE;
        }
        Sample next = last.getAndSet(null);
        Sample[] all = new Sample[next == null ? 0 : next.depth];
        for (; next != null; next = next.before) {
            all[next.depth - 1] = next;
        }
        return all;
    }
}
