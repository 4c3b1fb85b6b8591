package io.weir.engine;

import io.weir.fallback.Fallback;
import io.weir.limit.QueueingBulkhead;
import io.weir.retry.RetryPolicy;
import org.jspecify.annotations.Nullable;

/**
 * One route to a backend: everything that the engine needs to know about it, on one immutable object.
 *
 * @param id Spring Cloud Gateway's id of it
 * @param backend where it leads
 * @param deadlineNanos time for an exchange, the backend's or the route's shorter one
 * @param mode what the deadline spans
 * @param limit the route's own, tighter cap, without a queue; null: none
 * @param retry when a request is tried again; null: never
 * @param fallback what a caller gets instead of a refusal; null: nothing
 * @param fallbackBackend the backend that the fallback asks; null: none
 * @param observer its meters and log
 * @param usage the exchanges that go by it
 */
public record Route(
        String id,
        Backend backend,
        long deadlineNanos,
        Mode mode,
        @Nullable QueueingBulkhead limit,
        @Nullable RetryPolicy retry,
        @Nullable Fallback fallback,
        @Nullable Backend fallbackBackend,
        RouteObserver observer,
        InFlightCounter usage) {}
