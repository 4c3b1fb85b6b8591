package io.weir.engine;

import io.weir.limit.QueueingBulkhead;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * The calls that their callers hold up, over all exchanges. Where all together take what others need, the
 * slowest ones end with {@code client-too-slow}.
 *
 * <p><b>Memory.</b> Reactor Netty reads an answer up to 1 MB ahead of its caller. If the bytes that wait for
 * all callers together exceed the limit, the slowest readers end, those first whose rate is known.
 *
 * <p><b>Permits.</b> A call that its caller holds up moves to the compartment of streams. If that is full,
 * the call keeps its permit. Once each permit of the backend is in use, the slowest moved call ends, so that
 * the other one can move. Only a call below {@value #CRAWLING} times {@code min-body-rate} ends for that: it
 * crawls. Downloads over a usual network do not, and share the permits with all other calls.
 */
// Concurrency: thread-safe. Any event loop chooses callers. Each of them ends on its own event loop, so the
// bytes and the permits become free a moment later. Callers that are chosen count as ended, so that two event
// loops do not choose too many.
final class SlowCallers {

    /** The factor between the lowest rate of any caller, and that of one which others wait for. */
    static final long CRAWLING = 100;

    private static final String UNREAD =
            "ended as one of the slowest readers, since all unread answers together take half of the direct memory";
    private static final String HOLDS_UP =
            "ended as the slowest caller, since all permits and streams of the backend are in use";

    /** The share of the limit that is freed at once, so that the next bytes do not cause another choice. */
    private static final int FREED_DIVISOR = 16;

    private final long limitBytes;
    private final double crawlingBytesPerSecond;
    private final AtomicLong unreadBytes = new AtomicLong();
    private final Set<SlowCaller> callers = ConcurrentHashMap.newKeySet();

    /**
     * No callers.
     *
     * @param limitBytes bytes of all answers that may wait for their callers
     * @param minBytesPerSecond the lowest rate of a caller; 0: any
     */
    SlowCallers(long limitBytes, long minBytesPerSecond) {
        this.limitBytes = limitBytes;
        this.crawlingBytesPerSecond = (double) CRAWLING * minBytesPerSecond;
    }

    /** The bytes of answers that wait for slow callers. */
    long unreadBytes() {
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
        if (unreadBytes.addAndGet(difference) > limitBytes && difference > 0) {
            freeMemory();
        }
    }

    private void freeMemory() {
        long excess = unreadBytes.get()
                - callers.stream()
                        .filter(SlowCaller::isChosen)
                        .mapToLong(SlowCaller::unreadBytes)
                        .sum();
        if (excess <= limitBytes) {
            return;
        }
        excess -= limitBytes - limitBytes / FREED_DIVISOR;
        for (SlowCaller slowest : slowestFirst(callers.stream().filter(one -> one.unreadBytes() > 0))) {
            if (excess <= 0) {
                return;
            }
            long freed = slowest.unreadBytes();
            if (slowest.choose(UNREAD, null)) {
                excess -= freed;
            }
        }
    }

    /**
     * Ends the slowest call in a backend's compartment of streams that crawls.
     *
     * @return whether one ends
     */
    boolean endSlowest(QueueingBulkhead streams) {
        Stream<SlowCaller> crawling =
                callers.stream().filter(one -> one.holds(streams) && one.bytesPerSecond() < crawlingBytesPerSecond);
        for (SlowCaller slowest : slowestFirst(crawling)) {
            if (slowest.choose(HOLDS_UP, streams)) {
                return true;
            }
        }
        return false;
    }

    private static Iterable<SlowCaller> slowestFirst(Stream<SlowCaller> some) {
        return some.filter(one -> !one.isChosen())
                // Callers cannot be sorted by rates that change meanwhile.
                .map(one -> new Ranked(one, one.bytesPerSecond()))
                .sorted(Comparator.comparingDouble(Ranked::bytesPerSecond))
                .map(Ranked::caller)
                .toList();
    }

    private record Ranked(SlowCaller caller, double bytesPerSecond) {}
}
