package io.weir.health;

import java.util.ArrayList;
import java.util.List;

/**
 * The bound on the calls of a backend with several instances that follows from the instances which are in.
 * Immutable.
 */
final class GroupStanding {

    /** The sum of shares need not be exact. */
    private static final double ROUNDING = 1e-6;

    private final List<Health> members;
    private final double[] shares;
    /** Instances whose calls are permitted, backups in reserve included. */
    private final int in;
    /** Those of them that get calls. */
    private final int serving;
    /** The sum of the shares of those that are closed. */
    private final double closedShare;
    /** The instances that ramp up, as indexes. */
    private final List<Integer> ramping;

    private GroupStanding(
            List<Health> members, double[] shares, int in, int serving, double closedShare, List<Integer> ramping) {
        this.members = members;
        this.shares = shares;
        this.in = in;
        this.serving = serving;
        this.closedShare = closedShare;
        this.ramping = ramping;
    }

    /** The standing of the instances now. */
    static GroupStanding of(List<Health> members, double[] shares) {
        return of(members, shares, members.size());
    }

    /**
     * The standing of primaries and backups now.
     *
     * @param primaries the number of primaries, which are the first members; the others are backups
     */
    static GroupStanding of(List<Health> members, double[] shares, int primaries) {
        int in = 0;
        int serving = 0;
        boolean isPrimaryServing = false;
        double closedShare = 0;
        List<Integer> ramping = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
            Health member = members.get(i);
            if (member.generation() == null) {
                continue;
            }
            in++;
            if (i >= primaries && isPrimaryServing) {
                continue;
            }
            serving++;
            HealthState state = member.present();
            if (state instanceof HealthState.HalfOpen) {
                ramping.add(i);
            } else {
                closedShare += shares[i];
                isPrimaryServing |= i < primaries && GroupTiers.isServing(state);
            }
        }
        // The sum of the shares of all primaries need not be exactly 1; that of the backups may be less.
        boolean isWhole = isPrimaryServing
                ? serving == primaries && ramping.isEmpty()
                : primaries < members.size() && closedShare > 1 - ROUNDING;
        return new GroupStanding(members, shares, in, serving, isWhole ? 1 : closedShare, List.copyOf(ramping));
    }

    /** Instances whose calls are permitted. */
    int in() {
        return in;
    }

    /** Whether the instances of another standing of the same group are in, too. */
    boolean isSameAs(GroupStanding other) {
        return in == other.in
                && serving == other.serving
                && closedShare == other.closedShare
                && ramping.equals(other.ramping);
    }

    /**
     * The limit on the backend's calls that follows from the instances that are in.
     *
     * @param limit the backend's limit with all instances
     * @param maxCallsEach the largest number of concurrent calls in each instance; {@link Integer#MAX_VALUE}:
     *     none
     */
    int maxCalls(int limit, int maxCallsEach) {
        if (closedShare == 1) {
            return room(maxCallsEach);
        }
        double calls = limit * closedShare;
        for (int i : ramping) {
            calls += Math.min(limit * shares[i], members.get(i).caps().maxCalls());
        }
        return Math.max(1, Math.min(room(maxCallsEach), (int) Math.ceil(calls - ROUNDING)));
    }

    /** The calls for which the instances that are in have room together. */
    int room(int maxCallsEach) {
        if (maxCallsEach == Integer.MAX_VALUE) {
            return Integer.MAX_VALUE;
        }
        long room = (long) maxCallsEach * (serving - ramping.size());
        for (int i : ramping) {
            room += Math.min(maxCallsEach, members.get(i).caps().maxCalls());
        }
        return Math.clamp(room, 1, Integer.MAX_VALUE);
    }

    /**
     * The share of the limit that {@link #maxCalls} allows; 0: it changes with each call, or no instance is
     * in.
     */
    double limitShare() {
        return ramping.isEmpty() || closedShare == 1 ? closedShare : 0;
    }
}
