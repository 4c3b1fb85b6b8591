package io.weir.overload;

import io.weir.limit.Priority;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Decides which share of an event loop's new requests is refused while the loop has a standing delay, and
 * distributes that share over the priorities.
 *
 * <p>It begins with a standing delay above the target, and then follows every iteration. The share is the sum
 * of two parts, as in PIE (Pan et al., RFC 8033): the first one follows the excess of the present delay above
 * the target, and is 1 at an excess of one interval; the second one sums up the excess over time, and so
 * finds the share at which the delay rests near the target. The first part drains the backlog in a few
 * iterations. The sum alone would find the share too, but would overshoot: a delay is itself the sum of past
 * overload. The shorter one of the last two iterations counts, so that a pause changes nothing.
 *
 * <p>The excess counts squared (PIE also slows its law at low shares): a delay of 18 ms refuses nothing
 * at first, one of 50 ms 16 %. A loop that is close to its capacity, or whose callers wait for their answers
 * before they send again, stands some milliseconds above the target, and refusals hardly help it: without the
 * square, 400 such callers of a loop had 66 % of their requests refused, with it 10 %.
 *
 * <p>An iteration shorter than half the target shows that the loop has time left: the sum decays within an
 * interval, and the shedding ends with it.
 *
 * <p>The share falls on sheddable requests first, then on normal ones; each class receives only the part that
 * the lower ones cannot take, in proportion to the requests of the last moments. For critical requests, the
 * first part counts only in proportion to their fraction of all requests: a short backlog must not refuse
 * critical calls while there are others to refuse.
 */
// Concurrency: confined to the event loop, except share() and takeHighestShare(), which read volatile fields,
// and setPatient(), which writes one.
// The sampler can lose a highest share that the loop writes at the same time, as in LoopDelay.
@SuppressWarnings("EnumOrdinal") // The index of a class in arrays that are built here.
final class LoadShedder {

    /** The time in which the sum reaches 1 while the delay is one interval above the target. */
    private static final double SUM_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /** Some requests always pass in the long run: an answer shows that the gateway works. */
    private static final double MAX_SUM = 0.95;

    /**
     * A smaller share refuses nothing: a delay that stands for a moment less than a tenth of the interval
     * above the target harms no caller, and a garbage collector causes it where nothing is short.
     */
    private static final double LEAST_SHARE = 0.01;

    /**
     * With fewer requests in an interval, none is refused. Each of them would have to take a tenth of the
     * interval to be the cause of the delay, so the cause is another one: code that runs for the first time,
     * or a processor that serves others.
     */
    private static final double LEAST_REQUESTS = 10;

    /**
     * A patient shedder's target, in hard limits: it lets requests wait for half a second by default. Most
     * deadlines are longer.
     */
    static final int PATIENT_TARGET = 2;

    /** A patient loop's hard limit, in hard limits. */
    static final int PATIENT_LIMITS = 4;

    /** The shedding ends below this sum. */
    private static final double ENDED = 0.005;

    private static final int CLASSES = Priority.values().length;

    private final long targetNanos;
    private final long patientTargetNanos;
    private final long intervalNanos;
    private final double[] shares = new double[CLASSES];
    /** Requests of the last interval, by class; older ones fade out. */
    private final double[] arrived = new double[CLASSES];
    /** Requests of the last interval, shedding or not; older ones fade out. */
    private double requests;

    private boolean isShedding;
    private long observedAtNanos;
    private long previousNanos;
    private double sum;
    private long random;

    private volatile boolean isPatient;
    private volatile double share;
    private volatile double highestShare;

    /**
     * A shedder that refuses nothing yet.
     *
     * @param targetNanos the delay of an iteration that the shedder aims at
     * @param patientTargetNanos the same while the shedder is patient
     * @param intervalNanos the time for which a delay stands before it counts
     * @param seed of the random choice of requests; any value
     */
    LoadShedder(long targetNanos, long patientTargetNanos, long intervalNanos, long seed) {
        this.targetNanos = targetNanos;
        this.patientTargetNanos = patientTargetNanos;
        this.intervalNanos = intervalNanos;
        this.random = seed == 0 ? 1 : seed;
    }

    /** The present target. */
    long targetNanos() {
        return isPatient ? patientTargetNanos : targetNanos;
    }

    /** Whether longer delays are accepted at present. */
    boolean isPatient() {
        return isPatient;
    }

    /** Accepts longer delays, or ends that. For the sampler's thread. */
    void setPatient(boolean patient) {
        isPatient = patient;
    }

    long intervalNanos() {
        return intervalNanos;
    }

    /** Whether some requests may be refused. */
    boolean isShedding() {
        return isShedding;
    }

    /** The share of all requests that is refused at present; 0 to 1. */
    double share() {
        return share;
    }

    /** The highest share since the last call. For the sampler's thread. */
    double takeHighestShare() {
        double highest = highestShare;
        highestShare = share;
        return Math.max(highest, share);
    }

    /**
     * Takes the delay of an iteration.
     *
     * @param standing whether the delay stands above the target; this begins the shedding
     * @param exceedsMaximum whether the delay stands above the hard limit: every request is refused
     */
    void observe(long now, long delayNanos, boolean standing, boolean exceedsMaximum) {
        double elapsedNanos = Math.min(Math.max(0, now - observedAtNanos), intervalNanos);
        observedAtNanos = now;
        if (!isShedding && (standing || exceedsMaximum) && !areRequestsFew()) {
            begin(delayNanos);
            // The delay until now has refused nothing.
            elapsedNanos = 0;
        }
        if (isShedding) {
            adapt(delayNanos, exceedsMaximum && !areRequestsFew(), elapsedNanos);
        }
        requests *= Math.exp(-elapsedNanos / intervalNanos);
    }

    private void adapt(long delayNanos, boolean everything, double elapsedNanos) {
        long waitedNanos = Math.min(delayNanos, previousNanos);
        previousNanos = delayNanos;
        long target = targetNanos();
        double excess = squared((double) (waitedNanos - target) / intervalNanos);
        if (areRequestsFew()) {
            // A burst after such a delay must not find a share that no request has caused.
            sum = 0;
        } else if (waitedNanos < target / 2) {
            sum *= Math.exp(-elapsedNanos / intervalNanos);
        } else {
            sum = clamp(sum + excess * elapsedNanos / SUM_NANOS, MAX_SUM);
        }
        if (sum + excess <= 0 && sum < ENDED && !everything) {
            end();
            return;
        }
        distribute(excess, everything);
        fade(Math.exp(-elapsedNanos / intervalNanos));
    }

    /** Refuses nothing from now on, until a delay stands again. */
    void end() {
        isShedding = false;
        sum = 0;
        Arrays.fill(shares, 0);
        publish(0);
    }

    /** Counts a request. Call it once for each request, before {@link #refuses}, at any time. */
    void arrived() {
        requests++;
    }

    /** Whether the requests of the last interval are too few to be the cause of a delay. */
    boolean areRequestsFew() {
        return requests < LEAST_REQUESTS;
    }

    /** Whether a request of this class is refused. Call it once for each request. */
    boolean refuses(Priority priority) {
        int index = priority.ordinal();
        arrived[index]++;
        double refused = shares[index];
        return refused >= 1 || (refused > 0 && nextRandom() < refused);
    }

    private void begin(long delayNanos) {
        isShedding = true;
        previousNanos = delayNanos;
        sum = 0;
        Arrays.fill(arrived, 0);
        // The classes are counted from now on. Those of the requests until now count as normal.
        arrived[Priority.NORMAL.ordinal()] = requests;
    }

    private void distribute(double excess, boolean everything) {
        double critical = arrived[Priority.CRITICAL.ordinal()];
        double normal = arrived[Priority.NORMAL.ordinal()];
        double sheddable = arrived[Priority.SHEDDABLE.ordinal()];
        double all = critical + normal + sheddable;
        boolean areFew = areRequestsFew();
        double total = areFew ? 0 : atLeast(clamp(sum + excess, 1));
        double forCritical = areFew ? 0 : atLeast(clamp(sum + excess * critical / all, 1));
        shares[Priority.SHEDDABLE.ordinal()] = everything ? 1 : part(total, 0, sheddable / all);
        shares[Priority.NORMAL.ordinal()] = everything ? 1 : part(total, sheddable / all, normal / all);
        shares[Priority.CRITICAL.ordinal()] =
                everything ? 1 : part(forCritical, (sheddable + normal) / all, critical / all);
        publish(everything ? 1 : total);
    }

    /** The refused part of a class with this weight, after the lower classes have taken theirs. */
    private static double part(double total, double lower, double weight) {
        double left = total - lower;
        if (left <= 0) {
            return 0;
        }
        return left >= weight ? 1 : left / weight;
    }

    private void fade(double factor) {
        for (int i = 0; i < CLASSES; i++) {
            arrived[i] *= factor;
        }
    }

    private void publish(double next) {
        share = next;
        if (next > highestShare) {
            highestShare = next;
        }
    }

    private static double squared(double excess) {
        return excess > 0 && excess < 1 ? excess * excess : excess;
    }

    private static double atLeast(double share) {
        return share < LEAST_SHARE ? 0 : share;
    }

    private static double clamp(double value, double max) {
        return Math.min(max, Math.max(0, value));
    }

    /** Marsaglia's xorshift: 0 (inclusive) to 1 (exclusive). */
    private double nextRandom() {
        long next = random;
        next ^= next << 13;
        next ^= next >>> 7;
        next ^= next << 17;
        random = next;
        return (next >>> 11) * 0x1.0p-53;
    }
}
