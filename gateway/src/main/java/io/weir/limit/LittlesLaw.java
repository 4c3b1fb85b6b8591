package io.weir.limit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Little's law, live: from what a backend served of late, its arrival rate &lambda;, the time W that calls spend in the
 * queue and in the backend, and so the number L = &lambda; &middot; W of calls that are there at once. And from the
 * time that the backend takes when it is not congested, the limit that would do.
 *
 * <p><b>&lambda;</b> is the rate of the calls that were <i>served</i>. In a stable system what leaves is what has
 * arrived; calls that were refused were never in the system that the law speaks of. It is also what keeps the
 * suggestion sane: computed from everything that was offered, it would grow with the overload that the limit is there
 * to keep out.
 *
 * <p><b>Uncongested service time.</b> The limit that is needed is &lambda; times the time that a call takes; but under
 * congestion that time is mostly queueing within the backend, which the limit itself let in: L = &lambda; &middot; W
 * fed back as the limit would ratify any congestion. So the time is taken from when the backend was calm. Served calls
 * are gathered in batches of at least {@value #ENOUGH}, of at least a tenth of the window; the calmest batch is the one
 * with the lowest median; the time is that batch's mean, since the law speaks of means. The median chooses because a
 * few stragglers move it little, and the lowest of the last {@value #EPOCHS} epochs of {@value #EPOCH_WINDOWS} windows
 * each because a queue can only add to the time. An older one is forgotten, so that a backend that has become slower
 * for good is believed after a while. A batch in which the backend was failing does not count: errors are fast.
 *
 * <p>This is what TCP does in place of guessing from loss: Vegas takes the lowest round-trip time for that of the
 * uncongested path (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
 * 13(8), 1995); BBR multiplies the delivery rate by the lowest round-trip time of the last ten seconds, for the flight
 * that keeps the path busy without a queue (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue
 * 14(5), 2016). The headroom is for arrivals that come in bursts.
 *
 * <p>Limitations: a backend that is congested for all of the time that is remembered passes for a slow one. BBR drains
 * its queue on purpose now and then to find out; a gateway cannot, at its callers' expense. And a mixture of calls that
 * changes (more of the slow kind) shows as congestion until the calm batches of the old mixture are forgotten.
 */
// Concurrency: the feed is a few additions to counters that only grow, striped by thread, since all event loops feed
// the same backend. What is derived from them hangs on `state`, an immutable object that is replaced at the end of each
// slice, a tenth of the window, by whoever comes first: `rotating` is tried, never waited for. The counters of one call
// are not added at one moment; a slice's end may come between, and then the call's parts are told in neighbouring
// slices.
public final class LittlesLaw {

    /** Calls that make a batch. */
    static final int ENOUGH = 50;

    /** Windows to an epoch. */
    static final int EPOCH_WINDOWS = 15;

    /** Epochs that are remembered, the running one included. */
    static final int EPOCHS = 2;

    private static final int SLICES = 10;
    private static final int MAX_STRIPES = 16;
    private static final double SECOND = 1e9;

    private static final int COUNT = 0;
    private static final int SERVICE = 1;
    private static final int WAITING = 2;
    /** On a cache line of their own. */
    private static final int FIRST_BUCKET = 16;

    private final double headroom;
    private final long windowNanos;
    private final long sliceNanos;
    private final long epochNanos;
    private final BooleanSupplier trusted;
    private final LongSupplier nanoClock;
    private final AtomicLongArray[] stripes;
    private final AtomicBoolean rotating = new AtomicBoolean();
    private volatile State state;

    /**
     * A law that has seen nothing yet.
     *
     * @param trusted whether what the backend serves now tells how long it takes: false while it is failing
     * @param nanoClock {@link System#nanoTime} but for tests
     */
    public LittlesLaw(LittlesLawProperties properties, BooleanSupplier trusted, LongSupplier nanoClock) {
        this.headroom = properties.headroom();
        this.windowNanos = properties.window().toNanos();
        this.sliceNanos = windowNanos / SLICES;
        this.epochNanos = windowNanos * EPOCH_WINDOWS;
        this.trusted = trusted;
        this.nanoClock = nanoClock;
        int cores = Math.min(MAX_STRIPES, Runtime.getRuntime().availableProcessors());
        this.stripes = new AtomicLongArray[Integer.highestOneBit(2 * cores - 1)];
        Arrays.setAll(stripes, i -> new AtomicLongArray(FIRST_BUCKET + LogBuckets.COUNT));
        long now = nanoClock.getAsLong();
        Totals zero = new Totals(now, 0, 0, 0);
        this.state = new State(now + sliceNanos, List.of(zero), new Gathering(zero, counts()), now, null, null);
    }

    /** A call got its permit after this wait. */
    public void waited(long nanos) {
        if (nanos > 0) {
            rotate(nanoClock.getAsLong());
            stripe().getAndAdd(WAITING, nanos);
        }
    }

    /** A call left the backend after this time in it. */
    public void served(long nanos) {
        rotate(nanoClock.getAsLong());
        AtomicLongArray stripe = stripe();
        stripe.getAndIncrement(COUNT);
        stripe.getAndAdd(SERVICE, nanos);
        stripe.getAndIncrement(FIRST_BUCKET + LogBuckets.index(nanos));
    }

    /**
     * The time that half of the calls take when the backend is calm; 0 while it is not known. Less than the mean, and
     * so the right one for who asks whether a call has any prospect left.
     */
    public long typicalNanos() {
        rotate(nanoClock.getAsLong());
        Batch calmest = state.calmest();
        return calmest == null ? 0 : calmest.medianNanos();
    }

    /**
     * How many calls were served since the start in which time.
     *
     * @param into by {@link LogBuckets}; overwritten
     */
    public void times(long[] into) {
        Arrays.setAll(into, i -> sum(FIRST_BUCKET + i));
    }

    /** The figures of the window that ends now. */
    public Figures figures() {
        long now = nanoClock.getAsLong();
        rotate(now);
        State seen = state;
        Totals from = seen.lastBefore(now - windowNanos);
        Totals to = totals(now);
        long count = to.count - from.count;
        // Right after the start, a call or two in a millisecond are no rate.
        double rate = count * SECOND / Math.max(now - from.at, sliceNanos);
        double service = count == 0 ? 0 : (double) (to.service - from.service) / count;
        double waiting = count == 0 ? 0 : (double) (to.waiting - from.waiting) / count;
        Batch calmest = seen.calmest();
        double uncongested = calmest == null ? 0 : calmest.meanNanos();
        int suggested = (int) Math.ceil(rate * uncongested / SECOND * headroom);
        return new Figures(rate, service, waiting, to.count, uncongested, suggested);
    }

    /**
     * What there is to tell.
     *
     * @param arrivalRate &lambda;: calls per second
     * @param serviceNanos mean time in the backend
     * @param waitingNanos mean time in the queue, over the same calls
     * @param retired calls served since the start
     * @param uncongestedNanos mean time in the backend when it was calmest; 0 while it is not known
     * @param suggestedLimit calls at once that would do; 0 while it is not known, or nothing arrives
     */
    public record Figures(
            double arrivalRate,
            double serviceNanos,
            double waitingNanos,
            long retired,
            double uncongestedNanos,
            int suggestedLimit) {

        /** L in the backend: calls there at once, on average; to compare with the limit. */
        public double activeCalls() {
            return arrivalRate * serviceNanos / SECOND;
        }

        /** L in the queue: calls there at once, on average. */
        public double waitingCalls() {
            return arrivalRate * waitingNanos / SECOND;
        }

        /** The share of the time W that is spent waiting; 0 to 1. */
        public double waitingShare() {
            double whole = serviceNanos + waitingNanos;
            return whole == 0 ? 0 : waitingNanos / whole;
        }
    }

    /** All that was ever fed, at a moment. */
    private record Totals(long at, long count, long service, long waiting) {

        Totals at(long moment) {
            return new Totals(moment, count, service, waiting);
        }
    }

    /** Calls served one after the other. */
    private record Batch(long medianNanos, double meanNanos) {}

    /** A batch that is being gathered: what the counters were when it began. */
    private static final class Gathering {

        private final Totals from;
        private final long[] counts;

        Gathering(Totals from, long[] counts) {
            this.from = from;
            this.counts = counts;
        }

        Batch end(Totals to, long[] now) {
            long[] within = new long[counts.length];
            Arrays.setAll(within, i -> now[i] - counts[i]);
            double mean = (double) (to.service - from.service) / (to.count - from.count);
            return new Batch(LogBuckets.median(within), mean);
        }
    }

    /**
     * What is derived from the counters.
     *
     * @param slices the totals at the ends of the last slices, the oldest first; never empty
     * @param thisEpoch the running epoch's calmest batch
     * @param lastEpoch the last one's
     */
    private record State(
            long sliceEndsAt,
            List<Totals> slices,
            Gathering batch,
            long epochBeganAt,
            @Nullable Batch thisEpoch,
            @Nullable Batch lastEpoch) {

        @Nullable
        Batch calmest() {
            return calmer(thisEpoch, lastEpoch);
        }

        /** The totals at the last end of a slice before a moment; the oldest that are known if there is none. */
        Totals lastBefore(long moment) {
            for (int i = slices.size() - 1; i > 0; i--) {
                if (slices.get(i).at - moment <= 0) {
                    return slices.get(i);
                }
            }
            return slices.get(0);
        }
    }

    private void rotate(long now) {
        if (now - state.sliceEndsAt < 0 || !rotating.compareAndSet(false, true)) {
            return;
        }
        try {
            State seen = state;
            if (now - seen.sliceEndsAt >= 0) {
                state = next(seen, now);
            }
        } finally {
            rotating.set(false);
        }
    }

    /**
     * Ends a slice, or several if nothing has happened for longer: whoever feeds comes here first, so the counters
     * stood still.
     */
    private State next(State seen, long now) {
        Totals totals = totals(seen.sliceEndsAt);
        long ended = (now - seen.sliceEndsAt) / sliceNanos + 1;
        long sliceEndsAt = seen.sliceEndsAt + ended * sliceNanos;
        List<Totals> slices = new ArrayList<>(seen.slices);
        for (long i = Math.min(ended, SLICES + 1); i > 0; i--) {
            slices.add(totals.at(sliceEndsAt - i * sliceNanos));
        }
        List<Totals> kept = List.copyOf(slices.subList(Math.max(0, slices.size() - SLICES - 1), slices.size()));

        Batch thisEpoch = seen.thisEpoch;
        Batch lastEpoch = seen.lastEpoch;
        long epochs = (now - seen.epochBeganAt) / epochNanos;
        if (epochs > 0) {
            lastEpoch = epochs == 1 ? thisEpoch : null;
            thisEpoch = null;
        }
        Gathering batch = seen.batch;
        boolean usable = trusted.getAsBoolean();
        if (!usable || totals.count - batch.from.count >= ENOUGH) {
            long[] counts = counts();
            if (usable) {
                thisEpoch = calmer(thisEpoch, batch.end(totals, counts));
            }
            batch = new Gathering(totals, counts);
        }
        return new State(sliceEndsAt, kept, batch, seen.epochBeganAt + epochs * epochNanos, thisEpoch, lastEpoch);
    }

    private static @Nullable Batch calmer(@Nullable Batch one, @Nullable Batch other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return one.medianNanos <= other.medianNanos ? one : other;
    }

    private AtomicLongArray stripe() {
        return stripes[(int) Thread.currentThread().threadId() & (stripes.length - 1)];
    }

    private Totals totals(long at) {
        return new Totals(at, sum(COUNT), sum(SERVICE), sum(WAITING));
    }

    private long[] counts() {
        long[] counts = new long[LogBuckets.COUNT];
        Arrays.setAll(counts, i -> sum(FIRST_BUCKET + i));
        return counts;
    }

    private long sum(int index) {
        long sum = 0;
        for (AtomicLongArray stripe : stripes) {
            sum += stripe.get(index);
        }
        return sum;
    }
}
