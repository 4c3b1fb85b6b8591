package io.weir.slowcaller;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes of request bodies that the gateway holds, over all exchanges, before it passes them to the
 * backends. Above the limit, the slowest uploads end.
 *
 * <p>Only uploads that have been under way for {@link #SLOW_NANOS} are candidates. So a body that
 * arrives at once costs two additions and no registration, and a burst of fast uploads ends none of them: if
 * there is no candidate, the upload that exceeds the limit stops reading ahead and asks for its permit.
 */
// Concurrency: thread-safe. `bytes` is one counter for all event loops. Any event loop that exceeds the limit
// chooses the slowest uploads.
public final class ReadAheadBudget {

    /** The duration from which an upload counts as slow, so that it may be ended for others. */
    public static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The share of the limit that is freed at once, so that the next bytes do not cause another choice. */
    private static final int FREED_DIVISOR = 16;

    private final long limitBytes;
    private final AtomicLong bytes = new AtomicLong();
    private final Set<SlowUpload> candidates = ConcurrentHashMap.newKeySet();

    /** An unused budget. */
    public ReadAheadBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /** The bytes that are held. */
    public long bytes() {
        return bytes.get();
    }

    /** The limit of {@link #bytes}. */
    public long limitBytes() {
        return limitBytes;
    }

    /**
     * Counts bytes that an exchange holds from now on.
     *
     * @return whether all held bytes are within the limit
     */
    boolean hold(int more) {
        return bytes.addAndGet(more) <= limitBytes;
    }

    /** Counts bytes that an exchange does not hold any more. */
    void giveBack(int fewer) {
        bytes.addAndGet(-fewer);
    }

    /** Adds a slow upload, which may be ended. */
    public void addCandidate(SlowUpload upload) {
        candidates.add(upload);
    }

    /** Forgets an upload that has ended, or whose body is complete. */
    public void removeCandidate(SlowUpload upload) {
        candidates.remove(upload);
    }

    /**
     * Ends the slowest uploads until the rest is within the limit.
     *
     * @return whether enough bytes become free
     */
    public boolean shed(long now) {
        long expected = bytes.get();
        for (SlowUpload upload : candidates) {
            if (upload.isChosen()) {
                expected -= upload.heldBytes();
            }
        }
        if (expected <= limitBytes) {
            return true;
        }
        long target = limitBytes - limitBytes / FREED_DIVISOR;
        for (SlowUpload slowest : EndableCall.slowestFirst(candidates, one -> one.heldBytes() > 0, now)) {
            if (expected <= target) {
                return true;
            }
            long freed = slowest.heldBytes();
            if (slowest.choose()) {
                expected -= freed;
            }
        }
        return expected <= limitBytes;
    }
}
