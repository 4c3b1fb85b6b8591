package io.weir.health;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The healths of a backend's instances, and the health of the backend that follows from them.
 *
 * <p><b>Alone or alike.</b> An instance that fails alone is ejected: its own health opens, and the backend
 * goes on with the others. Where the instances fail alike, an ejection helps nobody. So their results are
 * also recorded together, by the backend's health, which judges them like those of one instance with all of
 * the traffic, and opens all instances at once. These rules keep the two apart:
 *
 * <ul>
 *   <li>An instance stalls after {@value #STALL_CALLS_ALONE} calls without an answer, if its peers have
 *       answered since: it gets so few calls as soon as it is late that five would take minutes.
 *   <li>An instance opens by its own window, or after five failures in a row while its peers failed less than
 *       half of their calls. Peers that fail as many in a row do not count: several instances may be bad.
 *       Where the peers fail too, more than five failures are needed: so many that chance, at the failure
 *       rate of the peers, gives such a row once in 100 million tries.
 *   <li>The backend opens by its rates only if each instance that is in has failed at least half as often as
 *       the threshold demands, in its last 16 calls. A stall of the backend needs no such
 *       rule: an answer of any instance ends it.
 *   <li>An instance opens by its rates only if one of its peers fails less than a quarter as often as the
 *       threshold demands, in its last 16 calls and in all that are known. At low traffic
 *       its window has few calls, and chance alone would open it.
 * </ul>
 *
 * <p>A failed health check takes an instance out, too ({@link HealthChecks}). Where no instance is in, it
 * keeps none out: then probes decide.
 *
 * <p><b>Backups.</b> While a primary is in that is not in its ramp, the backups get no calls. Where the
 * primaries fail alike then, they open, and the backend stays closed for the calls to the backups. The
 * results of backups count as those of peers: a call that a backup has answered well was no bad call. But
 * while a backup is in reserve, its last result counts only if it is newer than the failures in a row: then
 * it is that of a call which the primary had failed.
 *
 * <p>The backend's health is open while all instances are, and closed otherwise. It has no ramp: the ramps of
 * the instances together bound its calls ({@link #maxCalls}).
 */
// Concurrency: the healths decide, each by its own CAS. After each transition, the thread that made it
// derives the backend's state, and does so again until the instances have not changed meanwhile. While all
// instances open at once, nothing is derived until the last one is open. Benign: two threads may eject the
// last two instances at once, each because the other one's calls succeeded.
public final class HealthGroup {

    private static final int STALL_CALLS_ALONE = 3;

    private final Health backend;
    private final List<Health> members;
    private final GroupTiers tiers;
    private final InstanceComparison comparison;
    private final double[] shares;
    private final int maxCallsEach;
    private final Runnable onChange;
    /** The instances that bound the calls now. */
    private volatile GroupStanding standing;
    /** Threads that open all instances; meanwhile the backend stays open. */
    private final AtomicInteger openingAll = new AtomicInteger();
    /** Threads that open all primaries; meanwhile the calls of one must not move to the next one. */
    private final AtomicInteger openingPrimaries = new AtomicInteger();
    /** The good answers of the members. */
    private final AtomicLong answers = new AtomicLong();

    /**
     * A group that does not {@linkplain #takeOver lead} its members yet.
     *
     * @param backend the health of the backend
     * @param members the healths of its instances, at least two
     * @param shares the instances' shares of the traffic; the sum is 1
     * @param maxCallsEach the largest number of concurrent calls in each instance; {@link Integer#MAX_VALUE}:
     *     none
     * @param onChange runs after each change of the instances that are in; must not block
     */
    public HealthGroup(Health backend, List<Health> members, double[] shares, int maxCallsEach, Runnable onChange) {
        this(backend, members, members.size(), shares, maxCallsEach, onChange);
    }

    /**
     * A group of primaries and backups that does not lead its members yet.
     *
     * @param members the healths of the instances, at least two; the primaries come first
     * @param primaries the number of primaries; the other members are backups
     * @param shares the instances' shares of the traffic; the sum of those of the primaries is 1, that of the
     *     backups at most 1
     */
    public HealthGroup(
            Health backend, List<Health> members, int primaries, double[] shares, int maxCallsEach, Runnable onChange) {
        this.backend = backend;
        this.members = List.copyOf(members);
        this.tiers = GroupTiers.of(this.members, primaries);
        this.comparison = new InstanceComparison(this.members, tiers);
        this.shares = shares.clone();
        this.maxCallsEach = maxCallsEach;
        this.onChange = onChange;
        this.standing = standing();
    }

    private GroupStanding standing() {
        return GroupStanding.of(members, shares, tiers.primaries().size());
    }

    /** Becomes the group of its members and of the backend. */
    public void takeOver() {
        for (int i = 0; i < shares.length; i++) {
            members.get(i).role().join(this, shares[i]);
        }
        HealthGroup previous = backend.role().lead(this);
        if (previous != null && previous != this) {
            previous.leave(members);
        }
        changed(null);
    }

    /** Other members have taken over; the results of those that are not among them have no further effect. */
    void leave(List<Health> successors) {
        members.stream()
                .filter(member -> !successors.contains(member))
                .forEach(member -> member.role().leavePeers());
    }

    // ---------------------------------------------------------------- evidence of a member

    void answered(long now) {
        backend.answered(backend.generation(), now);
    }

    void succeeded(Health member, long backendNanos, long now) {
        answers.incrementAndGet();
        member.recent().succeeded(now - backendNanos, now);
        backend.pool(backendNanos, null, now);
    }

    void failed(Health member, long backendNanos, BackendFailure failure, long now) {
        member.recent().failed(answers.get(), now);
        backend.pool(backendNanos, failure, now);
        comparison.ejectIfAlone(member, failure, false, now);
    }

    /** A sign of overload, which is no failure of the backend, but may be one of a single instance. */
    void overloaded(Health member, BackendFailure failure, long now) {
        member.recent().failed(answers.get(), now);
        comparison.ejectIfAlone(member, failure, true, now);
    }

    int coolDownFailures(Health member, long now) {
        return member.recent().coolDownFailures(answers.get(), now);
    }

    void stalled(long sentAt, long silentSince, long judgedSince, long now) {
        backend.stalled(backend.generation(), sentAt, silentSince, judgedSince, now);
    }

    /** The calls without an answer that make an instance a stalled one. */
    int stallCalls(int configured, long sentAt) {
        Generation all = backend.generation();
        return all != null && all.hasAnsweredSince(sentAt) ? Math.min(STALL_CALLS_ALONE, configured) : configured;
    }

    /** As {@link InstanceComparison#failAlike}. */
    boolean failAlike(boolean isSlow, float thresholdPercent, long now) {
        return comparison.failAlike(isSlow, thresholdPercent, now);
    }

    /** As {@link InstanceComparison#isLikeItsPeers}. */
    boolean isLikeItsPeers(Health member, boolean isSlow, float thresholdPercent, long now) {
        return comparison.isLikeItsPeers(member, isSlow, thresholdPercent, now);
    }

    /** As {@link InstanceComparison#isOverloadShared}. */
    boolean isOverloadShared(Health member, long now) {
        return comparison.isOverloadShared(member, now);
    }

    // ---------------------------------------------------------------- transitions

    /** The backend is about to open; until {@link #openingEnds}, its state is not derived. */
    void openingBegins() {
        openingAll.incrementAndGet();
    }

    /** The backend has opened, and so all its instances do. */
    void openAll(boolean isStalled, String why, long now) {
        members.forEach(member -> member.role().openWithPeers(isStalled, why, now));
    }

    /** As {@link GroupTiers#hasReserve}. */
    boolean hasReserve() {
        return tiers.hasReserve();
    }

    /** The primaries fail alike; the backups take the calls. */
    void openPrimaries(boolean isStalled, String why, long now) {
        openingPrimaries.incrementAndGet();
        try {
            tiers.primaries().forEach(member -> member.role().openWithPeers(isStalled, why, now));
        } finally {
            openingPrimaries.decrementAndGet();
            changed(null);
        }
    }

    /** The backend has opened, or another thread has changed its state first. */
    void openingEnds() {
        openingAll.decrementAndGet();
        changed(null);
    }

    void forceAll(boolean isOpen) {
        notDrained().map(Health::operator).forEach(isOpen ? OperatorHold::forceOpen : OperatorHold::forceClosed);
    }

    void releaseAll() {
        notDrained().map(Health::operator).forEach(OperatorHold::release);
    }

    /** Another operator may have drained an instance for a reason of its own. */
    private Stream<Health> notDrained() {
        return members.stream().filter(member -> !member.isDrained());
    }

    /** The state that an operator forces on the backend; null: none. */
    HealthState.@Nullable Forced forced() {
        return backend.present() instanceof HealthState.Forced forced ? forced : null;
    }

    boolean isOpeningAll() {
        return openingAll.get() > 0;
    }

    void halfOpenAll() {
        members.forEach(member -> member.operator().halfOpenNow());
    }

    /**
     * The state of an instance has changed.
     *
     * @param opened the instance that has opened; null: none has
     */
    void changed(@Nullable Health opened) {
        // The thread that opens the primaries derives the state after the last one.
        while (openingPrimaries.get() == 0) {
            // The order matters. If the backend begins to open with all its instances after the first line,
            // its state is no longer the one that was seen, and follow() changes nothing. If it began before,
            // the second line shows that, unless all instances are open already.
            HealthState seen = backend.present();
            boolean isOpening = openingAll.get() != 0;
            GroupStanding now = standing();
            standing = now;
            onChange.run();
            if (now.in() == 0) {
                // A health check never takes out the last instance.
                members.forEach(member -> member.verdict().ignored(member.now()));
            }
            boolean isDone = isOpening || backend.role().follow(this, seen, now.in(), opened);
            if (isDone && now.isSameAs(standing())) {
                return;
            }
        }
    }

    // ---------------------------------------------------------------- facts

    /**
     * The limit on the backend's calls that follows from the instances that are in.
     *
     * @param limit the backend's limit with all instances
     */
    int maxCalls(int limit) {
        return standing.maxCalls(limit, maxCallsEach);
    }

    /** The calls for which the instances that are in have room together. */
    int room() {
        return standing.room(maxCallsEach);
    }

    /** As {@link GroupStanding#limitShare}. */
    double limitShare() {
        return standing.limitShare();
    }

    /** The largest number of concurrent calls in each instance; {@link Integer#MAX_VALUE}: none. */
    int maxCallsEach() {
        return maxCallsEach;
    }

    /** Whether the calls to the instances that are in hold all permits of the backend. */
    boolean isFull(int limit) {
        int sum = 0;
        for (Health member : members) {
            sum += member.inFlight();
        }
        return sum >= Math.min(limit, maxCalls(limit));
    }

    long recoveryNanos() {
        long shortest = Long.MAX_VALUE;
        for (Health member : members) {
            Generation generation = member.generation();
            if (generation != null && tiers.isServing(member)) {
                shortest = Math.min(shortest, generation.recoveryNanos());
            }
        }
        return shortest == Long.MAX_VALUE ? 0 : shortest;
    }

    int overdue() {
        int sum = 0;
        for (Health member : members) {
            sum += member.overdue();
        }
        return sum;
    }

    int probesUnderWay() {
        int sum = 0;
        for (Health member : members) {
            sum += member.probes().underWay();
        }
        return sum;
    }

    long nanosToNextProbe() {
        long least = Long.MAX_VALUE;
        for (Health member : members) {
            // A drained instance is not probed.
            if (member.present() instanceof HealthState.Open) {
                least = Math.min(least, member.probes().nanosToNext());
            }
        }
        return least == Long.MAX_VALUE ? 0 : least;
    }

    boolean isLastResortDue(long now, long usualNanos) {
        for (Health member : members) {
            if (member.probes().isLastResortDue(now, usualNanos)) {
                return true;
            }
        }
        return false;
    }
}
