package io.weir.health;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Compares the last results of a backend's instances: whether one fails alone, or they fail alike. {@link
 * HealthGroup} has the rules in words.
 */
final class InstanceComparison {

    private static final int FAILURES_IN_A_ROW = 5;
    private static final int ALIKE_CALLS = 16;
    private static final int LAST_CALLS = 8;
    private static final double LOG_CHANCES = Math.log(1e8);
    private static final double PERCENT = 100;

    private final List<Health> members;
    private final GroupTiers tiers;

    InstanceComparison(List<Health> members, GroupTiers tiers) {
        this.members = members;
        this.tiers = tiers;
    }

    /**
     * Ejects an instance that has failed often in a row, if its peers have not. A backup in reserve shows
     * something only if it got calls meanwhile, which the instance had failed: what it has answered before
     * may be easier than the calls of now.
     *
     * @param isOverload whether the failures are signs of overload: a backup in reserve is not overloaded,
     *     and shows nothing
     */
    void ejectIfAlone(Health member, BackendFailure failure, boolean isOverload, long now) {
        int inARow = member.recent().failuresInARow();
        if (inARow < FAILURES_IN_A_ROW) {
            return;
        }
        int calls = 0;
        int failed = 0;
        int lastCalls = 0;
        int lastFailed = 0;
        for (Health peer : members) {
            if (peer != member
                    && peer.generation() != null
                    && peer.recent().failuresInARow() < FAILURES_IN_A_ROW
                    && (tiers.isServing(peer) || (!isOverload && peer.recent().isSince(member.recent())))) {
                int known = peer.recent().calls(RecentOutcomes.CAPACITY, now);
                calls += known;
                failed += peer.recent().failures(known);
                int last = Math.min(known, LAST_CALLS);
                lastCalls += last;
                lastFailed += peer.recent().failures(last);
            }
        }
        // Laplace's rule of succession: few calls without a failure do not show that none will fail. The last
        // calls show that the peers have just begun to fail, too.
        double rate = Math.max((failed + 1.0) / (calls + 2.0), (double) lastFailed / Math.max(1, lastCalls));
        if (2 * failed < calls && 2 * lastFailed < lastCalls && inARow * -Math.log(rate) >= LOG_CHANCES) {
            // A primary in its ramp has no peer that the choice prefers while it cools down.
            member.role()
                    .eject(
                            !tiers.backups().isEmpty(),
                            "failing alone, %d failures in a row while %d of %d calls to the others failed: %s"
                                    .formatted(inARow, failed, calls, failure.getMessage()),
                            now);
        }
    }

    /**
     * Whether the instances fail alike, so that the backend opens, and not one of them.
     *
     * @param isSlow whether the slow calls are judged, and not the failures
     */
    boolean failAlike(boolean isSlow, float thresholdPercent, long now) {
        return eachFailed(null, isSlow, thresholdPercent / 2, ALIKE_CALLS, now);
    }

    /**
     * Whether an instance that fails has no healthy peer, so that the backend is judged, and not the
     * instance.
     */
    boolean isLikeItsPeers(Health member, boolean isSlow, float thresholdPercent, long now) {
        double leastPercent = thresholdPercent / 4;
        return eachFailed(member, isSlow, leastPercent, ALIKE_CALLS, now)
                || eachFailed(member, isSlow, leastPercent, RecentOutcomes.CAPACITY, now);
    }

    private boolean eachFailed(@Nullable Health except, boolean isSlow, double leastPercent, int lastCalls, long now) {
        boolean hasPeer = false;
        for (Health member : members) {
            if (member == except || member.generation() == null) {
                continue;
            }
            hasPeer = true;
            int calls = member.recent().calls(lastCalls, now);
            double percent = isSlow
                    ? member.rates().getSlowCallRate()
                    : PERCENT * member.recent().failures(calls) / Math.max(1, calls);
            if (calls > 0 && percent < leastPercent) {
                return false;
            }
        }
        return hasPeer;
    }

    /**
     * Whether the signs of overload of an instance are those of its backend: at least half of the other
     * instances that get calls have failed one lately, too. Otherwise the instance is bad, and the others can
     * work on as many calls as before.
     */
    boolean isOverloadShared(Health member, long now) {
        int others = 0;
        int failing = 0;
        for (Health peer : members) {
            if (peer != member && peer.generation() != null && tiers.isServing(peer)) {
                others++;
                failing += peer.recent().failures(peer.recent().calls(ALIKE_CALLS, now)) > 0 ? 1 : 0;
            }
        }
        return 2 * failing >= others;
    }
}
