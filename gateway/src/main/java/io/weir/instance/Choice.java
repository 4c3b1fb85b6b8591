package io.weir.instance;

import java.util.Comparator;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Chooses one of the instances that are in: the better of two random ones.
 *
 * <p>The first one is drawn in proportion to the weights, the second one from the others. The second one is
 * chosen if its load is smaller. The load is (calls in flight / weight + 1) × latency, where the weights have
 * the mean 1. Latencies that differ by less than a half count as equal: otherwise, chance would send all
 * calls to one of two instances that are equally fast.
 *
 * <p>An instance that has failed its last calls cools down, and the other one gets the call: an error is
 * often faster than an answer, so latency alone would prefer an instance that fails. If the other one is
 * late, it may be cold, or hang. It gets the call if it has less than 2<sup>n</sup> calls, where n is the
 * number of the failures in a row. Where all cool down, the load decides.
 *
 * <p>An instance whose higher latency alone has kept calls away gets an occasional call ({@link
 * Exploration}). Otherwise one slow answer, such as the first one of a cold JVM, would keep calls away until
 * the estimate has decayed.
 *
 * <p>If the better one is late, the best of all is chosen: where several instances hang, chance would often
 * compare two of them.
 *
 * <p>An instance that has asked to be left alone ({@link io.weir.health.Pushback}) gets a call only where
 * the others have their shares of the backend's limit, and a retry only where no other one is in.
 *
 * <p><b>Slow start.</b> While an instance starts slowly, its weight has a factor below 1 ({@link SlowStart}),
 * in the draw and in the load. The factor is relative to the instance that has started first, so that it has
 * no effect while all start alike. It is ignored where the better instance has its share of the backend's
 * limit: slow start must not overload the others.
 *
 * <p>Two random ones, and not the best of all: gateways that all see the same best instance would all send
 * their calls to it, and the search would grow with the number of instances. Source: Mitzenmacher, "The Power
 * of Two Choices in Randomized Load Balancing", IEEE TPDS 12(10), 2001; for the load, Finagle's {@code
 * PeakEwma}.
 *
 * <p>Immutable: a change of the instances that are in creates another choice. A choice neither locks nor
 * allocates.
 */
final class Choice<C extends Choice.Candidate> {

    /** An instance, as far as the choice depends on it. */
    interface Candidate {

        /** The hundredths of a weight of 1. */
        int HUNDREDTHS = 100;

        /** The same object for each candidate that stands for the same instance. */
        default Object identity() {
            return this;
        }

        /** Its share of the traffic relative to the other weights; 1 or more. */
        int weight();

        /** Its weight in hundredths, of which its agent may take a part. */
        default int share() {
            return weight() * HUNDREDTHS;
        }

        /** Calls and streams under way. */
        int inFlight();

        /** The usual latency, or the present wait if that is longer; 0: not known. */
        long latencyNanos(long now);

        /** Whether its calls have waited for an answer for longer than usual. */
        boolean isLate(long now);

        /** If the instance cools down, its failures in a row; else 0. */
        int coolDownFailures(long now);

        /**
         * Counts a call that went to another instance because of the latency, and returns whether this call
         * must show the present latency.
         */
        boolean isExplorationDue(long now);

        /** Whether it has asked to be left alone for now. */
        boolean isLeftAlone(long now);

        /** Whether the instance takes no further call now. */
        boolean isFull();

        /** Whether its health permits calls. */
        boolean isIn();

        /** Whether it has as many calls as its share of the backend's limit. */
        boolean isAtShare();

        /** The factor on its weight while it starts slowly; else 1. */
        double slowStartFactor(long now, long windowNanos);

        /** The time until its slow start ends; 0: it does not start slowly. */
        long slowStartLeftNanos(long now, long windowNanos);
    }

    /** Latencies that differ by a smaller factor count as equal. */
    private static final double ALIKE = 1.5;

    private static final int MAX_DRAWS = 8;
    private static final int RANDOM_STEPS = 1 << 20;

    private final List<C> candidates;
    /** The sums of the shares up to each candidate; the last one is the sum of all. */
    private final int[] sums;

    private final boolean isWeighted;
    private final double meanShare;
    private final IntUnaryOperator random;
    private final long slowStartNanos;
    /** The moment at which the last slow start ends. */
    private final long slowUntil;
    /** The instance whose slow start began first, or that has none; null: none is in. */
    private final @Nullable C warmest;

    /**
     * A choice.
     *
     * @param candidates the instances that are in; may be empty
     * @param slowStartNanos the length of a slow start
     * @param now the present moment; slow starts that begin later are ignored
     * @param random returns a number from 0 to its argument, exclusive
     */
    Choice(List<C> candidates, long slowStartNanos, long now, IntUnaryOperator random) {
        this.candidates = List.copyOf(candidates);
        this.random = random;
        this.slowStartNanos = slowStartNanos;
        this.warmest = candidates.stream()
                .min(Comparator.comparingLong(one -> one.slowStartLeftNanos(now, slowStartNanos)))
                .orElse(null);
        this.slowUntil = now
                + candidates.stream()
                        .mapToLong(one -> one.slowStartLeftNanos(now, slowStartNanos))
                        .max()
                        .orElse(0);
        this.sums = new int[candidates.size()];
        int sum = 0;
        boolean differ = false;
        for (int i = 0; i < sums.length; i++) {
            sum += candidates.get(i).share();
            sums[i] = sum;
            differ |= candidates.get(i).share() != candidates.getFirst().share();
        }
        this.isWeighted = differ;
        this.meanShare = sums.length == 0 ? 1 : (double) sum / sums.length;
    }

    /** The instances that are in. */
    List<C> candidates() {
        return candidates;
    }

    /** Whether the shares differ. */
    boolean isWeighted() {
        return isWeighted;
    }

    /** The sum of the shares. */
    int shareSum() {
        return sums.length == 0 ? 0 : sums[sums.length - 1];
    }

    /** Whether an instance starts slowly. */
    boolean isSlowStart(long now) {
        return now - slowUntil < 0;
    }

    /** The factor on the weight of an instance, relative to the one that has started first. */
    double slowStartFactor(C candidate, long now) {
        C first = warmest;
        return first == null || candidate == first
                ? 1
                : Math.min(
                        1, candidate.slowStartFactor(now, slowStartNanos) / first.slowStartFactor(now, slowStartNanos));
    }

    /** Whether an instance that starts slowly leaves this call to others, by chance. */
    boolean skips(C candidate, long now) {
        return isSlowStart(now) && random.applyAsInt(RANDOM_STEPS) >= slowStartFactor(candidate, now) * RANDOM_STEPS;
    }

    /**
     * The instance for a call; null: none is in.
     *
     * @param tried the instances that have failed the call, which are chosen only if no other one is in;
     *     null: none has
     */
    @Nullable
    C choose(long now, @Nullable TriedInstances tried) {
        int count = sums.length;
        if (count == 0) {
            return null;
        }
        if (count == 1) {
            return candidates.getFirst();
        }
        if (tried == null) {
            boolean isSlowStart = isSlowStart(now);
            int first = isSlowStart ? drawStarted(now) : draw();
            C one = candidates.get(first);
            C other = candidates.get(drawOther(first));
            if (isSlowStart && skips(other, now)) {
                other = one;
            }
            if (!one.isFull() && !other.isFull()) {
                C chosen = better(other, one, now, isSlowStart);
                if (isSlowStart && chosen.isAtShare()) {
                    return best(now, null, false);
                }
                if (chosen.isLeftAlone(now)) {
                    C best = best(now, null, isSlowStart);
                    return best.isLeftAlone(now) || best.isAtShare() ? chosen : best;
                }
                if (isCoolingDown(chosen, now)) {
                    C best = best(now, null, isSlowStart);
                    // Where all cool down, the first ones would get most calls.
                    return isCoolingDown(best, now) ? chosen : best;
                }
                if (!chosen.isLate(now) || isCoolingDown(chosen == one ? other : one, now)) {
                    return chosen;
                }
            }
        }
        return best(now, tried, isSlowStart(now));
    }

    /** The better one of two, or the other one if it is due for a call that shows its latency. */
    private C better(C other, C one, long now, boolean isSlowStart) {
        long otherNanos = other.latencyNanos(now);
        long oneNanos = one.latencyNanos(now);
        boolean isOther = isBetter(other, otherNanos, one, oneNanos, now, isSlowStart);
        C better = isOther ? other : one;
        C worse = isOther ? one : other;
        if (isCoolingDown(better, now) || isCoolingDown(worse, now)) {
            return isSaferThan(worse, better, now) ? worse : better;
        }
        boolean isSlower = isOther ? isSlower(oneNanos, otherNanos) : isSlower(otherNanos, oneNanos);
        // An instance that starts slowly gets fewer of these calls, too.
        boolean isSkipped = isSlowStart && skips(worse, now);
        return isSlower && !isSkipped && worse.isExplorationDue(now) ? worse : better;
    }

    /** The first draw while an instance starts slowly. */
    private int drawStarted(long now) {
        int drawn = draw();
        for (int i = 1; i < MAX_DRAWS && skips(candidates.get(drawn), now); i++) {
            drawn = draw();
        }
        return drawn;
    }

    /** The best one of all; instances that were tried, are full, or have asked to be left alone come last. */
    private C best(long now, @Nullable TriedInstances tried, boolean isSlowStart) {
        C best = candidates.getFirst();
        int bestRank = rank(best, tried, now);
        for (int i = 1; i < sums.length; i++) {
            C next = candidates.get(i);
            int rank = rank(next, tried, now);
            if (rank < bestRank || (rank == bestRank && isPreferred(next, best, now, isSlowStart))) {
                best = next;
                bestRank = rank;
            }
        }
        return best;
    }

    private static int rank(Candidate candidate, @Nullable TriedInstances tried, long now) {
        return (candidate.isLeftAlone(now) ? 4 : 0)
                + (tried != null && tried.contains(candidate.identity()) ? 2 : 0)
                + (candidate.isFull() ? 1 : 0);
    }

    private static boolean isCoolingDown(Candidate candidate, long now) {
        return candidate.coolDownFailures(now) > 0;
    }

    /** Whether only the second instance cools down, and the first one is not so late that it may hang. */
    private static boolean isSaferThan(Candidate first, Candidate second, long now) {
        int failures = second.coolDownFailures(now);
        return failures > 0
                && !isCoolingDown(first, now)
                && (!first.isLate(now) || first.inFlight() < 1 << Math.min(failures, Integer.SIZE - 2));
    }

    private boolean isPreferred(C other, C one, long now, boolean isSlowStart) {
        if (isSaferThan(other, one, now) || isSaferThan(one, other, now)) {
            return isSaferThan(other, one, now);
        }
        return isBetter(other, other.latencyNanos(now), one, one.latencyNanos(now), now, isSlowStart);
    }

    private boolean isBetter(C other, long otherNanos, C one, long oneNanos, long now, boolean isSlowStart) {
        double otherCalls = callsByWeight(other, now, isSlowStart);
        double oneCalls = callsByWeight(one, now, isSlowStart);
        if (isSlower(otherNanos, oneNanos) || isSlower(oneNanos, otherNanos)) {
            return (otherCalls + 1) * otherNanos < (oneCalls + 1) * oneNanos;
        }
        return otherCalls < oneCalls;
    }

    /** Whether the first latency counts as higher. */
    private static boolean isSlower(long firstNanos, long secondNanos) {
        return secondNanos > 0 && firstNanos >= ALIKE * secondNanos;
    }

    private double callsByWeight(C candidate, long now, boolean isSlowStart) {
        double calls = isWeighted ? candidate.inFlight() * meanShare / candidate.share() : candidate.inFlight();
        return isSlowStart ? calls / slowStartFactor(candidate, now) : calls;
    }

    private int draw() {
        if (!isWeighted) {
            return random.applyAsInt(sums.length);
        }
        return indexAt(random.applyAsInt(shareSum()));
    }

    /** The index of the instance with this point of the sum of the weights. */
    int indexAt(int point) {
        int low = 0;
        int high = sums.length - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (sums[middle] > point) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    private int drawOther(int first) {
        if (isWeighted) {
            for (int i = 0; i < MAX_DRAWS; i++) {
                int drawn = draw();
                if (drawn != first) {
                    return drawn;
                }
            }
        }
        int drawn = random.applyAsInt(sums.length - 1);
        return drawn < first ? drawn : drawn + 1;
    }
}
