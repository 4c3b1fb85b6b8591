package io.weir.health;

import org.jspecify.annotations.Nullable;

/**
 * The place of a {@link Health} among others: of an instance, the group of its peers; of a backend with
 * several instances, the group of its members; of a backend with one instance, neither.
 */
// Concurrency: each field is read once for each decision. `lead` and `becomeSingle` of Health replace the
// members before the state, so a thread that decides with the previous members fails at its CAS.
final class GroupMembership {

    /** Of an instance: the group in which it has peers; null: it has none. */
    private volatile @Nullable HealthGroup peers;
    /** Of an instance with peers: its share of the backend's limit. */
    private volatile double share = 1;
    /** Of a backend with several instances: their group; null: it has one. */
    private volatile @Nullable HealthGroup members;
    /** Of a backend with one instance: the largest number of concurrent calls. */
    private volatile int capOfOnly = Integer.MAX_VALUE;

    @Nullable
    HealthGroup peers() {
        return peers;
    }

    @Nullable
    HealthGroup members() {
        return members;
    }

    double share() {
        return share;
    }

    int capOfOnly() {
        return capOfOnly;
    }

    /** The largest number of concurrent calls in the instance; {@link Integer#MAX_VALUE}: none. */
    int cap() {
        HealthGroup group = peers;
        return group == null ? capOfOnly : group.maxCallsEach();
    }

    /** Becomes a member of a group, in place of its present one. */
    void join(HealthGroup group, double shareOfLimit) {
        share = shareOfLimit;
        peers = group;
    }

    void leavePeers() {
        peers = null;
    }

    /** Has these members from now on; null: none. Returns the previous ones. */
    @Nullable
    HealthGroup lead(@Nullable HealthGroup group) {
        HealthGroup previous = members;
        members = group;
        return previous;
    }

    /** Of a backend with one instance. Returns whether the cap changes. */
    boolean capOnly(int maxCalls) {
        boolean isOther = capOfOnly != maxCalls;
        capOfOnly = maxCalls;
        return isOther;
    }

    /**
     * Whether an evidence about the rates opens this health, and not the backend of an instance, or single
     * instances of a backend.
     *
     * @param health the health of this membership
     * @param isSlow whether the slow calls are judged, and not the failures
     */
    boolean isForItToOpen(Health health, boolean isSlow, float thresholdPercent, long now) {
        HealthGroup own = members;
        HealthGroup shared = peers;
        return (own == null || own.failAlike(isSlow, thresholdPercent, now))
                && (shared == null || !shared.isLikeItsPeers(health, isSlow, thresholdPercent, now));
    }

    /** Whether the calls of all instances that are in hold all permits of the backend. */
    boolean isFull(int limit) {
        HealthGroup shared = peers;
        HealthGroup all = shared == null ? members : shared;
        return all != null && all.isFull(limit);
    }
}
