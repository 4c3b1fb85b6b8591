package io.weir.instance;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.capacity.StatedCapacity;
import io.weir.health.Health;
import io.weir.health.HealthGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The instances of one backend, and those of them that are in. A reload that changes the addresses creates
 * another object with those instances that stay.
 *
 * <p>An instance that returns starts slowly. At the start of the gateway none does, since all are new alike.
 */
// Concurrency: `selection` is replaced as a whole by the thread that has changed an instance's health. That
// thread compares it with the healths again, so the last one to write has seen all changes.
public final class Instances {

    /** The sum of shares need not be exact. */
    private static final double ROUNDING = 1e-6;

    private final List<Instance> all;
    /** The shares of the limit, in the order of the instances. */
    private final double[] shares;

    private final Health health;
    private final @Nullable HealthGroup group;
    private final LoadBalancingProperties balancing;
    private final long slowStartNanos;
    private final @Nullable HashKey hashKey;
    /** Null without a hash key. */
    private final @Nullable HashRing<Instance> ring;
    /** Null without a hash key, or without backups. */
    private final @Nullable HashRing<Instance> backupRing;

    /** Null: the gateway sets no cookie. */
    private final @Nullable SessionCookie sessionCookie;

    private final boolean hasBackups;

    private final AtomicInteger turns;

    private final IntUnaryOperator random;
    private final Consumer<Instance> onOpened;
    private volatile Selection selection;

    /**
     * Those that are in, and those that are out.
     *
     * @param tier the primaries; the backups if no primary is in
     * @param reserve the backups, if a primary is in, too; null: none
     */
    private record Selection(InstanceTier tier, @Nullable InstanceTier reserve, List<Instance> out) {}

    private Instances(
            List<Instance> all,
            Health health,
            LoadBalancingProperties balancing,
            IntUnaryOperator random,
            Consumer<Instance> onOpened) {
        this.all = all.stream().sorted(Comparator.comparing(Instance::isBackup)).toList();
        this.hasBackups = this.all.getLast().isBackup();
        this.health = health;
        this.balancing = balancing;
        this.slowStartNanos = balancing.slowStart().toNanos();
        this.hashKey = all.size() == 1 ? null : balancing.key();
        SessionCookieProperties cookie = all.size() == 1 ? null : balancing.sessionCookie();
        this.sessionCookie = cookie == null
                ? null
                : new SessionCookie(
                        cookie, this.all.stream().map(Instance::shownAddress).toList());
        List<Instance> backups = this.all.stream().filter(Instance::isBackup).toList();
        List<Instance> primaries = this.all.subList(0, all.size() - backups.size());
        this.shares = shares(this.all, primaries, backups);
        this.ring = ring(hashKey, primaries);
        this.backupRing = ring(hashKey, backups);
        this.random = random;
        // Gateways that start together do not send their first calls to the same instance.
        this.turns = new AtomicInteger(random.applyAsInt(Integer.MAX_VALUE));
        this.onOpened = onOpened;
        this.selection = selection();
        this.group = all.size() == 1
                ? null
                : new HealthGroup(
                        health,
                        this.all.stream().map(Instance::health).toList(),
                        primaries.size(),
                        shares,
                        balancing.maxCallsEach(),
                        this::changed);
    }

    /** The instances of a backend with one address: the health of the instance is the backend's. */
    public static Instances of(Instance only) {
        return of(only, LoadBalancingProperties.defaults());
    }

    /** The instances of a backend with one address, with a limit on its calls. */
    public static Instances of(Instance only, LoadBalancingProperties balancing) {
        return new Instances(List.of(only), only.health(), balancing, bound -> 0, opened -> {});
    }

    /**
     * The instances of a backend with several addresses. They have no effect on the health of the backend
     * until {@link #takeOver}.
     *
     * @param all at least two
     * @param health the health of the backend
     * @param balancing the division of the calls
     * @param random returns a number from 0 to its argument, exclusive
     * @param onOpened receives each instance that opens and whose calls may hang, at least once; must not
     *     block
     */
    public static Instances of(
            List<Instance> all,
            Health health,
            LoadBalancingProperties balancing,
            IntUnaryOperator random,
            Consumer<Instance> onOpened) {
        return new Instances(all, health, balancing, random, onOpened);
    }

    /**
     * The shares of the limit. A weight stands for the same number of calls in both tiers: backups of less
     * weight than the primaries together get less than the limit.
     */
    private static double[] shares(List<Instance> all, List<Instance> primaries, List<Instance> backups) {
        double primary = weightOf(primaries);
        double backup = Math.max(primary, weightOf(backups));
        return all.stream()
                .mapToDouble(one -> one.weight() / (one.isBackup() ? backup : primary))
                .toArray();
    }

    private static double weightOf(List<Instance> instances) {
        return instances.stream().mapToInt(Instance::weight).sum();
    }

    private static @Nullable HashRing<Instance> ring(@Nullable HashKey key, List<Instance> tier) {
        return key == null || tier.isEmpty()
                ? null
                : new HashRing<>(tier, one -> one.uri().toString());
    }

    /** Puts these instances in force: from now on, the health of the backend follows from theirs. */
    public void takeOver() {
        if (group == null) {
            health.role().becomeSingle(balancing.maxCallsEach());
        } else {
            group.takeOver();
        }
    }

    private void changed() {
        while (true) {
            Selection before = selection;
            // Before the new choice, which reads the slow starts.
            before.out.stream().filter(Instance::isIn).forEach(one -> one.startSlowly(health.now()));
            Selection now = selection();
            selection = now;
            for (Instance out : now.out) {
                if (!before.out.contains(out) && out.health().hasHangingCalls()) {
                    onOpened.accept(out);
                }
            }
            Selection again = selection();
            if (now.out.equals(again.out)) {
                return;
            }
        }
    }

    private Selection selection() {
        List<Instance> in = new ArrayList<>();
        List<Instance> backups = new ArrayList<>();
        List<Instance> out = new ArrayList<>();
        all.forEach(one -> (!one.health().isIn() ? out : one.isBackup() ? backups : in).add(one));
        InstanceTier reserve = backups.isEmpty() ? null : tier(backups, backupRing);
        return in.isEmpty() && reserve != null
                ? new Selection(reserve, null, List.copyOf(out))
                : new Selection(tier(in, ring), reserve, List.copyOf(out));
    }

    private InstanceTier tier(List<Instance> in, @Nullable HashRing<Instance> ringOfTier) {
        Choice<Instance> choice = new Choice<>(in, slowStartNanos, health.now(), random);
        return new InstanceTier(
                choice,
                balancing.policy() == LoadBalancingPolicy.ROUND_ROBIN ? new RoundRobin<>(choice, turns) : null,
                ringOfTier);
    }

    /** Whether there is one instance only, so that nothing is chosen. */
    public boolean isSingle() {
        return group == null;
    }

    /**
     * The instance for a call; null: none is in. A backup gets it if each primary that is in has failed the
     * exchange, or has no room in its ramp.
     *
     * @param tried the instances that have failed the exchange; null: none has
     * @param hash the hash of the call's {@link #hashKey}; {@link HashKey#NONE}: the call has none
     * @param calls the calls and streams of the backend under way, this one included
     */
    public @Nullable Instance choose(long now, @Nullable TriedInstances tried, long hash, int calls) {
        Selection seen = selection;
        Instance chosen = seen.tier.choose(now, tried, hash, calls);
        InstanceTier reserve = seen.reserve;
        if (reserve == null || chosen == null || !seen.tier.leavesCall(tried)) {
            return chosen;
        }
        Instance backup = reserve.choose(now, tried, hash, calls);
        return backup == null || (tried != null && tried.contains(backup.identity())) ? chosen : backup;
    }

    /**
     * The limit on the calls of all instances, where some state their capacity: those have what they state,
     * the others their shares of the learnt limit. What the instances that take calls have is scaled to all.
     *
     * @param learnt the learnt limit
     * @return 0 or more; {@link StatedCapacity#NONE}: no instance that takes calls states its capacity
     */
    public int statedLimit(int learnt, long now) {
        boolean isStated = false;
        double calls = 0;
        double share = 0;
        for (int i = 0; i < shares.length; i++) {
            Instance one = all.get(i);
            if (!one.isIn() || isInReserve(one)) {
                continue;
            }
            double learntPart = shares[i] * learnt;
            double stated = one.capacity().part(learntPart, now);
            isStated |= stated != StatedCapacity.NONE;
            calls += stated == StatedCapacity.NONE ? learntPart : stated;
            share += shares[i];
        }
        return isStated ? (int) Math.min(Integer.MAX_VALUE, calls / share + ROUNDING) : StatedCapacity.NONE;
    }

    /** Whether an instance is a backup that gets no calls now, since a primary takes them. */
    public boolean isInReserve(Instance one) {
        if (!hasBackups || !one.isBackup()) {
            return false;
        }
        for (Instance other : all) {
            if (!other.isBackup() && other.isIn() && !other.health().caps().isRampFull()) {
                return true;
            }
        }
        return false;
    }

    /** The time until an instance that is in takes retries; 0: one does, or none is in. */
    public long pushbackNanos(long now) {
        Selection seen = selection;
        InstanceTier reserve = seen.reserve;
        long least = seen.tier.pushbackNanos(now);
        if (reserve != null) {
            least = Math.min(least, reserve.pushbackNanos(now));
        }
        return least == Long.MAX_VALUE ? 0 : least;
    }

    /** The part of a call's request that determines its instance; null: none does. */
    public @Nullable HashKey hashKey() {
        return hashKey;
    }

    /** Whether the gateway sets a cookie that keeps a caller with its instance. */
    public boolean hasSessionCookie() {
        return sessionCookie != null;
    }

    /**
     * The instance of a caller's session; null: there is none, it is out or has no room, or it is a backup
     * while a primary takes the calls.
     *
     * @param tried the instances that have failed the exchange; null: none has
     */
    public @Nullable Instance ofSession(HttpHeaders request, @Nullable TriedInstances tried) {
        int index = sessionCookie == null ? SessionCookie.NONE : sessionCookie.instance(request);
        if (index == SessionCookie.NONE) {
            return null;
        }
        Instance own = all.get(index);
        boolean takesCall = own.isIn() && !own.isFull() && !isInReserve(own);
        return takesCall && (tried == null || !tried.contains(own.identity())) ? own : null;
    }

    /**
     * Adds a cookie for the instance that has answered to the answer, unless the request has one.
     *
     * @param isSecure whether the caller uses https
     */
    public void bindSession(Instance used, HttpHeaders request, HttpHeaders answer, boolean isSecure) {
        int index = indexOf(used);
        if (sessionCookie != null && index != SessionCookie.NONE && sessionCookie.instance(request) != index) {
            sessionCookie.add(answer, index, isSecure);
        }
    }

    private int indexOf(Instance one) {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).isSameAs(one)) {
                return i;
            }
        }
        return SessionCookie.NONE;
    }

    /** The division of the calls. */
    public LoadBalancingProperties balancing() {
        return balancing;
    }

    /**
     * Whether an instance is in that has not failed the exchange and has not asked to be left alone.
     *
     * @param last the last instance that has failed it
     * @param earlier the other ones; null: none
     */
    public boolean hasAnother(Instance last, @Nullable TriedInstances earlier, long now) {
        if (group == null) {
            Instance only = first();
            return !only.isSameAs(last) && (earlier == null || !earlier.contains(only.identity()));
        }
        Selection seen = selection;
        InstanceTier reserve = seen.reserve;
        return seen.tier.hasAnother(last, earlier, now) || (reserve != null && reserve.hasAnother(last, earlier, now));
    }

    /**
     * The instance at an address; null: there is none.
     *
     * @param address scheme and authority, or the authority only
     */
    public @Nullable Instance find(String address) {
        for (Instance one : all) {
            if (address.equals(one.shownAddress()) || address.equals(one.shownAuthority())) {
                return one;
            }
        }
        return null;
    }

    /**
     * Whether an operator may drain an instance: not the last one that takes calls, nor the last one that is
     * not drained. To stop all calls, an operator forces the breaker of the backend open.
     */
    public boolean mayDrain(Instance one) {
        boolean isIn = one.health().isIn();
        for (Instance other : all) {
            if (other != one && (isIn ? other.health().isIn() : !other.health().isDrained())) {
                return true;
            }
        }
        return false;
    }

    /** The first instance that no operator has drained. */
    public Instance firstUndrained() {
        for (Instance one : all) {
            if (!one.health().isDrained()) {
                return one;
            }
        }
        return all.getFirst();
    }

    /** Whether an instance that takes calls recovers, or starts slowly. */
    public boolean isRecovering(long now) {
        for (Instance one : all) {
            if (one.health().state() == State.HALF_OPEN
                    || (one.isIn() && one.slowStartLeftNanos(now, slowStartNanos) > 0)) {
                return true;
            }
        }
        return false;
    }

    /** The instances that get no calls but probes; those that an operator has drained get none. */
    public List<Instance> out() {
        return selection.out;
    }

    /** All instances, at least one; the primaries come first. */
    public List<Instance> all() {
        return all;
    }

    /** The first instance, which is the only one of most backends. */
    public Instance first() {
        return all.getFirst();
    }

    /** The health of the backend. */
    public Health health() {
        return health;
    }
}
