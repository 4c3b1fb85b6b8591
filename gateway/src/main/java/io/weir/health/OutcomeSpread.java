package io.weir.health;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The origins of the last outcomes of a backend: the route and the caller of each call. They tell whether the
 * backend fails, or only some of its routes, or only the calls of a few callers.
 *
 * <p>Callers are told apart by a hash with {@value #CALLERS} values, so the memory is bounded. The entries
 * before the failures began say nothing about the others now: they are left out, as are those older than a
 * minute.
 */
// Concurrency: a slot is claimed by `next` and written once. Benign: a reader may see a slot that is not yet
// written with its previous entry. The entries are evidence and no count.
final class OutcomeSpread {

    /** The caller of a call is one of so many. */
    static final int CALLERS = 64;
    /** The route of a call is one of so many; the last one stands for no route. */
    static final int ROUTES = 128;

    private static final int ENTRIES = 128;
    private static final long USED = 1 << 14;
    private static final long FAILED = 1 << 13;
    private static final int ROUTE_SHIFT = 6;
    private static final long TIME_MASK = -1L << 15;
    private static final long OLDEST_NANOS = TimeUnit.SECONDS.toNanos(60);
    /** Of the failures, the oldest tenth is left out: the failure rate of any day. */
    private static final int SPORADIC = 10;
    /** One caller counts as at most the sixteenth part of the entries. */
    private static final int SHARE = 16;
    /** The probability of good answers by chance that is too small to believe in. */
    private static final double LUCK = 0.05;

    private static final double PERCENT = 100;
    private static final double HIGHEST_RATE = 0.99;

    private final AtomicLongArray ring = new AtomicLongArray(ENTRIES);
    private final AtomicInteger next = new AtomicInteger();

    /**
     * Records an outcome.
     *
     * @param route 0 to {@link #ROUTES}, exclusive
     * @param caller any hash of the caller
     */
    void record(int route, int caller, boolean hasFailed, long now) {
        long entry = (now & TIME_MASK) | USED | (hasFailed ? FAILED : 0) | (long) route << ROUTE_SHIFT | bucket(caller);
        ring.set(next.getAndIncrement() & (ENTRIES - 1), entry);
    }

    /** Neighbouring hashes, such as those of addresses in one network, fall into different buckets. */
    private static int bucket(int caller) {
        return (caller * 0x9E3779B9) >>> (Integer.SIZE - ROUTE_SHIFT);
    }

    /** Forgets all outcomes. */
    void clear() {
        for (int i = 0; i < ENTRIES; i++) {
            ring.set(i, 0);
        }
    }

    /**
     * Whether single routes fail while others are answered well.
     *
     * @param route whether this route is one of those that fail; negative: any
     * @param most the number of outcomes to look at, the last ones
     */
    boolean failsByRoute(int route, int most, float thresholdPercent, long now) {
        Tally tally = tally(ROUTE_SHIFT, ROUTES, most, now);
        double least = thresholdPercent / PERCENT / 2;
        return (route < 0 || tally.isBad(route, least)) && tally.split(least).isNoLuck();
    }

    /**
     * Whether the calls of a few callers fail while those of others are answered well: without the caller
     * with the most failures, or if each caller counts as at most a small share.
     */
    boolean failsByCaller(int most, float thresholdPercent, long now) {
        Tally tally = tally(0, CALLERS, most, now);
        double threshold = thresholdPercent / PERCENT;
        int worst = 0;
        int calls = 0;
        int failures = 0;
        for (int i = 0; i < CALLERS; i++) {
            calls += tally.calls[i];
            failures += tally.failures[i];
            worst = tally.failures[i] > tally.failures[worst] ? i : worst;
        }
        int otherCalls = calls - tally.calls[worst];
        int otherFailures = failures - tally.failures[worst];
        boolean isOne = otherFailures < threshold / 2 * otherCalls
                && new Split(tally.calls[worst], tally.failures[worst], otherCalls - otherFailures, 1).isNoLuck();
        return isOne || isFew(tally, calls, threshold);
    }

    /** Each caller counts as at most a small share. */
    private static boolean isFew(Tally tally, int calls, double threshold) {
        int cap = Math.max(1, calls / SHARE);
        double weights = 0;
        double failed = 0;
        for (int i = 0; i < CALLERS; i++) {
            if (tally.calls[i] != 0) {
                double weight = Math.min(cap, tally.calls[i]);
                weights += weight;
                failed += weight * tally.failures[i] / tally.calls[i];
            }
        }
        return failed < threshold * weights && tally.split(threshold / 2).isNoLuck();
    }

    private Tally tally(int shift, int size, int most, long now) {
        int end = next.get();
        int count = Math.min(ENTRIES, most);
        int failures = 0;
        for (int i = end - count; i != end; i++) {
            long entry = ring.get(i & (ENTRIES - 1));
            failures += isKnown(entry, now) && (entry & FAILED) != 0 ? 1 : 0;
        }
        int sporadic = failures / SPORADIC;
        int seen = 0;
        Tally tally = new Tally(new int[size], new int[size]);
        for (int i = end - count; i != end; i++) {
            long entry = ring.get(i & (ENTRIES - 1));
            if (!isKnown(entry, now)) {
                continue;
            }
            boolean hasFailed = (entry & FAILED) != 0;
            seen += hasFailed ? 1 : 0;
            if (seen > sporadic) {
                int key = (int) (entry >>> shift) & (size - 1);
                tally.calls[key]++;
                tally.failures[key] += hasFailed ? 1 : 0;
            }
        }
        return tally;
    }

    private static boolean isKnown(long entry, long now) {
        return (entry & USED) != 0 && now - (entry & TIME_MASK) <= OLDEST_NANOS;
    }

    /** Calls and failures, by route or by caller. */
    @SuppressWarnings("ArrayRecordComponent") // Local to one judgement.
    private record Tally(int[] calls, int[] failures) {

        /** Whether at least this share of the calls of one origin failed. */
        boolean isBad(int origin, double least) {
            return calls[origin] != 0 && failures[origin] >= least * calls[origin];
        }

        /** Divides the origins into those of which at least this share of calls failed, and the others. */
        Split split(double least) {
            int badCalls = 0;
            int badFailures = 0;
            int goodAnswers = 0;
            int known = 0;
            for (int i = 0; i < calls.length; i++) {
                known += calls[i] == 0 ? 0 : 1;
                if (isBad(i, least)) {
                    badCalls += calls[i];
                    badFailures += failures[i];
                } else {
                    goodAnswers += calls[i] - failures[i];
                }
            }
            return new Split(badCalls, badFailures, goodAnswers, known);
        }
    }

    /**
     * The calls of the origins that fail, and the good answers to the others.
     *
     * @param known the number of origins
     */
    private record Split(int badCalls, int badFailures, int goodAnswers, int known) {

        /** Whether so many good answers are no chance, if they had the failure rate of the bad calls. */
        boolean isNoLuck() {
            double rate = Math.min(HIGHEST_RATE, (double) badFailures / Math.max(1, badCalls));
            return badFailures > 0 && Math.pow(1 - rate, goodAnswers) <= LUCK / Math.max(1, known);
        }
    }
}
