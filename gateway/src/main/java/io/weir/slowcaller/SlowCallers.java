package io.weir.slowcaller;

import io.weir.limit.QueueingBulkhead;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The calls that their callers hold up, over all exchanges. Where all together take what others need, the
 * slowest ones end with {@code client-too-slow}.
 *
 * <p><b>Memory.</b> Reactor Netty reads an answer up to 1 MB ahead of its caller. If the bytes that wait for
 * all callers together exceed the limit, the slowest readers that crawl end. Readers at the speed of a
 * network end only beyond {@value #EMERGENCY} times the limit: with the overhead of its buffers, so much
 * memory makes the gateway refuse new requests already.
 *
 * <p><b>Permits.</b> A call that its caller holds up moves to the compartment of streams. If that is full,
 * the call keeps its permit. Once each permit of the backend is in use, the slowest moved call ends, so that
 * the other one can move. Only a call that crawls ends for that. Downloads over a usual network do not, and
 * share the permits with all other calls.
 *
 * <p>A caller crawls if its rate is known, and below {@value #CRAWLING} times {@code min-body-rate}.
 */
// Concurrency: thread-safe. Any event loop chooses callers. Bytes that one search misses are found by the
// next one: each look at a caller that holds up its call can cause it.
public final class SlowCallers {

    /** The factor between the lowest rate of any caller, and that of one which others wait for. */
    static final long CRAWLING = 100;

    private static final String UNREAD =
            "ended as one of the slowest readers, since all unread answers together take half of the direct memory";
    private static final String HOLDS_UP =
            "ended as the slowest caller, since all permits and streams of the backend are in use";

    private static final int MARGIN_DIVISOR = 16;

    /** The multiple of the limit at which any reader may end: 7/8 of the memory, since the limit is half. */
    private static final double EMERGENCY = 1.75;

    /** The time for which no other search follows one that has found no call. */
    static final long VAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /**
     * A search that has found no call.
     *
     * @param streams the compartment that was searched; null: that for memory, among all readers
     */
    private record Vain(@Nullable QueueingBulkhead streams, long at) {}

    private final long limitBytes;
    private final long emergencyBytes;
    /** Freed in addition, so that the next bytes do not cause another choice. */
    private final long marginBytes;

    private final double crawlingBytesPerSecond;
    private final AtomicLong unreadBytes = new AtomicLong();
    private final Set<SlowCaller> callers = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean isFreeing = new AtomicBoolean();

    /** The last one. Where two backends alternate, each search runs: it is slower, and not wrong. */
    private volatile @Nullable Vain vainForPermit;

    private volatile @Nullable Vain vainForMemory;

    /**
     * No callers.
     *
     * @param limitBytes bytes of all answers that may wait for their callers
     * @param minBytesPerSecond the lowest rate of a caller; 0: any
     */
    public SlowCallers(long limitBytes, long minBytesPerSecond) {
        this.limitBytes = limitBytes;
        this.emergencyBytes = (long) (EMERGENCY * limitBytes);
        this.marginBytes = limitBytes / MARGIN_DIVISOR;
        this.crawlingBytesPerSecond = (double) CRAWLING * minBytesPerSecond;
    }

    /** The bytes of answers that wait for slow callers. */
    public long unreadBytes() {
        return unreadBytes.get();
    }

    void add(SlowCaller caller) {
        callers.add(caller);
    }

    void remove(SlowCaller caller) {
        callers.remove(caller);
    }

    /** Counts bytes that wait for a caller from now on, or that do not wait any more. */
    void count(long difference) {
        unreadBytes.addAndGet(difference);
    }

    /** Ends readers if the bytes that wait for all callers together exceed the limit. */
    void freeMemory(long now) {
        long all = unreadBytes.get();
        if (all <= limitBytes || (all <= emergencyBytes && isRecent(vainForMemory, now))) {
            return;
        }
        // Of two searches at the same time, one would end callers beside those that the other one ends.
        if (!isFreeing.compareAndSet(false, true)) {
            return;
        }
        try {
            if (!endReaders(now)) {
                vainForMemory = new Vain(null, now);
            }
        } finally {
            isFreeing.set(false);
        }
    }

    /** Whether readers end. */
    private boolean endReaders(long now) {
        // Not the sum of all, less that of the chosen ones: the two change while one of these calls ends.
        long bytes = callers.stream()
                .filter(one -> !one.isChosen())
                .mapToLong(SlowCaller::unreadBytes)
                .sum();
        long freed =
                bytes > limitBytes ? endReaders(bytes - limitBytes + marginBytes, one -> isCrawling(one, now), now) : 0;
        long rest = bytes - freed;
        if (rest > emergencyBytes) {
            freed += endReaders(rest - emergencyBytes + marginBytes, any -> true, now);
        }
        return freed > 0;
    }

    /**
     * Ends the slowest readers until so many bytes are free.
     *
     * @return the bytes that become free; fewer if there are not enough such readers
     */
    private long endReaders(long neededBytes, Predicate<SlowCaller> which, long now) {
        long freed = 0;
        for (SlowCaller slowest :
                EndableCall.slowestFirst(callers, one -> one.unreadBytes() > 0 && which.test(one), now)) {
            if (freed >= neededBytes) {
                break;
            }
            long bytes = slowest.unreadBytes();
            if (slowest.choose(UNREAD, null)) {
                freed += bytes;
            }
        }
        return freed;
    }

    /**
     * Ends the slowest call in a backend's compartment of streams that crawls.
     *
     * @return whether one ends
     */
    public boolean endSlowest(QueueingBulkhead streams, long now) {
        Vain before = vainForPermit;
        if (before != null && before.streams == streams && isRecent(before, now)) {
            return false;
        }
        for (SlowCaller slowest :
                EndableCall.slowestFirst(callers, one -> one.holds(streams) && isCrawling(one, now), now)) {
            if (slowest.choose(HOLDS_UP, streams)) {
                return true;
            }
        }
        vainForPermit = new Vain(streams, now);
        return false;
    }

    private static boolean isRecent(@Nullable Vain search, long now) {
        return search != null && now - search.at < VAIN_NANOS;
    }

    private boolean isCrawling(SlowCaller caller, long now) {
        return caller.bytesPerSecond(now) < crawlingBytesPerSecond;
    }
}
