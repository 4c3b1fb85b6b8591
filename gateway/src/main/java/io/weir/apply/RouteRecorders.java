package io.weir.apply;

import io.weir.accesslog.AccessLog;
import io.weir.door.Routes;
import io.weir.engine.Backend;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.limit.QueueingBulkhead;
import io.weir.metrics.ExchangeMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.MeterScope;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.RateLimiter;
import io.weir.tracing.Tracing;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Creates the observers of routes. A route that keeps its id, backend and door keeps its observer, so that
 * its time series continue.
 *
 * @param meterBook the meters of all routes
 * @param accessLog null: the access log is disabled
 * @param tracing null: tracing is disabled
 */
public record RouteRecorders(
        MeterBook meterBook,
        @Nullable AccessLog accessLog,
        @Nullable Tracing tracing) {

    /**
     * Returns the observer for a route: that of its predecessor, unchanged, or a new one.
     *
     * @param door the door that serves the route
     * @param limit the route's own limit on concurrent calls; null: none
     * @param callsPerKey the route's limit on the calls of each caller; null: none
     * @param rateLimiter the route's rate limit; null: none
     * @param before the observer of the route with this id in the configuration in force; null: there is none
     */
    RouteObserver observer(
            String routeId,
            Backend backend,
            String door,
            @Nullable QueueingBulkhead limit,
            @Nullable CallsPerKey callsPerKey,
            @Nullable RateLimiter rateLimiter,
            @Nullable RouteObserver before) {
        if (before instanceof RouteRecorder recorder && recorder.meters().isFor(backend.name(), door)) {
            return recorder;
        }
        MeterScope scope = meterBook.open();
        try {
            ExchangeMeters meters = new ExchangeMeters(scope, routeId, backend.name(), door, limit);
            meters.setCallsPerKey(callsPerKey);
            meters.setRateLimiter(rateLimiter);
            return new RouteRecorder(meters, accessLog, tracing);
        } catch (RuntimeException e) {
            scope.close();
            throw e;
        }
    }

    /** Makes the meters of an observer show new limits; null: none. */
    static void followLimits(
            RouteObserver observer,
            @Nullable QueueingBulkhead limit,
            @Nullable CallsPerKey callsPerKey,
            @Nullable RateLimiter rateLimiter) {
        if (observer instanceof RouteRecorder recorder) {
            recorder.meters().setOwnLimit(limit);
            recorder.meters().setCallsPerKey(callsPerKey);
            recorder.meters().setRateLimiter(rateLimiter);
        }
    }

    /** Closes an observer that no exchange uses. */
    static void close(RouteObserver observer) {
        if (observer instanceof RouteRecorder recorder) {
            recorder.meters().close();
        }
    }

    /** The observers of replaced routes that the next routes do not share. */
    static List<RetiredResource> unusedAfter(Routes before, Routes next) {
        Set<RouteObserver> shared = Collections.newSetFromMap(new IdentityHashMap<>());
        next.byId().values().forEach(route -> shared.add(route.observer()));
        List<RetiredResource> unused = new ArrayList<>();
        for (Route route : before.byId().values()) {
            if (!shared.contains(route.observer()) && route.observer() instanceof RouteRecorder recorder) {
                unused.add(new RetiredResource(recorder, recorder.meters()::close));
            }
        }
        return unused;
    }
}
