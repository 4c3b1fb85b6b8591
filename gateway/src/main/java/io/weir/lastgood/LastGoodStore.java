package io.weir.lastgood;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import io.weir.lastgood.StoredEntry.VaryNames;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The last good answers of all routes, bounded by their size in memory.
 *
 * <p>Concurrency: {@link #find} takes no lock. Caffeine's writers may wait for its maintenance, so answers
 * are put in place by the executor and never on an event loop; of two answers to the same request the newer
 * one stays, in whatever order they come. An answer is checked against {@link #emptied} and its space again
 * after it is put in place, so that one that was under way while the store was emptied does not stay.
 */
public final class LastGoodStore {

    /** Recordings under way may take as much of the memory again. */
    private static final int RECORDING_DIVISOR = 4;

    private final long maxBytes;
    private final LongSupplier nanoClock;
    private final LongSupplier epochMillis;
    private final Executor executor;
    private final AtomicLong recording = new AtomicLong();
    private final AtomicLong emptied = new AtomicLong();
    /** Null until a route keeps answers: then none of Caffeine's classes is loaded. */
    private volatile @Nullable Cache<RequestKey, StoredEntry> answers;

    /**
     * A store without answers.
     *
     * @param executor puts answers in place, and evicts others
     */
    public LastGoodStore(
            LastGoodMemoryProperties properties, LongSupplier nanoClock, LongSupplier epochMillis, Executor executor) {
        this.maxBytes = properties.memory().toBytes();
        this.nanoClock = nanoClock;
        this.epochMillis = epochMillis;
        this.executor = executor;
    }

    /** Makes the store ready, since a route keeps answers. */
    synchronized void open() {
        if (answers == null) {
            answers = Caffeine.newBuilder()
                    .maximumWeight(maxBytes)
                    .weigher((RequestKey key, StoredEntry entry) -> key.bytes() + entry.bytes())
                    .expireAfter(Expiry.writing(
                            (RequestKey key, StoredEntry entry) -> Duration.ofNanos(entry.usableNanos())))
                    .ticker(nanoClock::getAsLong)
                    .executor(executor)
                    .build();
        }
    }

    long nowNanos() {
        return nanoClock.getAsLong();
    }

    long nowMillis() {
        return epochMillis.getAsLong();
    }

    // ---------------------------------------------------------------- recordings

    /** Takes memory for a recording; false: too much of it is in use, and the answer is not recorded. */
    boolean reserve(int bytes) {
        if (recording.addAndGet(bytes) <= maxBytes / RECORDING_DIVISOR) {
            return true;
        }
        recording.addAndGet(-bytes);
        return false;
    }

    void giveBack(long bytes) {
        recording.addAndGet(-bytes);
    }

    /** Bytes that recordings under way have taken. */
    public long recordingBytes() {
        return recording.get();
    }

    /** How often the store was emptied. A recording that began before is not kept. */
    long emptied() {
        return emptied.get();
    }

    /**
     * Keeps an answer.
     *
     * @param first the entry under the request's key: the answer, or the names of its {@code Vary} fields
     * @param reservedBytes memory of the recording, given back afterwards
     * @param begunAt the value of {@link #emptied} when the recording began
     */
    void put(
            RequestKey key,
            StoredEntry first,
            RequestKey ofAnswer,
            StoredAnswer answer,
            long reservedBytes,
            long begunAt) {
        executor.execute(() -> {
            try {
                keep(key, first, begunAt);
                if (first != answer) {
                    keep(ofAnswer, answer, begunAt);
                }
            } finally {
                giveBack(reservedBytes);
            }
        });
    }

    private void keep(RequestKey key, StoredEntry entry, long begunAt) {
        Cache<RequestKey, StoredEntry> cache = answers;
        if (cache == null || isOutdated(key, begunAt)) {
            return;
        }
        cache.asMap()
                .merge(
                        key,
                        entry,
                        (known, given) -> given.receivedAtNanos() - known.receivedAtNanos() >= 0 ? given : known);
        if (isOutdated(key, begunAt)) {
            cache.asMap().remove(key, entry);
        }
    }

    private boolean isOutdated(RequestKey key, long begunAt) {
        return key.space().isClosed() || emptied.get() != begunAt;
    }

    // ---------------------------------------------------------------- answers

    /** The newest answer to the request; null: none. Takes no lock. */
    @Nullable
    StoredAnswer find(RequestKey key, LastGoodRequest request) {
        Cache<RequestKey, StoredEntry> cache = answers;
        if (cache == null) {
            return null;
        }
        StoredEntry entry = cache.getIfPresent(key);
        if (entry instanceof VaryNames vary) {
            entry = cache.getIfPresent(key.with(vary.names(), request));
        }
        return entry instanceof StoredAnswer answer ? answer : null;
    }

    /** Removes the answers of all other spaces, and closes these. */
    public void retain(Set<AnswerSpace> spaces) {
        Cache<RequestKey, StoredEntry> cache = answers;
        if (cache != null) {
            cache.asMap().keySet().removeIf(key -> {
                if (spaces.contains(key.space())) {
                    return false;
                }
                key.space().close();
                return true;
            });
        }
    }

    /**
     * Removes all answers, or those of a route, and drops the recordings under way.
     *
     * @param route the route's id; null: of all routes
     * @return how many answers were removed
     */
    public long empty(@Nullable String route) {
        emptied.incrementAndGet();
        Cache<RequestKey, StoredEntry> cache = answers;
        if (cache == null) {
            return 0;
        }
        AtomicLong removed = new AtomicLong();
        cache.asMap().forEach((key, entry) -> {
            if ((route == null || key.space().route().equals(route))
                    && cache.asMap().remove(key, entry)
                    && entry instanceof StoredAnswer) {
                removed.incrementAndGet();
            }
        });
        return removed.get();
    }

    /** The answers in the store, with the lists of their {@code Vary} fields. */
    public long entries() {
        Cache<RequestKey, StoredEntry> cache = answers;
        return cache == null ? 0 : cache.estimatedSize();
    }

    /** The memory in use. */
    public long bytes() {
        Cache<RequestKey, StoredEntry> cache = answers;
        return cache == null
                ? 0
                : cache.policy().eviction().orElseThrow().weightedSize().orElse(0);
    }

    /** The limit of {@link #bytes}. */
    public long maxBytes() {
        return maxBytes;
    }
}
