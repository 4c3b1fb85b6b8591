package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.weir.authorization.Authorization;
import io.weir.authorization.AuthorizationResult;
import io.weir.engine.Backend;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.Replacement;
import io.weir.engine.RouteObserver;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.RateLimiter;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Meters of one route: number, duration, outcome and bytes of its exchanges.
 *
 * <p>A timer is created when its outcome first occurs, so that outcomes that never occur have no series.
 * After that, an exchange costs a read from an array and the record itself, and allocates nothing.
 */
public final class ExchangeMeters implements RouteObserver, AutoCloseable {

    private final MeterScope scope;
    private final String route;
    private final String backend;
    private final String door;
    private final Counter bytes;
    // Concurrency: two threads that create the timer of an outcome get the same one; the order of their
    // writes does not matter.
    private final AtomicReferenceArray<@Nullable Timer> timers =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());

    /**
     * The meters of a route.
     *
     * @param scope owns the meters; if this constructor fails, its caller closes the scope
     * @param route the route's id
     * @param backend the name of the route's backend
     * @param door {@code compiled} or {@code general}
     * @param limit the route's own limit of concurrent calls; null: none
     */
    public ExchangeMeters(
            MeterScope scope, String route, String backend, String door, @Nullable QueueingBulkhead limit) {
        this.scope = scope;
        this.route = route;
        this.backend = backend;
        this.door = door;
        this.bytes = scope.counter(RouteMeter.RESPONSE_BYTES, backend, route);
        setOwnLimit(limit);
    }

    /** Shows another limit of the route's own; null: none. */
    public void setOwnLimit(@Nullable QueueingBulkhead limit) {
        if (limit == null) {
            scope.removeGauge(RouteMeter.ROUTE_PERMITS_USED, backend, route);
            scope.removeGauge(RouteMeter.ROUTE_PERMITS_LIMIT, backend, route);
        } else {
            scope.gauge(RouteMeter.ROUTE_PERMITS_USED, limit::inUse, backend, route);
            scope.gauge(RouteMeter.ROUTE_PERMITS_LIMIT, limit::maxConcurrentCalls, backend, route);
        }
    }

    /** Shows another limit on the calls of each caller; null: none. */
    public void setCallsPerKey(@Nullable CallsPerKey calls) {
        if (calls == null) {
            scope.removeGauge(RouteMeter.CALLER_LIMIT_KEYS, backend, route);
            scope.removeGauge(RouteMeter.CALLER_LIMIT_REFUSED, backend, route);
        } else {
            scope.gauge(RouteMeter.CALLER_LIMIT_KEYS, calls::keys, backend, route);
            scope.counter(RouteMeter.CALLER_LIMIT_REFUSED, () -> (double) calls.refused(), backend, route);
        }
    }

    /** Shows another rate limit of the route; null: none. */
    public void setRateLimiter(@Nullable RateLimiter limiter) {
        if (limiter == null) {
            scope.removeGauge(RouteMeter.RATE_LIMIT_KEYS, backend, route);
            scope.removeGauge(RouteMeter.RATE_LIMIT_KEYS_FORGOTTEN, backend, route);
        } else {
            scope.gauge(RouteMeter.RATE_LIMIT_KEYS, limiter::keys, backend, route);
            scope.counter(RouteMeter.RATE_LIMIT_KEYS_FORGOTTEN, () -> (double) limiter.forgottenKeys(), backend, route);
        }
    }

    /** Whether these meters have the tags of a route to this backend, through this door. */
    public boolean isFor(String otherBackend, String otherDoor) {
        return backend.equals(otherBackend) && door.equals(otherDoor);
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        int outcome = ExchangeOutcomes.index(exchange);
        count(outcome, exchange.totalNanos(), exchange.answerBytes());
        if (exchange.route().backend().observer() instanceof BackendMeters meters) {
            meters.totals().count(outcome, exchange.totalNanos());
        }
        Replacement replacement = exchange.replacement();
        if (replacement != null && replacement.isLastGood()) {
            countLastGood();
        }
        Authorization authorization = exchange.authorization();
        if (authorization != null) {
            countAuthorization(authorization.result());
        }
        Reason refusedBeforeFallback = exchange.fallbackReason();
        if (refusedBeforeFallback != null) {
            countShed(exchange.route().backend(), refusedBeforeFallback, exchange.priority());
        } else {
            countShed(exchange.backend(), exchange.reason(), exchange.priority());
        }
    }

    void countLastGood() {
        Counter answers = scope.counterIfOpen(RouteMeter.LAST_GOOD_ANSWERS, backend, route);
        if (answers != null) {
            answers.increment();
        }
    }

    void countAuthorization(AuthorizationResult result) {
        Counter results = scope.counterIfOpen(RouteMeter.AUTHORIZATIONS, backend, route, result.word());
        if (results != null) {
            results.increment();
        }
    }

    private static void countShed(Backend backend, @Nullable Reason reason, Priority priority) {
        if (reason != null && reason.isShedding() && backend.observer() instanceof BackendMeters meters) {
            meters.shed(reason, priority);
        }
    }

    void count(int outcome, long totalNanos, long answerBytes) {
        Timer timer = timer(outcome);
        if (timer != null) {
            timer.record(totalNanos, TimeUnit.NANOSECONDS);
        }
        if (answerBytes > 0) {
            bytes.increment((double) answerBytes);
        }
    }

    /** Removes the route's series. Exchanges that end later are not counted. */
    @Override
    public void close() {
        scope.close();
    }

    private @Nullable Timer timer(int outcome) {
        Timer timer = timers.get(outcome);
        if (timer == null) {
            timer = scope.timerIfOpen(
                    RouteMeter.REQUESTS,
                    backend,
                    route,
                    ExchangeOutcomes.words().get(outcome),
                    door);
            timers.set(outcome, timer);
        }
        return timer;
    }
}
