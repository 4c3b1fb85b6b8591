package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The admission of an exchange to a backend: a look at the breaker, the route's own limit, then the backend's
 * bulkhead, with a wait in its queue if necessary. It holds the permits until {@link #release}.
 *
 * <p>The admission is its own place in the queue. Confined to the exchange's event loop, except {@link
 * #granted()}.
 */
final class Admission extends QueueingBulkhead.Waiter implements ExchangePhase, Runnable {

    private final Exchange exchange;
    private final Backend backend;
    /** The compartment of the permit. */
    private QueueingBulkhead bulkhead;

    private boolean wouldRefuseCounted;
    private boolean isQueued;
    private boolean holdsPermit;
    private boolean holdsRoutePermit;
    private boolean isPermitUsed;
    private @Nullable BulkheadDryRun dryRun;
    private long queuedAt;
    private long firstAttemptAt;
    private long callerNanos;

    Admission(Exchange exchange, Backend backend) {
        this.exchange = exchange;
        this.backend = backend;
        this.bulkhead = exchange.isStream() ? backend.streams() : backend.bulkhead();
    }

    /** Requests the permits. Called once. */
    Decision request(long now) {
        if (!backend.breaker().permits(now) && isRefusedByBreaker()) {
            return Refuse.CIRCUIT_OPEN;
        }
        if (!tryAcquireRoutePermit()) {
            return Refuse.ROUTE_FULL;
        }
        if (acquireDryRun() || bulkhead.tryAcquire()) {
            holdsPermit = true;
            return admit(now);
        }
        // A waiting exchange does not hold the route's permit: the route's fallback backend would be idle
        // meanwhile.
        releaseRoutePermit();
        return enterQueue(now);
    }

    private Decision enterQueue(long now) {
        if (backend.settings().maxWaitNanos() <= 0 && !exchange.isStream()) {
            return Refuse.BULKHEAD_FULL;
        }
        if (spareNanos(now) <= 0) {
            return Refuse.TOO_LITTLE_TIME;
        }
        isQueued = true;
        queuedAt = now;
        return switch (bulkhead.enter(this)) {
            case GRANTED -> permitGranted();
            case FULL -> {
                isQueued = false;
                yield Refuse.BULKHEAD_FULL;
            }
            case QUEUED -> Step.QUEUE;
        };
    }

    /** Whether a refusal of the breaker is enforced. A refusal that is not enforced is counted, once. */
    boolean isRefusedByBreaker() {
        if (backend.settings().enforcement().circuitBreaker()) {
            return true;
        }
        if (!wouldRefuseCounted) {
            wouldRefuseCounted = true;
            backend.observer().wouldRefuse(Reason.CIRCUIT_OPEN);
        }
        return false;
    }

    /** Acquires a permit in any case if the bulkhead is not enforced. */
    private boolean acquireDryRun() {
        QueueingBulkhead counting = backend.dryRunBulkhead();
        if (counting == null) {
            return false;
        }
        if (!exchange.isStream()) {
            dryRun = BulkheadDryRun.begin(counting, backend, exchange.loop());
        } else if (bulkhead.tryAcquire()) {
            return true;
        } else {
            backend.observer().wouldRefuse(Reason.BULKHEAD_FULL);
        }
        return bulkhead.acquireAnyway();
    }

    @Override
    protected void granted() {
        // Always a separate task, even on this event loop: the exchange that released the permit is still
        // ending.
        try {
            exchange.loop().execute(this);
        } catch (RejectedExecutionException e) {
            // The gateway and its event loops have stopped: the permit goes to the next waiter.
            bulkhead.release();
        }
    }

    /** The granted permit has reached the exchange's event loop. */
    @Override
    public void run() {
        if (isQueued) {
            exchange.apply(permitGranted());
        } else {
            // The admission ended while the permit was on its way.
            bulkhead.release();
        }
    }

    private Decision permitGranted() {
        long now = exchange.now();
        holdsPermit = true;
        endWait(now, true);
        return tryAcquireRoutePermit() ? admit(now) : Refuse.ROUTE_FULL;
    }

    private Decision admit(long now) {
        long left = exchange.timer().leftNanos(now);
        if (left <= 0) {
            return Refuse.DEADLINE_EXCEEDED;
        }
        long queueNanos = exchange.record().queueNanos();
        backend.observer().dispatched(queueNanos, left);
        backend.serviceTime().recordWait(queueNanos);
        backend.retryBudget().deposit();
        return Step.ADMIT;
    }

    /** An attempt is about to use the permit. */
    void attemptStarts(long now) {
        if (!isPermitUsed) {
            isPermitUsed = true;
            firstAttemptAt = now;
        }
    }

    @Override
    public long backendNanos(long now) {
        return isPermitUsed && holdsPermit ? now - firstAttemptAt - callerNanos : 0;
    }

    /** Excludes time of an attempt, for which its caller was waited for, from the backend's time. */
    void exclude(long nanos) {
        callerNanos += nanos;
    }

    /** Whether the permit is one of the backend's bulkhead, and so may be exchanged for a stream's. */
    boolean isMovable() {
        return holdsPermit && bulkhead != backend.streams();
    }

    /**
     * Takes a permit of the streams' compartment, and gives back the bulkhead's and the route's. Without room
     * in that compartment, nothing changes.
     */
    void moveToStreams() {
        QueueingBulkhead streams = backend.streams();
        if (isMovable() && streams.tryAcquire()) {
            endDryRun();
            releaseRoutePermit();
            bulkhead.release();
            bulkhead = streams;
            backend.observer().movedToStreams();
        }
    }

    @Override
    public long dueNanos(long now) {
        return isQueued ? Math.min(waitLeftNanos(now), spareNanos(now)) : NEVER;
    }

    @Override
    public Decision check(long now) {
        if (!isQueued) {
            return Step.WAIT;
        }
        if (spareNanos(now) <= 0) {
            return leaveQueue(Refuse.TOO_LITTLE_TIME);
        }
        return waitLeftNanos(now) <= 0 ? leaveQueue(Refuse.QUEUE_TIMEOUT) : Step.WAIT;
    }

    private Decision leaveQueue(Refuse refuse) {
        // If the waiter cannot leave, its permit is already on its way and will be used.
        return leave() ? refuse : Step.WAIT;
    }

    private long waitLeftNanos(long now) {
        return queuedAt + backend.settings().maxWaitNanos() - now;
    }

    /**
     * Time left beyond the usual time of the route's own calls. A permit for a waiter with less time would be
     * wasted. At most half the route's deadline: otherwise a backend that has become slow for a while would
     * get no calls any more, and so nobody would notice that it is fast again.
     */
    private long spareNanos(long now) {
        Route route = exchange.record().route();
        // The usual time is that of the route's own backend, not of the fallback's.
        long usualNanos = exchange.record().fellBack()
                ? backend.serviceTime().uncongestedNanos()
                : route.usualTime().nanos(now);
        return exchange.timer().leftNanos(now) - Math.min(usualNanos, route.deadlineNanos() / 2);
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        if (isQueued) {
            // A wait without a permit counts too. If a permit is on its way, run() gives it back.
            endWait(now, false);
            leave();
        }
        releaseRoutePermit();
        endDryRun();
        if (holdsPermit) {
            if (isPermitUsed) {
                recordUse(Math.max(0, backendNanos(now)));
            }
            holdsPermit = false;
            bulkhead.release();
        }
    }

    private void endDryRun() {
        BulkheadDryRun counted = dryRun;
        if (counted != null) {
            dryRun = null;
            counted.end();
        }
    }

    private void recordUse(long nanos) {
        exchange.record().backendNanos += nanos;
        if (!exchange.isStream()) {
            backend.observer().served(nanos);
            backend.serviceTime().recordServed(nanos);
        }
    }

    private void endWait(long now, boolean permitted) {
        isQueued = false;
        ExchangeRecord record = exchange.record();
        record.queueNanos += now - queuedAt;
        ExchangeTrace trace = record.trace();
        if (trace != null) {
            trace.waited(queuedAt, now, permitted);
        }
    }

    private boolean tryAcquireRoutePermit() {
        QueueingBulkhead limit = exchange.record().route().limit();
        if (limit == null || exchange.record().fellBack()) {
            // A fallback has its own limit.
            return true;
        }
        holdsRoutePermit = limit.tryAcquire();
        return holdsRoutePermit;
    }

    private void releaseRoutePermit() {
        QueueingBulkhead limit = exchange.record().route().limit();
        if (holdsRoutePermit && limit != null) {
            holdsRoutePermit = false;
            limit.release();
        }
    }
}
