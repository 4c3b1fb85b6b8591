package io.weir.instance;

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
 * <p>If the better one is late, the best of all is chosen: where several instances hang, chance would often
 * compare two of them.
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

        /** Its share of the traffic relative to the other weights; 1 or more. */
        int weight();

        /** Calls under way. */
        int inFlight();

        /** The usual latency, or the present wait if that is longer; 0: not known. */
        long latencyNanos(long now);

        /** Whether its calls have waited for an answer for longer than usual. */
        boolean isLate(long now);

        /** Whether the instance takes no further call now. */
        boolean isFull();
    }

    /** Latencies that differ by a smaller factor count as equal. */
    private static final double ALIKE = 1.5;

    private static final int MAX_DRAWS = 4;

    private final List<C> candidates;
    /** The sums of the weights up to each candidate; the last one is the sum of all. */
    private final int[] sums;

    private final boolean isWeighted;
    private final double meanWeight;
    private final IntUnaryOperator random;

    /**
     * A choice.
     *
     * @param candidates the instances that are in; may be empty
     * @param random returns a number from 0 to its argument, exclusive
     */
    Choice(List<C> candidates, IntUnaryOperator random) {
        this.candidates = List.copyOf(candidates);
        this.random = random;
        this.sums = new int[candidates.size()];
        int sum = 0;
        boolean differ = false;
        for (int i = 0; i < sums.length; i++) {
            sum += candidates.get(i).weight();
            sums[i] = sum;
            differ |= candidates.get(i).weight() != candidates.getFirst().weight();
        }
        this.isWeighted = differ;
        this.meanWeight = sums.length == 0 ? 1 : (double) sum / sums.length;
    }

    /** The instances that are in. */
    List<C> candidates() {
        return candidates;
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
            int first = draw();
            int second = drawOther(first);
            C one = candidates.get(first);
            C other = candidates.get(second);
            boolean isOneFull = one.isFull();
            if (!isOneFull && !other.isFull()) {
                C better = isBetter(other, one, now) ? other : one;
                if (!better.isLate(now)) {
                    return better;
                }
            }
        }
        return best(now, tried);
    }

    /** The best one of all; instances that were tried or are full come last. */
    private C best(long now, @Nullable TriedInstances tried) {
        C best = candidates.getFirst();
        int bestRank = rank(best, tried);
        for (int i = 1; i < sums.length; i++) {
            C next = candidates.get(i);
            int rank = rank(next, tried);
            if (rank < bestRank || (rank == bestRank && isBetter(next, best, now))) {
                best = next;
                bestRank = rank;
            }
        }
        return best;
    }

    private static int rank(Candidate candidate, @Nullable TriedInstances tried) {
        return (tried != null && tried.contains(candidate) ? 2 : 0) + (candidate.isFull() ? 1 : 0);
    }

    private boolean isBetter(C other, C one, long now) {
        long otherNanos = other.latencyNanos(now);
        long oneNanos = one.latencyNanos(now);
        boolean isKnown = otherNanos > 0 && oneNanos > 0;
        if (!isKnown || (otherNanos < ALIKE * oneNanos && oneNanos < ALIKE * otherNanos)) {
            return load(other, 1) < load(one, 1);
        }
        return load(other, otherNanos) < load(one, oneNanos);
    }

    private double load(C candidate, long latencyNanos) {
        return (candidate.inFlight() * meanWeight / candidate.weight() + 1) * latencyNanos;
    }

    private int draw() {
        if (!isWeighted) {
            return random.applyAsInt(sums.length);
        }
        int point = random.applyAsInt(sums[sums.length - 1]);
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
