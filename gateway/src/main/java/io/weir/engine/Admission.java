package io.weir.engine;

import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * An exchange's way into a backend: past its breaker, which is only looked at, through the route's own limit and the backend's
 * bulkhead, if need be with a wait in line. What it took on the way it holds until {@link #end}.
 *
 * <p>It is its own place in the line. Confined to the exchange's event loop, but for {@link #granted()}.
 */
final class Admission extends QueueingBulkhead.Waiter implements Runnable {

    private static final long NEVER = Long.MAX_VALUE;
    private static final String ROUTE_FULL = "the route is at its limit";
    private static final String TOO_LATE = "too little time is left to wait for a permit";

    private final Exchange exchange;
    private final Backend backend;
    private final QueueingBulkhead bulkhead;

    private boolean wouldBeOpen;
    private boolean waits;
    private boolean holdsPermit;
    private boolean holdsRoutePermit;
    private boolean asked;
    private @Nullable BulkheadTrial trial;
    private long queuedAt;
    private long askedAt;

    Admission(Exchange exchange, Backend backend) {
        this.exchange = exchange;
        this.backend = backend;
        this.bulkhead = exchange.isStream() ? backend.streams() : backend.bulkhead();
    }

    /** Asks for a permit. */
    void begin(long now) {
        if (!backend.breaker().permits(now) && isRefusedByBreaker()) {
            exchange.refuse(Reason.CIRCUIT_OPEN, null);
        } else if (!takeRoutePermit()) {
            exchange.refuse(Reason.BULKHEAD_FULL, ROUTE_FULL);
        } else if (isCountedOnly() || bulkhead.tryAcquire()) {
            holdsPermit = true;
            admitted(now);
        } else {
            // The route's permit is not held while waiting for the backend's: it would keep the route's other backend
            // idle.
            releaseRoutePermit();
            lineUp(now);
        }
    }

    private void lineUp(long now) {
        if (backend.settings().maxWaitNanos() <= 0 && !exchange.isStream()) {
            exchange.refuse(Reason.BULKHEAD_FULL, null);
            return;
        }
        if (spareNanos(now) <= 0) {
            exchange.refuse(Reason.DEADLINE_EXCEEDED, TOO_LATE);
            return;
        }
        waits = true;
        queuedAt = now;
        switch (bulkhead.enter(this)) {
            case GRANTED -> run();
            case FULL -> {
                waits = false;
                exchange.refuse(Reason.BULKHEAD_FULL, null);
            }
            case QUEUED -> exchange.queued(now);
        }
    }

    /** Whether the breaker's no is one; if it is only tried out, it is counted, once. */
    boolean isRefusedByBreaker() {
        if (backend.settings().enforcement().circuitBreaker()) {
            return true;
        }
        if (!wouldBeOpen) {
            wouldBeOpen = true;
            backend.observer().wouldRefuse(Reason.CIRCUIT_OPEN);
        }
        return false;
    }

    /** Takes a permit in any case, if the bulkhead is only tried out. */
    private boolean isCountedOnly() {
        QueueingBulkhead tried = backend.dryRunBulkhead();
        if (tried == null) {
            return false;
        }
        if (!exchange.isStream()) {
            trial = BulkheadTrial.begin(tried, backend, exchange.loop());
        } else if (bulkhead.tryAcquire()) {
            return true;
        } else {
            backend.observer().wouldRefuse(Reason.BULKHEAD_FULL);
        }
        return bulkhead.acquireAnyway();
    }

    @Override
    protected void granted() {
        // Always later, even on this event loop: the one who releases is in the middle of its own end.
        try {
            exchange.loop().execute(this);
        } catch (RejectedExecutionException e) {
            // The gateway has stopped, and its event loops with it: the permit goes to the next one.
            bulkhead.release();
        }
    }

    /** The permit has come. */
    @Override
    public void run() {
        if (!waits) {
            bulkhead.release();
            return;
        }
        long now = exchange.now();
        holdsPermit = true;
        waitIsOver(now, true);
        if (takeRoutePermit()) {
            admitted(now);
        } else {
            exchange.refuse(Reason.BULKHEAD_FULL, ROUTE_FULL);
        }
    }

    private void admitted(long now) {
        long left = exchange.budget().leftNanos(now);
        if (left <= 0) {
            exchange.refuse(Reason.DEADLINE_EXCEEDED, null);
            return;
        }
        backend.observer().dispatched(exchange.queueNanos(), left);
        backend.serviceTime().recordWait(exchange.queueNanos());
        backend.retryBudget().deposit();
        exchange.dispatch(this, now);
    }

    /** The backend is about to be asked. */
    void asks(long now) {
        if (!asked) {
            asked = true;
            askedAt = now;
        }
    }

    /** Time since the backend was first asked, while the permit is held. */
    long askedNanos(long now) {
        return asked && holdsPermit ? now - askedAt : 0;
    }

    /** Time to the next thing that is due. */
    long dueNanos(long now) {
        return waits ? Math.min(queuedAt + backend.settings().maxWaitNanos() - now, spareNanos(now)) : NEVER;
    }

    /** Something may be due. */
    void check(long now) {
        if (spareNanos(now) <= 0) {
            leaveLine(Reason.DEADLINE_EXCEEDED, TOO_LATE);
        } else if (queuedAt + backend.settings().maxWaitNanos() - now <= 0) {
            leaveLine(Reason.QUEUE_TIMEOUT, null);
        }
    }

    /** What a waiter has left beyond what the backend needs: with less its permit would be wasted. */
    private long spareNanos(long now) {
        return exchange.budget().leftNanos(now) - backend.serviceTime().uncongestedNanos();
    }

    private void leaveLine(Reason why, @Nullable String what) {
        if (waits && leave()) {
            exchange.refuse(why, what);
        }
        // Else the permit is on its way here: then it is used.
    }

    /** Gives back everything that it holds. */
    void end(long now) {
        if (waits) {
            // A wait that brought no permit counts too. If one is on its way here, its arrival finds nobody waiting and
            // gives it back.
            waitIsOver(now, false);
            leave();
        }
        releaseRoutePermit();
        BulkheadTrial tried = trial;
        if (tried != null) {
            trial = null;
            tried.end();
        }
        if (holdsPermit) {
            if (asked) {
                exchange.backendNanos += now - askedAt;
                if (!exchange.isStream()) {
                    backend.observer().served(now - askedAt);
                    backend.serviceTime().recordServed(now - askedAt);
                }
            }
            holdsPermit = false;
            bulkhead.release();
        }
    }

    private void waitIsOver(long now, boolean permitted) {
        waits = false;
        exchange.queueNanos += now - queuedAt;
        ExchangeTrace trace = exchange.trace();
        if (trace != null) {
            trace.waited(queuedAt, now, permitted);
        }
    }

    private boolean takeRoutePermit() {
        QueueingBulkhead limit = exchange.route().limit();
        if (limit == null || exchange.fellBack()) {
            // A fallback has a limit of its own.
            return true;
        }
        holdsRoutePermit = limit.tryAcquire();
        return holdsRoutePermit;
    }

    private void releaseRoutePermit() {
        QueueingBulkhead limit = exchange.route().limit();
        if (holdsRoutePermit && limit != null) {
            holdsRoutePermit = false;
            limit.release();
        }
    }
}
