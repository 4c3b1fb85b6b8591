package io.weir.limit;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;

/**
 * The limit that a bulkhead has in force: the configured one, or a lower one that the backend's health sets
 * while it recovers.
 */
// Concurrency: `configured` is the only state. The bulkhead may be resized by several threads at once; each
// of them reads both values again after it has resized, so the last resize uses the last values.
public final class LimitInForce {

    private final QueueingBulkhead bulkhead;
    private final AtomicReference<Configured> configured;
    private volatile IntSupplier ceiling = () -> Integer.MAX_VALUE;

    private record Configured(int permits, int queueCapacity) {}

    /** The limit of a bulkhead, at first without a ceiling. */
    public LimitInForce(QueueingBulkhead bulkhead) {
        this.bulkhead = bulkhead;
        this.configured =
                new AtomicReference<>(new Configured(bulkhead.maxConcurrentCalls(), bulkhead.queueCapacity()));
    }

    /**
     * Sets the source of the ceiling; it replaces the previous one.
     *
     * @param source returns 1 or more; {@link Integer#MAX_VALUE}: no ceiling
     */
    public void limitBy(IntSupplier source) {
        ceiling = source;
        update();
    }

    /** Changes the configured limit and the queue's capacity. */
    public void configure(int permits, int queueCapacity) {
        configured.set(new Configured(permits, queueCapacity));
        update();
    }

    /** The configured limit. */
    public int permits() {
        return configured.get().permits;
    }

    /** Puts a changed ceiling in force. */
    public void update() {
        while (true) {
            Configured seen = configured.get();
            int lowest = ceiling.getAsInt();
            bulkhead.resize(Math.min(seen.permits, lowest), seen.queueCapacity);
            if (configured.get().equals(seen) && ceiling.getAsInt() == lowest) {
                return;
            }
        }
    }
}
