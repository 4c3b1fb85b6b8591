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
    /** Instances whose calls are permitted. */
    private final int in;
    /** The share of closed instances in the weights of all. */
    private final double closedShare;
    /** The instances that ramp up, as indexes. */
    private final List<Integer> ramping;

    private GroupStanding(List<Health> members, double[] shares, int in, double closedShare, List<Integer> ramping) {
        this.members = members;
        this.shares = shares;
        this.in = in;
        this.closedShare = closedShare;
        this.ramping = ramping;
    }

    /** The standing of the instances now. */
    static GroupStanding of(List<Health> members, double[] shares) {
        int in = 0;
        double closedShare = 0;
        List<Integer> ramping = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
            Health member = members.get(i);
            if (member.generation() == null) {
                continue;
            }
            in++;
            if (member.present() instanceof HealthState.HalfOpen) {
                ramping.add(i);
            } else {
                closedShare += shares[i];
            }
        }
        // The sum of the shares of all members need not be exactly 1.
        boolean isWhole = in == members.size() && ramping.isEmpty();
        return new GroupStanding(members, shares, in, isWhole ? 1 : closedShare, List.copyOf(ramping));
    }

    /** Instances whose calls are permitted. */
    int in() {
        return in;
    }

    /** Whether the instances of another standing of the same group are in, too. */
    boolean isSameAs(GroupStanding other) {
        return in == other.in && closedShare == other.closedShare && ramping.equals(other.ramping);
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
        long room = (long) maxCallsEach * (in - ramping.size());
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
        return ramping.isEmpty() ? closedShare : 0;
    }
}
