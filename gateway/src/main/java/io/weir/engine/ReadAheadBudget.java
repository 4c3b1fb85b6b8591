package io.weir.engine;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes of request bodies that the gateway holds, over all exchanges, before it passes them to the
 * backends. Above the limit, the slowest uploads end.
 *
 * <p>Only uploads that have been under way for {@link ReadingAhead#SLOW_NANOS} are candidates. So a body that
 * arrives at once costs two additions and no registration, and a burst of fast uploads ends none of them: if
 * there is no candidate, the upload that exceeds the limit stops reading ahead and asks for its permit.
 */
// Concurrency: thread-safe. `bytes` is one counter for all event loops. Any event loop that exceeds the limit
// chooses the slowest uploads. Each of them ends on its own event loop, so the counter falls a moment later.
// Chosen uploads count as ended, so that two event loops do not choose too many.
final class ReadAheadBudget {

    /** The share of the limit that is freed at once, so that the next bytes do not cause another choice. */
    private static final int FREED_DIVISOR = 16;

    private final long limitBytes;
    private final AtomicLong bytes = new AtomicLong();
    private final Set<ReadingAhead> candidates = ConcurrentHashMap.newKeySet();

    /** An unused budget. */
    ReadAheadBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /** The bytes that are held. */
    long bytes() {
        return bytes.get();
    }

    long limitBytes() {
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
    void addCandidate(ReadingAhead upload) {
        candidates.add(upload);
    }

    void removeCandidate(ReadingAhead upload) {
        candidates.remove(upload);
    }

    /**
     * Ends the slowest uploads until the rest is within the limit.
     *
     * @return whether enough bytes become free
     */
    boolean shed(long now) {
        long expected = bytes.get();
        for (ReadingAhead upload : candidates) {
            if (upload.isChosen()) {
                expected -= upload.heldBytes();
            }
        }
        if (expected <= limitBytes) {
            return true;
        }
        long target = limitBytes - limitBytes / FREED_DIVISOR;
        List<Ranked> slowestFirst = candidates.stream()
                .filter(upload -> !upload.isChosen() && upload.heldBytes() > 0)
                .map(upload -> new Ranked(upload, upload.bytesPerSecond(now)))
                .sorted(Comparator.comparingDouble(Ranked::bytesPerSecond))
                .toList();
        for (Ranked slowest : slowestFirst) {
            if (expected <= target) {
                return true;
            }
            long freed = slowest.upload.heldBytes();
            if (slowest.upload.choose()) {
                expected -= freed;
            }
        }
        return expected <= limitBytes;
    }

    /** An upload with its rate at one moment: uploads cannot be sorted by rates that change meanwhile. */
    private record Ranked(ReadingAhead upload, double bytesPerSecond) {}
}
