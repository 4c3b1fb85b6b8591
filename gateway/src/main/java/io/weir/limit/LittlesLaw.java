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
 * Little's law, live. From the calls that a backend served recently, it computes the arrival rate &lambda;,
 * the mean time W that a call spends in the queue and in the backend, and the mean number of concurrent calls
 * L = &lambda; &middot; W. From the service time of the uncongested backend, it computes the limit that the
 * present calls need, if the limit in force is a fixed one.
 *
 * <p><b>&lambda;</b> is the rate of <i>served</i> calls. In a stable system the departure rate equals the
 * arrival rate, and refused calls never entered the system that the law describes. Served calls also keep the
 * suggested limit sound: a limit computed from all offered calls would grow with the overload that it must
 * keep out.
 *
 * <p><b>Uncongested service time.</b> The required limit is &lambda; times the time that a call takes. But
 * under congestion that time is mostly queueing within the backend, which the limit itself admitted: with L =
 * &lambda; &middot; W as the next limit, any congestion would confirm itself. So the time is measured while
 * the backend was uncongested. Served calls are grouped into batches of at least {@value #MIN_BATCH_CALLS}
 * calls, over at least a tenth of the window. The calmest batch is the one with the lowest median; the
 * estimate is that batch's mean, since the law is about means. The median selects the batch, because a few
 * outliers hardly move it. The lowest median of the last {@value #EPOCHS} epochs of {@value #EPOCH_WINDOWS}
 * windows counts, because a queue only adds to the time. Older batches are forgotten, so that the estimate
 * follows a backend that has become slower for good. Batches in which the backend was failing do not count,
 * since errors are fast.
 *
 * <p><b>Suggested limit.</b> One backend has one estimate. Where the limit is adaptive, that limit is the
 * suggestion, and its base latency is the uncongested service time. Where the limit is fixed, the suggestion
 * is the limit at which {@link Knee} would rest, with &lambda; and the uncongested service time as measured
 * here: the same formula. It needs enough traffic: on average {@value
 * #MIN_ACTIVE_CALLS} calls in the backend, or half of the limit. Below that there is no suggestion: a
 * backend that gets a call per second needs no limit of 2, and an adaptive limit would not have moved either.
 *
 * <p>Congestion control in TCP works the same way, where it does not infer congestion from loss. Vegas takes
 * the lowest round-trip time as that of the uncongested path (Brakmo and Peterson, "TCP Vegas: End to End
 * Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995). BBR multiplies the delivery rate by the
 * lowest round-trip time of the last ten seconds, which is the data in flight that keeps the path busy
 * without a queue (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016).
 *
 * <p>Limitations of the suggestion for a fixed limit: a backend that is congested for the whole remembered
 * time is mistaken for a slow one. BBR drains its queue deliberately from time to time to tell the two apart,
 * and so does the adaptive limit; a fixed limit is never lowered. The suggestion fits the present traffic. It
 * does not measure the backend's capacity, which shows only while the limit is reached. And if the mixture of
 * calls changes (more calls of a slow kind), the change looks like congestion until the calm batches of the
 * old mixture are forgotten.
 */
// Concurrency: recording a call is a few additions to counters that only grow. They are striped by thread,
// since all event loops record calls of the same backend. All derived figures are in `state`, an immutable
// object. The first thread after the end of a slice (a tenth of the window) replaces it. `rotating` is a lock
// that threads try and never wait for. The counters of one call are not added atomically; if a slice ends in
// between, the parts of the call are counted in adjacent slices.
public final class LittlesLaw {

    /** The minimum size of a batch. */
    static final int MIN_BATCH_CALLS = 50;

    /** The length of an epoch, in windows. */
    static final int EPOCH_WINDOWS = 15;

    /** The remembered epochs, including the current one. */
    static final int EPOCHS = 2;

    /** The mean number of calls in the backend that a suggestion needs. */
    static final int MIN_ACTIVE_CALLS = 4;

    private static final int SLICES = 10;
    private static final int MAX_STRIPES = 16;
    private static final double SECOND = 1e9;

    private static final int COUNT = 0;
    private static final int SERVICE = 1;
    private static final int WAITING = 2;
    /** The buckets begin on another cache line than the counters. */
    private static final int FIRST_BUCKET = 16;

    private final long windowNanos;
    private final long sliceNanos;
    private final long epochNanos;
    private final BooleanSupplier trusted;
    private final LongSupplier nanoClock;
    private final AtomicLongArray[] stripes;
    private final AtomicBoolean rotating = new AtomicBoolean();
    private volatile State state;

    /**
     * An estimate without any calls yet.
     *
     * @param trusted whether current service times are representative: false while the backend is failing
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public LittlesLaw(LittlesLawProperties properties, BooleanSupplier trusted, LongSupplier nanoClock) {
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
        this.state = new State(now + sliceNanos, List.of(zero), new OpenBatch(zero, counts()), now, null, null);
    }

    /** Records a call that received its permit after this wait. */
    public void waited(long nanos) {
        if (nanos > 0) {
            rotate(nanoClock.getAsLong());
            stripe().getAndAdd(WAITING, nanos);
        }
    }

    /** Records a call that the backend answered, or let time out, within this time. */
    public void served(long nanos) {
        rotate(nanoClock.getAsLong());
        AtomicLongArray stripe = stripe();
        stripe.getAndIncrement(COUNT);
        stripe.getAndAdd(SERVICE, nanos);
        stripe.getAndIncrement(FIRST_BUCKET + LogBuckets.index(nanos));
    }

    /**
     * The median service time of the uncongested backend; 0 while it is unknown. It is below the mean, so it
     * suits the decision whether a call can still be served in time.
     */
    public long typicalNanos() {
        rotate(nanoClock.getAsLong());
        Batch calmest = state.calmest();
        return calmest == null ? 0 : calmest.medianNanos();
    }

    /**
     * Copies the histogram of all service times since the start.
     *
     * @param into receives the number of calls in each bucket of {@link LogBuckets}; overwritten
     */
    public void times(long[] into) {
        Arrays.setAll(into, i -> sum(FIRST_BUCKET + i));
    }

    /**
     * The figures of the window that ends now.
     *
     * @param limit the backend's limit
     */
    public Figures figures(Limit limit) {
        long now = nanoClock.getAsLong();
        rotate(now);
        State seen = state;
        Totals from = seen.lastBefore(now - windowNanos);
        Totals to = totals(now);
        long count = to.count - from.count;
        // Right after the start, one or two calls within a millisecond are not a rate.
        double rate = count * SECOND / Math.max(now - from.at, sliceNanos);
        double service = count == 0 ? 0 : (double) (to.service - from.service) / count;
        double waiting = count == 0 ? 0 : (double) (to.waiting - from.waiting) / count;
        Limit.Beliefs beliefs = limit.beliefs();
        double uncongested = beliefs.baseLatencyNanos() > 0 ? beliefs.baseLatencyNanos() : measuredUncongested(seen);
        int suggested = beliefs.isFixed()
                ? suggestion(rate * service / SECOND, rate * uncongested / SECOND, beliefs.limit())
                : beliefs.limit();
        return new Figures(rate, service, waiting, to.count, uncongested, suggested);
    }

    private static double measuredUncongested(State state) {
        Batch calmest = state.calmest();
        return calmest == null ? 0 : calmest.meanNanos();
    }

    private static int suggestion(double activeCalls, double neededCalls, int limit) {
        boolean isEnough = activeCalls >= Math.min(MIN_ACTIVE_CALLS, limit / 2.);
        return isEnough && neededCalls > 0 ? (int) Math.ceil(Knee.limitFor(neededCalls)) : 0;
    }

    /**
     * The figures of one window.
     *
     * @param arrivalRate &lambda;: calls per second
     * @param serviceNanos mean time in the backend
     * @param waitingNanos mean time in the queue, over the same calls
     * @param retired calls served since the start
     * @param uncongestedNanos mean time in the uncongested backend; 0 while it is unknown
     * @param suggestedLimit an adaptive limit itself; for a fixed one, the limit that the present calls need;
     *     0 while it is unknown, or the calls are too few to say
     */
    public record Figures(
            double arrivalRate,
            double serviceNanos,
            double waitingNanos,
            long retired,
            double uncongestedNanos,
            int suggestedLimit) {

        /** L in the backend: the mean number of concurrent calls; comparable with the limit. */
        public double activeCalls() {
            return arrivalRate * serviceNanos / SECOND;
        }

        /** L in the queue: the mean number of waiting calls. */
        public double waitingCalls() {
            return arrivalRate * waitingNanos / SECOND;
        }

        /** The share of W that is spent in the queue; 0 to 1. */
        public double waitingShare() {
            double whole = serviceNanos + waitingNanos;
            return whole == 0 ? 0 : waitingNanos / whole;
        }
    }

    /** The sums of the counters at a moment. */
    private record Totals(long at, long count, long service, long waiting) {

        Totals at(long moment) {
            return new Totals(moment, count, service, waiting);
        }
    }

    /** Statistics over consecutively served calls. */
    private record Batch(long medianNanos, double meanNanos) {}

    /** A batch in progress: the values of the counters at its beginning. */
    private static final class OpenBatch {

        private final Totals from;
        private final long[] counts;

        OpenBatch(Totals from, long[] counts) {
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
     * The figures derived from the counters.
     *
     * @param sliceEndsAt the end of the current slice
     * @param slices the totals at the ends of the last slices, oldest first; never empty
     * @param batch the batch in progress
     * @param epochBeganAt the beginning of the current epoch
     * @param thisEpoch the calmest batch of the current epoch; null: none yet
     * @param lastEpoch the calmest batch of the previous epoch; null: none
     */
    private record State(
            long sliceEndsAt,
            List<Totals> slices,
            OpenBatch batch,
            long epochBeganAt,
            @Nullable Batch thisEpoch,
            @Nullable Batch lastEpoch) {

        @Nullable
        Batch calmest() {
            return calmer(thisEpoch, lastEpoch);
        }

        /**
         * The totals at the last end of a slice before a moment; the oldest known totals if there is none.
         */
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
     * Ends the current slice, and those after it that have passed too. Every recording method rotates first,
     * so the counters did not change within those slices.
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
        OpenBatch batch = seen.batch;
        boolean usable = trusted.getAsBoolean();
        if (!usable || totals.count - batch.from.count >= MIN_BATCH_CALLS) {
            long[] counts = counts();
            if (usable) {
                thisEpoch = calmer(thisEpoch, batch.end(totals, counts));
            }
            batch = new OpenBatch(totals, counts);
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
