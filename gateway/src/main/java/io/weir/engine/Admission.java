package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.health.RouteHealth;
import io.weir.instance.Instance;
import io.weir.limit.PauseAllowance;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Waiter;
import io.weir.outcome.Reason;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The admission of an exchange to a backend: the {@link InstanceEntry} checks the breakers, the {@link
 * Permits} are acquired, and the exchange waits in the bulkhead's queue if necessary. The admission holds the
 * permits until {@link #release}.
 *
 * <p>Only the bulkhead has a queue. A waiting exchange holds no other permit, since another exchange can use
 * that permit at once. When the bulkhead's permit arrives, the exchange acquires the other permits again.
 *
 * <p>Concurrency: the admission itself is the waiter in the queue. It is confined to the exchange's event
 * loop, except {@link #granted()} and {@link #evicted()}, which any thread may call: they hop to that event
 * loop. Until then the permit is on its way. If the wait has ended in the meantime, {@link #run} gives the
 * permit back; {@link #release} does not, since it cannot leave the queue any more.
 */
final class Admission extends Waiter implements ExchangePhase, Runnable {

    /**
     * Each permit in vain shows that an instance has opened meanwhile, so more of them in a row are a defect.
     */
    private static final int MAX_ROUNDS_WITHOUT_ROOM = 8;

    private enum Wait {
        /** Not begun, or over. */
        NONE,
        QUEUED,
        /** The time to wait is over, but the permit is already on its way. */
        PERMIT_COMING
    }

    private final ExchangeContext exchange;
    private final Backend backend;
    /** The result of the attempt that is retried; null: this admission is the first one. */
    private final @Nullable RetriedResult retried;

    private final QueueRank rank;
    private final InstanceEntry entry;
    private final Permits permits;
    private Wait wait = Wait.NONE;
    private long queuedAt;
    /** The limit knows that this call has waited for long. */
    private boolean isLongWaitReported;
    /** Permits in a row with which the exchange found no room in any instance. */
    private int roundsWithoutRoom;

    Admission(ExchangeContext exchange, Backend backend, @Nullable RetriedResult retried) {
        this.exchange = exchange;
        this.backend = backend;
        this.retried = retried;
        ExchangeRecord record = exchange.record();
        RouteHealth route = record.routeHealth();
        // The calls of other routes go first: those of a slow route would hold all permits.
        boolean isLower = retried != null || record.fellBack() || (route != null && route.isSlow());
        this.rank = new QueueRank(record, backend, isLower ? record.priority().lower() : record.priority());
        this.entry = new InstanceEntry(exchange, backend, retried != null);
        this.permits = new Permits(exchange, backend, entry, rank);
    }

    @Override
    protected Priority priority() {
        return rank.priority();
    }

    @Override
    protected boolean isGuaranteed() {
        return rank.isGuaranteed();
    }

    @Override
    protected @Nullable String tenant() {
        return rank.tenant();
    }

    /** The way past the breakers into an instance. */
    InstanceEntry entry() {
        return entry;
    }

    /** The permits of the exchange. */
    Permits permits() {
        return permits;
    }

    /** Requests the permits. Called once. */
    Decision request(long now) {
        Refuse refused = entry.pass(now);
        if (refused == null && !entry.isProbe()) {
            refused = permits.enterForCaller();
        }
        if (refused != null) {
            return refused;
        }
        Decision acquired = entry.isProbe() ? Step.ADMIT : permits.acquire(retried == null, now);
        if (acquired == Step.QUEUE) {
            return enterQueue(now);
        }
        return acquired == Step.ADMIT ? admit(0, now) : acquired;
    }

    private Decision admit(long queueNanos, long now) {
        long left = exchange.timer().leftNanos(now);
        if (left <= 0) {
            return Refuse.DEADLINE_EXCEEDED;
        }
        backend.observer().dispatched(rank.priority(), queueNanos, left);
        if (retried == null) {
            backend.retryBudget().deposit();
        }
        return Step.ADMIT;
    }

    /**
     * Enters another instance for a hedge, whose permits are held. Called in place of {@link #enterBackend}.
     *
     * @param first the instance of the first attempt
     * @return the evidence of the attempt; null: no other instance takes it
     */
    @Nullable
    HealthEvidence enterBeside(Instance first, long now) {
        HealthEvidence evidence = entry.enterBeside(first, permits.holdsCallPermit(), now);
        if (evidence != null) {
            backend.observer().dispatched(rank.priority(), 0, exchange.timer().leftNanos(now));
            backend.observer().attempted(false);
            permits.attemptStarts(now);
        }
        return evidence;
    }

    /**
     * Enters the backend for an attempt, which starts to use the permits.
     *
     * @return the evidence of the attempt; null: the breaker refuses it, or there is no room
     */
    @Nullable
    HealthEvidence enterBackend(long now) {
        HealthEvidence evidence = entry.enter(permits.holdsCallPermit(), now);
        if (evidence != null) {
            backend.observer().attempted(retried == null);
            permits.attemptStarts(now);
        }
        return evidence;
    }

    /**
     * Gives all permits back, and puts the limit in force that follows from the instances which are in now.
     *
     * @return the admission that requests another permit; null: too many permits were in vain
     */
    @Nullable
    Admission withoutRoom(long now) {
        backend.health().role().refresh();
        release(null, now);
        if (roundsWithoutRoom == MAX_ROUNDS_WITHOUT_ROOM) {
            return null;
        }
        Admission next = new Admission(exchange, backend, retried);
        next.roundsWithoutRoom = roundsWithoutRoom + 1;
        return next;
    }

    // ---------------------------------------------------------------- the queue

    /** Whether all permits are in use, and all places in the queue. */
    boolean isBulkheadFull() {
        long now = exchange.now();
        QueueingBulkhead bulkhead = backend.bulkhead();
        return bulkhead.isFull()
                && bulkhead.queued() >= bulkhead.queueCapacity() + placesAfterPause(now)
                && !LeftBehind.isScoutDue(backend, exchange.record(), now);
    }

    /** Places beyond the capacity of the queue, if there is one, for what came while the gateway paused. */
    private int placesAfterPause(long now) {
        long paused = exchange.pauses().recentNanos(now);
        QueueingBulkhead bulkhead = backend.bulkhead();
        return paused <= 0 || bulkhead.queueCapacity() == 0
                ? 0
                : PauseAllowance.places(
                        paused, bulkhead.maxConcurrentCalls(), exchange.record().usualNanos(now));
    }

    private Decision enterQueue(long now) {
        if (backend.settings().maxWaitNanos() <= 0) {
            backend.limit().waited(now, now);
            return Refuse.BULKHEAD_FULL;
        }
        if (spareNanos(now) <= 0) {
            return Refuse.TOO_LITTLE_TIME;
        }
        rank.determine();
        wait = Wait.QUEUED;
        queuedAt = now;
        return switch (backend.bulkhead().enter(this, placesAfterPause(now))) {
            case GRANTED -> permitGranted();
            case FULL -> {
                wait = Wait.NONE;
                rank.countTenant(false);
                backend.limit().waited(now, now);
                yield Refuse.BULKHEAD_FULL;
            }
            case QUEUED -> {
                // May admit this call: the permit then arrives as a task of its own.
                backend.limit().queued(now);
                yield Step.QUEUE;
            }
        };
    }

    @Override
    protected void granted() {
        // Always a separate task, even on this event loop: the exchange that released the permit is still
        // ending.
        try {
            exchange.loop().execute(this);
        } catch (RejectedExecutionException e) {
            // The event loop has stopped with the gateway: the permit goes to the next waiter.
            backend.bulkhead().release();
        }
    }

    @Override
    protected void evicted() {
        try {
            exchange.loop().execute(this);
        } catch (RejectedExecutionException e) {
            // The gateway and its event loops have stopped, and the exchange with them.
        }
    }

    /** The granted permit, or the loss of the place in the queue, has reached the exchange's event loop. */
    @Override
    public void run() {
        boolean isWaiting = wait != Wait.NONE;
        if (isEvicted()) {
            if (isWaiting) {
                backend.limit().waited(exchange.now(), queuedAt);
                exchange.apply(Refuse.QUEUE_EVICTED);
            }
        } else if (isWaiting) {
            exchange.apply(permitGranted());
        } else {
            // The admission ended while the permit was on its way.
            backend.bulkhead().release();
        }
    }

    private Decision permitGranted() {
        long now = exchange.now();
        endWait(now, true);
        long waitedNanos = now - queuedAt;
        Refuse full = permits.granted(waitedNanos, now);
        return full == null ? admit(waitedNanos, now) : full;
    }

    private void endWait(long now, boolean permitted) {
        wait = Wait.NONE;
        rank.countTenant(permitted);
        ExchangeRecord record = exchange.record();
        record.queueNanos += now - queuedAt;
        ExchangeTrace trace = record.trace();
        if (trace != null) {
            trace.waited(queuedAt, now, permitted);
        }
    }

    // ---------------------------------------------------------------- time

    @Override
    public long dueNanos(long now) {
        return wait == Wait.QUEUED
                ? Math.min(longWaitLeftNanos(now), Math.min(waitLeftNanos(now), spareNanos(now)))
                : NEVER;
    }

    @Override
    public Decision check(long now) {
        if (wait != Wait.QUEUED) {
            return Step.WAIT;
        }
        if (longWaitLeftNanos(now) <= 0) {
            isLongWaitReported = true;
            // May admit this call: the permit then arrives as a task of its own.
            backend.limit().waited(now, queuedAt);
        }
        if (spareNanos(now) <= 0) {
            return leaveQueue(Refuse.TOO_LITTLE_TIME, now);
        }
        return waitLeftNanos(now) <= 0 ? leaveQueue(Refuse.QUEUE_TIMEOUT, now) : Step.WAIT;
    }

    private Decision leaveQueue(Refuse refuse, long now) {
        if (refuse.reason() == Reason.QUEUE_TIMEOUT ? expire() : leave()) {
            backend.limit().waited(now, queuedAt);
            return isEvicted() ? Refuse.QUEUE_EVICTED : refuse;
        }
        // The permit will be used.
        wait = Wait.PERMIT_COMING;
        return Step.WAIT;
    }

    private long longWaitLeftNanos(long now) {
        long longWaitNanos = isLongWaitReported ? NEVER : backend.limit().longWaitNanos();
        return longWaitNanos == NEVER ? NEVER : queuedAt + longWaitNanos - now;
    }

    private long waitLeftNanos(long now) {
        return queuedAt + backend.settings().maxWaitNanos() - now;
    }

    /**
     * Time left beyond the usual time of the route's own calls. A permit for a waiter with less time would be
     * wasted. The usual time counts as at most half the route's deadline: otherwise a backend that was slow
     * for a while would get no calls, and its recovery would not be noticed.
     *
     * <p>After an opening, the time of the answer that ended it counts, too. Calls that waited while the ramp
     * was short would miss their deadlines otherwise, and open the breaker again. A time beyond the route's
     * deadline is that of another route.
     */
    private long spareNanos(long now) {
        ExchangeRecord record = exchange.record();
        // The route's usual time was measured at the route's own backend, not at the fallback's.
        long usualNanos = record.fellBack() ? backend.serviceTime().uncongestedNanos() : record.usualNanos(now);
        long deadlineNanos = record.route().deadlineNanos();
        long recoveryNanos = Math.max(backend.health().role().recoveryNanos(), record.routeRecoveryNanos());
        return exchange.timer().leftNanos(now)
                - Math.max(Math.min(usualNanos, deadlineNanos / 2), recoveryNanos < deadlineNanos ? recoveryNanos : 0);
    }

    // ---------------------------------------------------------------- the phase

    @Override
    public @Nullable RetriedResult retriedResult() {
        return retried;
    }

    @Override
    public long backendNanos(long now) {
        return permits.backendNanos(now);
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        if (wait != Wait.NONE) {
            // A wait that ends without a permit counts too. If a permit is on its way, run() gives it back.
            endWait(now, false);
            leave();
        }
        entry.leave();
        permits.release(now);
    }
}
