package io.weir.overload;

import io.weir.limit.Priority;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether the gateway itself is overloaded: by the standing delay of the request's event loop, the
 * exchanges in flight, and the memory in use. Each decision depends on the request's class.
 *
 * <p>Thread-safe. While no event loop sheds, a request costs one read at its head, and afterwards some
 * reads and the atomic operations of {@link InFlightPot}. {@link OverloadSampler} takes the samples.
 */
@SuppressWarnings("EnumOrdinal") // The index of a class in arrays that are built here.
public final class OverloadGuard {

    /** The part of a bound from which on a class is refused. */
    private static final double SHEDDABLE_PART = 0.8;

    private static final double NORMAL_PART = 0.95;

    private final OverloadProperties properties;
    private final InFlightPot pot;
    private final double[] maxMemory = new double[Priority.values().length];
    private final LongAdder[] refused = new LongAdder[ShedCause.values().length * Priority.values().length];
    private final AtomicInteger sheddingLoops = new AtomicInteger();
    private volatile Map<Executor, LoopDelay> loops = Map.of();
    private volatile @Nullable Priority onlyPriority = Priority.NORMAL;
    private volatile long loopDelayNanos;
    private volatile double share;
    private volatile int memoryPercent;

    /** A guard without samples yet: not overloaded. */
    public OverloadGuard(OverloadProperties properties) {
        this.properties = properties;
        this.pot = new InFlightPot(properties.maxInFlight());
        for (Priority priority : Priority.values()) {
            maxMemory[priority.ordinal()] = part(priority) * properties.maxMemory();
        }
        for (int i = 0; i < refused.length; i++) {
            refused[i] = new LongAdder();
        }
    }

    /** The part of a bound that a class may use. */
    static double part(Priority priority) {
        return switch (priority) {
            case CRITICAL -> 1;
            case NORMAL -> NORMAL_PART;
            case SHEDDABLE -> SHEDDABLE_PART;
        };
    }

    /** Uses these delays from now on, by event loop. */
    void watch(Map<Executor, LoopDelay> delays) {
        loops = Map.copyOf(delays);
    }

    /** The number of event loops that shed; each loop's delay maintains it. */
    AtomicInteger sheddingLoops() {
        return sheddingLoops;
    }

    LoadShedder newShedder(long seed) {
        return new LoadShedder(
                properties.targetEventLoopDelay().toNanos(),
                Math.max(properties.targetEventLoopDelay().toNanos(), LoadShedder.PATIENT_TARGET * maxLoopDelayNanos()),
                properties.interval().toNanos(),
                seed);
    }

    /**
     * Sets the class of all routes, so that {@link #refusesHead} can decide before the route is known.
     *
     * @param priority null: routes have different classes
     */
    public void setOnlyPriority(@Nullable Priority priority) {
        onlyPriority = priority;
    }

    /**
     * Whether a request is refused at its decoded head, before its route is known. Call it once for each
     * request, on its event loop.
     *
     * @param loop the event loop of the caller's connection; the delay of other loops does not matter
     * @param requested the class that the request's head asks for; null: that of its route
     */
    public boolean refusesHead(Executor loop, @Nullable Priority requested) {
        LoopDelay delay = loops.get(loop);
        if (delay == null) {
            return false;
        }
        delay.arrived();
        if (sheddingLoops.get() == 0) {
            return false;
        }
        Priority known = requested == null ? onlyPriority : requested;
        if (known == null) {
            // The class is not known yet. Beyond the hard limit it does not matter.
            return delay.refusesAll() && count(ShedCause.DELAY, Priority.NORMAL);
        }
        return delay.refuses(known) && count(ShedCause.DELAY, known);
    }

    /**
     * Whether a request whose class is known now is refused because of its event loop's delay: only if
     * {@link #refusesHead} could not decide. Call it once for each request, on its event loop.
     *
     * @param requested the class that the request's head asks for; null: that of its route
     * @param ofRoute the class of the route
     */
    public boolean refusesRequest(Executor loop, @Nullable Priority requested, Priority ofRoute) {
        if (sheddingLoops.get() == 0 || requested != null || onlyPriority != null) {
            return false;
        }
        LoopDelay delay = loops.get(loop);
        return delay != null && delay.refuses(ofRoute) && count(ShedCause.DELAY, ofRoute);
    }

    /**
     * Takes a place for an exchange, unless too many are in flight or too much memory is in use;
     * {@link #giveBackPlace} must follow.
     *
     * @param share the exchanges of its backend
     * @return whether the exchange has a place; else it is refused, and counted as refused
     */
    public boolean takePlace(InFlightShare share, Priority priority) {
        if (memoryPercent > maxMemory[priority.ordinal()]) {
            count(ShedCause.MEMORY, priority);
            return false;
        }
        if (!pot.take(share, priority)) {
            count(ShedCause.IN_FLIGHT, priority);
            return false;
        }
        return true;
    }

    /** Gives back the place of an exchange that has ended. */
    public void giveBackPlace(InFlightShare share) {
        pot.giveBack(share);
    }

    /** Divides the places for exchanges in flight among the backends, as the configuration demands. */
    public void divide(List<InFlightShare.Claim> claims) {
        pot.divide(claims);
    }

    private boolean count(ShedCause cause, Priority priority) {
        refused[index(cause, priority)].increment();
        return true;
    }

    private static int index(ShedCause cause, Priority priority) {
        return cause.ordinal() * Priority.values().length + priority.ordinal();
    }

    /** The requests of a class that were refused for this cause, since the start. */
    public long refused(ShedCause cause, Priority priority) {
        return refused[index(cause, priority)].sum();
    }

    /**
     * Whether an event loop may begin a costly task, such as a TLS handshake, in its current iteration; if
     * not, the task runs in a later one. On the loop.
     */
    public boolean takeTurn(Executor loop, Runnable task) {
        LoopDelay delay = loops.get(loop);
        return delay == null || delay.takeTurn(task);
    }

    /** A task of {@link #takeTurn} no longer waits. On the loop. */
    public void leaveTurns(Executor loop, Runnable task) {
        LoopDelay delay = loops.get(loop);
        if (delay != null) {
            delay.leaveTurns(task);
        }
    }

    /** Whether at least one event loop sheds at this moment. */
    public boolean isAnyLoopShedding() {
        return sheddingLoops.get() > 0;
    }

    /** The pauses of an event loop; {@link LoopPauses#NONE}: the loop is not measured. */
    public LoopPauses pausesOf(Executor loop) {
        LoopDelay delay = loops.get(loop);
        return delay == null ? LoopPauses.NONE : delay;
    }

    /**
     * Whether requests of the class {@code normal} are refused at least on one event loop, for observers; up
     * to one sample old.
     */
    public boolean isOverloaded() {
        return share > 0 || memoryPercent > maxMemory[Priority.NORMAL.ordinal()];
    }

    /**
     * Takes a sample.
     *
     * @param delayNanos the highest standing delay of an event loop
     * @param refusedShare the highest share of requests that an event loop refuses; 0 to 1
     * @param percent the share in use of heap or direct memory, the larger one
     */
    public void observe(long delayNanos, double refusedShare, int percent) {
        loopDelayNanos = delayNanos;
        share = refusedShare;
        memoryPercent = percent;
    }

    /** The standing delay of the slowest event loop; 0: no loop has one. */
    public long loopDelayNanos() {
        return loopDelayNanos;
    }

    /** The highest share of requests that an event loop refuses because of its delay; 0 to 1. */
    public double share() {
        return share;
    }

    /** The hard limit on the standing delay of an event loop. */
    long maxLoopDelayNanos() {
        return properties.maxEventLoopDelay().toNanos();
    }

    /** The share in use of heap or direct memory, the larger one, in percent. */
    public int memoryPercent() {
        return memoryPercent;
    }

    /** The limit on exchanges in flight. */
    public int maxInFlight() {
        return pot.places();
    }

    /** The exchanges in flight beyond the guaranteed shares of their backends. */
    public int sharedInFlight() {
        return pot.borrowed();
    }

    /** The limit on {@link #sharedInFlight}: the places that no backend is guaranteed. */
    public int maxSharedInFlight() {
        return pot.shared();
    }
}
