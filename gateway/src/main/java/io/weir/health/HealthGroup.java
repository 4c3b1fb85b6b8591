package io.weir.health;

import java.util.ArrayList;
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
 *       rate of the peers, gives such a row once in {@value #CHANCES} tries.
 *   <li>The backend opens by its rates only if each instance that is in has failed at least half as often as
 *       the threshold demands, in its last {@value #ALIKE_CALLS} calls. A stall of the backend needs no such
 *       rule: an answer of any instance ends it.
 *   <li>An instance opens by its rates only if one of its peers fails less than a quarter as often as the
 *       threshold demands, in its last {@value #ALIKE_CALLS} calls and in all that are known. At low traffic
 *       its window has few calls, and chance alone would open it.
 * </ul>
 *
 * <p>A failed health check takes an instance out, too ({@link HealthChecks}). Where no instance is in, it
 * keeps none out: then probes decide.
 *
 * <p>The backend's health is open while all instances are, and closed otherwise. It has no ramp: the ramps of
 * the instances together bound its calls ({@link #maxCalls}).
 *
 * <p>The class stays whole although it has more than 400 lines: it lists all rules about several instances.
 */
// Concurrency: the healths decide, each by its own CAS. After each transition, the thread that made it
// derives the backend's state, and does so again until the instances have not changed meanwhile. While all
// instances open at once, nothing is derived until the last one is open. Benign: two threads may eject the
// last two instances at once, each because the other one's calls succeeded.
public final class HealthGroup {

    private static final int FAILURES_IN_A_ROW = 5;
    private static final int STALL_CALLS_ALONE = 3;
    private static final int ALIKE_CALLS = 16;
    private static final int LAST_CALLS = 8;
    private static final double CHANCES = 1e8;
    private static final double LOG_CHANCES = Math.log(CHANCES);
    private static final double PERCENT = 100;
    /** The sum of shares need not be exact. */
    private static final double ROUNDING = 1e-6;

    private final Health backend;
    private final List<Health> members;
    private final double[] shares;
    private final int maxCallsEach;
    private final Runnable onChange;
    /** The instances that bound the calls now. */
    private volatile Standing standing;
    /** Threads that open all instances; meanwhile the backend stays open. */
    private final AtomicInteger openingAll = new AtomicInteger();
    /** The good answers of the members. */
    private final AtomicLong answers = new AtomicLong();

    /**
     * The bound on the backend's calls that follows from its instances.
     *
     * @param in instances whose calls are permitted
     * @param closedShare the share of closed instances in the weights of all
     * @param ramping the instances that ramp up, as indexes
     */
    private record Standing(int in, double closedShare, List<Integer> ramping) {}

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
        this.backend = backend;
        this.members = List.copyOf(members);
        this.shares = shares.clone();
        this.maxCallsEach = maxCallsEach;
        this.onChange = onChange;
        this.standing = standing();
    }

    /** Becomes the group of its members and of the backend. */
    public void takeOver() {
        for (int i = 0; i < shares.length; i++) {
            members.get(i).join(this, shares[i]);
        }
        HealthGroup previous = backend.lead(this);
        if (previous != null && previous != this) {
            previous.leave(members);
        }
        changed(null);
    }

    /** Other members have taken over; the results of those that are not among them have no further effect. */
    void leave(List<Health> successors) {
        members.stream().filter(member -> !successors.contains(member)).forEach(Health::leavePeers);
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
        ejectIfAlone(member, failure, now);
    }

    /** A sign of overload, which is no failure of the backend, but may be one of a single instance. */
    void overloaded(Health member, BackendFailure failure, long now) {
        member.recent().failed(answers.get(), now);
        ejectIfAlone(member, failure, now);
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

    private void ejectIfAlone(Health member, BackendFailure failure, long now) {
        int inARow = member.recent().failuresInARow();
        if (inARow < FAILURES_IN_A_ROW) {
            return;
        }
        int calls = 0;
        int failed = 0;
        int lastCalls = 0;
        int lastFailed = 0;
        for (Health peer : members) {
            if (peer != member && peer.generation() != null && peer.recent().failuresInARow() < FAILURES_IN_A_ROW) {
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
            member.eject(
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

    // ---------------------------------------------------------------- transitions

    /** The backend is about to open; until {@link #openingEnds}, its state is not derived. */
    void openingBegins() {
        openingAll.incrementAndGet();
    }

    /** The backend has opened, and so all its instances do. */
    void openAll(boolean isStalled, String why, long now) {
        members.forEach(member -> member.openWithPeers(isStalled, why, now));
    }

    /** The backend has opened, or another thread has changed its state first. */
    void openingEnds() {
        openingAll.decrementAndGet();
        changed(null);
    }

    void forceAll(boolean isOpen) {
        notDrained().forEach(isOpen ? Health::forceOpen : Health::forceClosed);
    }

    void releaseAll() {
        notDrained().forEach(Health::release);
    }

    /** Another operator may have drained an instance for a reason of its own. */
    private Stream<Health> notDrained() {
        return members.stream().filter(member -> !member.isDrained());
    }

    /** The state that an operator forces on the backend; null: none. */
    HealthState.@Nullable Forced forced() {
        return backend.forced();
    }

    boolean isOpeningAll() {
        return openingAll.get() > 0;
    }

    void halfOpenAll() {
        members.forEach(Health::halfOpenNow);
    }

    /**
     * The state of an instance has changed.
     *
     * @param opened the instance that has opened; null: none has
     */
    void changed(@Nullable Health opened) {
        while (true) {
            // The order matters. If the backend begins to open with all its instances after the first line,
            // its state is no longer the one that was seen, and follow() changes nothing. If it began before,
            // the second line shows that, unless all instances are open already.
            HealthState seen = backend.present();
            boolean isOpening = openingAll.get() != 0;
            Standing now = standing();
            standing = now;
            onChange.run();
            if (now.in == 0) {
                // A health check never takes out the last instance.
                members.forEach(member -> member.checkIgnored(member.now()));
            }
            boolean isDone = isOpening || backend.follow(this, seen, now.in, opened);
            if (isDone && now.equals(standing())) {
                return;
            }
        }
    }

    private Standing standing() {
        int in = 0;
        double closedShare = 0;
        List<Integer> ramping = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
            Health member = members.get(i);
            if (member.generation() == null) {
                continue;
            }
            in++;
            if (member.isRamping()) {
                ramping.add(i);
            } else {
                closedShare += shares[i];
            }
        }
        // The sum of the shares of all members need not be exactly 1.
        return new Standing(in, in == members.size() && ramping.isEmpty() ? 1 : closedShare, List.copyOf(ramping));
    }

    // ---------------------------------------------------------------- facts

    /**
     * The limit on the backend's calls that follows from the instances that are in.
     *
     * @param limit the backend's limit with all instances
     */
    int maxCalls(int limit) {
        Standing seen = standing;
        if (seen.closedShare == 1) {
            return room(seen);
        }
        double calls = limit * seen.closedShare;
        for (int i : seen.ramping) {
            calls += Math.min(limit * shares[i], members.get(i).maxCalls());
        }
        return Math.max(1, Math.min(room(seen), (int) Math.ceil(calls - ROUNDING)));
    }

    /** The calls for which the instances that are in have room together. */
    int room() {
        return room(standing);
    }

    private int room(Standing seen) {
        if (maxCallsEach == Integer.MAX_VALUE) {
            return Integer.MAX_VALUE;
        }
        long room = (long) maxCallsEach * (seen.in - seen.ramping.size());
        for (int i : seen.ramping) {
            room += Math.min(maxCallsEach, members.get(i).maxCalls());
        }
        return Math.clamp(room, 1, Integer.MAX_VALUE);
    }

    /** The largest number of concurrent calls in each instance; {@link Integer#MAX_VALUE}: none. */
    int maxCallsEach() {
        return maxCallsEach;
    }

    /**
     * The share of the limit that {@link #maxCalls} allows; 0: it changes with each call, or no instance is
     * in.
     */
    double limitShare() {
        Standing seen = standing;
        return seen.ramping.isEmpty() ? seen.closedShare : 0;
    }

    /**
     * Whether the signs of overload of an instance are those of its backend: at least half of the other
     * instances that are in have failed a call lately, too. Otherwise the instance is bad, and the others can
     * work on as many calls as before.
     */
    boolean isOverloadShared(Health member, long now) {
        int others = 0;
        int failing = 0;
        for (Health peer : members) {
            if (peer != member && peer.generation() != null) {
                others++;
                failing += peer.recent().failures(peer.recent().calls(ALIKE_CALLS, now)) > 0 ? 1 : 0;
            }
        }
        return 2 * failing >= others;
    }

    /** Whether the calls to the instances that are in hold all permits of the backend. */
    boolean isFull(int limit) {
        int sum = 0;
        for (Health member : members) {
            sum += member.inFlight();
        }
        return sum >= Math.min(limit, maxCalls(limit));
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
            sum += member.probesUnderWay();
        }
        return sum;
    }

    long nanosToNextProbe() {
        long least = Long.MAX_VALUE;
        for (Health member : members) {
            // A drained instance is not probed.
            if (member.isOpen()) {
                least = Math.min(least, member.nanosToNextProbe());
            }
        }
        return least == Long.MAX_VALUE ? 0 : least;
    }

    boolean isLastResortDue(long now, long usualNanos) {
        for (Health member : members) {
            if (member.isLastResortDue(now, usualNanos)) {
                return true;
            }
        }
        return false;
    }
}
