package io.weir.instance;

import io.weir.instance.Choice.Candidate;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the instance that a hash determines: consistent hashing with bounded loads.
 *
 * <p>Each instance owns points on a ring, in proportion to its weight. A call goes to the owner of the next
 * point after its hash. If that instance is out, has failed the call, is full or has too many calls, the
 * call goes to the owner of a later point. So an instance that leaves moves only its own calls, and spreads
 * them over all others; when it returns, they return. The points follow from the addresses alone: all
 * gateways agree, also after a restart.
 *
 * <p><b>Bound.</b> An instance has too many calls if it has more than 1.25 times its share of all calls in
 * flight, as far as the excess is more than chance: an instance may have three standard deviations more than
 * its share, and {@value #FREE_CALLS} calls in any case. So a key that is asked for very often is served by
 * several instances, and other keys keep theirs. With few calls in flight, a bound of 1.25 alone would move
 * every third call.
 *
 * <p>Source: Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA 2018; for the
 * ring, Karger et al., STOC 1997.
 *
 * <p>Rejected alternatives: Maglev's table moves some keys of other instances when one leaves. Rendezvous
 * hashing divides more evenly, but computes one hash for each instance: too slow for 200 of them.
 *
 * <p>Immutable, with a point for all instances, whether they are in or not: a change of a health builds no
 * new ring.
 */
final class HashRing<C extends Candidate> {

    /** The points of the instance with the largest weight; the shares then differ by about 3 %. */
    private static final int POINTS = 1024;

    private static final double MAX_FACTOR = 1.25;
    private static final double DEVIATIONS = 3;
    private static final int FREE_CALLS = 4;
    /**
     * The points that are looked at for each instance before the search is given up: chance leaves out an
     * instance once in ten million searches.
     */
    private static final int STEPS_EACH = 16;

    private static final int OWNER_BITS = 16;
    private static final int OWNER = (1 << OWNER_BITS) - 1;
    private static final long SLOW_START_SALT = 1;

    private final List<C> all;
    /** Sorted; the low bits of each point are the index of its owner. */
    private final long[] points;
    /** The part of the ring that each instance owns, relative to its weight's share of all weights. */
    private final double[] parts;

    /**
     * A ring.
     *
     * @param all all instances of the backend, at most 65,536
     * @param name the name of an instance, such as its address; determines its points
     */
    HashRing(List<C> all, Function<C, String> name) {
        this.all = List.copyOf(all);
        if (all.size() > OWNER + 1) {
            throw new IllegalArgumentException("instances: %d (expected: at most %d)".formatted(all.size(), OWNER + 1));
        }
        int largest = all.stream().mapToInt(Candidate::weight).max().orElse(1);
        int[] counts = all.stream()
                .mapToInt(one -> Math.max(1, Math.round((float) POINTS * one.weight() / largest)))
                .toArray();
        points = new long[Arrays.stream(counts).sum()];
        int filled = 0;
        for (int owner = 0; owner < counts.length; owner++) {
            long seed = HashKey.hash(name.apply(all.get(owner)));
            for (int i = 0; i < counts[owner]; i++) {
                points[filled++] = (HashKey.mix(seed + i) & ~(long) OWNER) | owner;
            }
        }
        Arrays.sort(points);
        parts = parts();
    }

    /** The part of the ring before each point belongs to the owner of the point. */
    private double[] parts() {
        double[] owned = new double[all.size()];
        for (int i = 0; i < points.length; i++) {
            long before = points[i == 0 ? points.length - 1 : i - 1];
            // The difference of the first point wraps around.
            owned[owner(i)] += points.length == 1 ? 1 : ((points[i] - before) >>> 1) * 0x1.0p-63;
        }
        double weights = all.stream().mapToInt(Candidate::weight).sum();
        for (int i = 0; i < owned.length; i++) {
            owned[i] /= all.get(i).weight() / weights;
        }
        return owned;
    }

    private int owner(int point) {
        return (int) (points[point] & OWNER);
    }

    /**
     * The instance for a call; null: none is in, or none has room.
     *
     * @param in the instances that are in
     * @param hash the hash of the call's key
     * @param tried the instances that have failed the call; null: none has
     * @param calls the calls in flight in all instances, this one included
     */
    @Nullable
    C choose(Choice<C> in, long hash, long now, @Nullable TriedInstances tried, int calls) {
        int found = Arrays.binarySearch(points, hash);
        int start = found >= 0 ? found : -found - 1;
        int steps = Math.min(points.length, STEPS_EACH * all.size());
        for (int i = 0; i < steps; i++) {
            int point = start + i < points.length ? start + i : start + i - points.length;
            int owner = owner(point);
            C candidate = all.get(owner);
            if (candidate.isIn()
                    && !candidate.isFull()
                    && (tried == null || !tried.contains(candidate.identity()))
                    && candidate.inFlight() < bound((double) calls * candidate.share() / in.shareSum() * parts[owner])
                    && !isSlow(in, candidate, hash, now)) {
                return candidate;
            }
        }
        return null;
    }

    /**
     * Whether an instance that starts slowly does not get this key yet. During a slow start each key returns
     * once, and then stays.
     */
    private boolean isSlow(Choice<C> in, C candidate, long hash, long now) {
        return in.isSlowStart(now) && HashKey.fraction(hash, SLOW_START_SALT) >= in.slowStartFactor(candidate, now);
    }

    /** The calls in flight from which on an instance takes no further call. */
    private static double bound(double share) {
        return Math.max(FREE_CALLS, Math.max(MAX_FACTOR * share, share + DEVIATIONS * Math.sqrt(share))) + 1;
    }
}
