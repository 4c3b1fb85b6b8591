package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.weir.accesslog.AccessLog;
import io.weir.door.FrontDoor;
import io.weir.drain.Drain;
import io.weir.edge.Handshake;
import io.weir.engine.Engine;
import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadSampler;
import io.weir.overload.ShedCause;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** Meters of the gateway as a whole, and of requests without an exchange. */
public final class EdgeMeters implements AutoCloseable {

    /** The value of a tag that does not apply. */
    static final String NONE = "none";

    /** The values of the tag door, by the index of a route's timers. */
    private static final List<String> DOORS = List.of(FrontDoor.COMPILED, FrontDoor.GENERAL, NONE);

    private static final double PERCENT = 100;
    private static final double NANOS_PER_SECOND = 1e9;

    /** The callers' connections. */
    public interface Connections {

        /** Connections that are open now. */
        int open();

        /** Limit of open connections. */
        int limit();

        /** Connections closed at once because of the limit, since the start. */
        long rejected();
    }

    /** The limits of each client address. */
    public interface Clients {

        /** Addresses that have a connection or a request under way. */
        int clients();

        /** Limit of connections of one address. */
        int connectionLimit();

        /** Connections closed at once because of the limit, since the start. */
        long rejectedConnections();

        /** Limit of requests under way of one address. */
        int requestLimit();

        /** Requests refused because of the limit, since the start. */
        long refusedRequests();
    }

    private final MeterBook book;
    private final MeterScope scope;
    private final Counter flooded;
    private final Map<Handshake, Counter> handshakes = new EnumMap<>(Handshake.class);
    private final Counter prioritiesIgnored;
    // Concurrency: two threads that create the timer of a reason get the same one; the order of their writes
    // does not matter.
    private final AtomicReferenceArray<@Nullable Timer> refused =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());
    /** Timers of requests without an exchange, by the route's id; at most one entry for each route. */
    private final ConcurrentHashMap<String, RouteTimers> answered = new ConcurrentHashMap<>();

    /** The ids of the present routes; null: all routes since the start. Guarded by this. */
    private @Nullable Set<String> routes;

    /**
     * The meters of the gateway as a whole.
     *
     * @param log the access log; null: none
     */
    public EdgeMeters(
            MeterBook book,
            Engine engine,
            OverloadGuard guard,
            OverloadSampler sampler,
            Drain drain,
            Connections connections,
            Clients clients,
            @Nullable AccessLog log) {
        this.book = book;
        this.scope = book.open();
        scope.gauge(GatewayMeter.CONNECTIONS_OPEN, connections::open);
        scope.gauge(GatewayMeter.CONNECTIONS_LIMIT, connections::limit);
        scope.counter(GatewayMeter.CONNECTIONS_REJECTED, connections::rejected);
        scope.gauge(GatewayMeter.CLIENTS, clients::clients);
        scope.gauge(GatewayMeter.CLIENT_CONNECTIONS_LIMIT, clients::connectionLimit);
        scope.counter(GatewayMeter.CLIENT_CONNECTIONS_REJECTED, clients::rejectedConnections);
        scope.gauge(GatewayMeter.CLIENT_REQUESTS_LIMIT, clients::requestLimit);
        scope.counter(GatewayMeter.CLIENT_REQUESTS_REFUSED, clients::refusedRequests);
        this.flooded = scope.counter(GatewayMeter.CONNECTIONS_FLOODED);
        for (Handshake handshake : Handshake.values()) {
            handshakes.put(handshake, scope.counter(GatewayMeter.HANDSHAKES, handshake.word()));
        }
        this.prioritiesIgnored = scope.counter(GatewayMeter.PRIORITY_IGNORED);
        scope.gauge(GatewayMeter.IN_FLIGHT, engine::inFlight);
        scope.gauge(GatewayMeter.IN_FLIGHT_LIMIT, guard::maxInFlight);
        scope.gauge(GatewayMeter.IN_FLIGHT_SHARED, guard::sharedInFlight);
        scope.gauge(GatewayMeter.IN_FLIGHT_SHARED_LIMIT, guard::maxSharedInFlight);
        scope.gauge(GatewayMeter.READ_AHEAD, engine::readAheadBytes);
        scope.gauge(GatewayMeter.READ_AHEAD_LIMIT, engine::readAheadLimitBytes);
        scope.gauge(GatewayMeter.EVENT_LOOP_DELAY, () -> guard.loopDelayNanos() / NANOS_PER_SECOND);
        scope.gauge(GatewayMeter.OVERLOAD_SHARE, guard::share);
        for (ShedCause cause : ShedCause.values()) {
            for (Priority priority : Priority.values()) {
                scope.counter(
                        GatewayMeter.OVERLOAD_REFUSED,
                        () -> guard.refused(cause, priority),
                        cause.word(),
                        priority.word());
            }
        }
        scope.gauge(GatewayMeter.EVENT_LOOPS_STUCK, sampler::stuckLoops);
        scope.gauge(GatewayMeter.MEMORY_USED, () -> sampler.directPercent() / PERCENT, "direct");
        scope.gauge(GatewayMeter.MEMORY_USED, () -> sampler.heapPercent() / PERCENT, "heap");
        scope.gauge(GatewayMeter.DRAINING, () -> drain.isClosingConnections() ? 1 : 0);
        if (log != null) {
            scope.counter(GatewayMeter.ACCESS_LOG_DROPPED, log::dropped);
        }
    }

    /**
     * Counts a request that was refused before its route was known: it is malformed, or no route matches. Its
     * duration is recorded as 0.
     */
    public void refused(Reason reason) {
        int outcome = ExchangeOutcomes.index(reason);
        Timer timer = timer(scope, refused, outcome, outcome, NONE, NONE);
        if (timer != null) {
            timer.record(0, TimeUnit.NANOSECONDS);
        }
    }

    /** Counts a TLS handshake that has ended. */
    public void handshakeEnded(Handshake handshake) {
        Objects.requireNonNull(handshakes.get(handshake)).increment();
    }

    /** Counts a request whose priority header was ignored. */
    public void priorityIgnored() {
        prioritiesIgnored.increment();
    }

    /** Counts a connection that ended because of a flood. */
    public void flooded() {
        flooded.increment();
    }

    /**
     * Counts a request that was answered on a route without an exchange: by the backend of an unprotected
     * route, by a filter, by the redirect to https, or because it is a preflight request.
     *
     * @param route the route's id; {@code none}: no route was found
     * @param door {@code compiled}, {@code general}, or {@code none} for the port that redirects
     */
    public void answered(String route, String door, int status, long totalNanos) {
        record(route, door, ExchangeOutcomes.index(status), totalNanos);
    }

    /**
     * Counts a request that was refused on a route without an exchange: a filter failed, or a preflight
     * request was refused.
     *
     * @param route the route's id
     * @param door {@code compiled} or {@code general}
     */
    public void failed(String route, String door, Reason reason, long totalNanos) {
        record(route, door, ExchangeOutcomes.index(reason), totalNanos);
    }

    private void record(String route, String door, int outcome, long totalNanos) {
        RouteTimers known = answered.get(route);
        RouteTimers ofRoute = known == null ? create(route) : known;
        if (ofRoute == null) {
            return;
        }
        int index = DOORS.indexOf(door) * ExchangeOutcomes.words().size() + outcome;
        Timer timer = timer(ofRoute.scope, ofRoute.timers, index, outcome, route, door);
        if (timer != null) {
            timer.record(totalNanos, TimeUnit.NANOSECONDS);
        }
    }

    /** New timers of a route; null if the route was removed, and this request is one of its last. */
    private synchronized @Nullable RouteTimers create(String route) {
        return isRemoved(route) ? null : answered.computeIfAbsent(route, id -> new RouteTimers(book.open()));
    }

    private boolean isRemoved(String route) {
        Set<String> known = routes;
        return known != null && !known.contains(route) && !route.equals(NONE);
    }

    /**
     * Removes the series of all other routes.
     *
     * @param present the ids of the present routes
     */
    public synchronized void retain(Set<String> present) {
        routes = Set.copyOf(present);
        answered.entrySet().removeIf(entry -> {
            boolean removed = isRemoved(entry.getKey());
            if (removed) {
                entry.getValue().scope.close();
            }
            return removed;
        });
    }

    /** Removes all series of the gateway as a whole. */
    @Override
    public void close() {
        answered.values().forEach(ofRoute -> ofRoute.scope.close());
        scope.close();
    }

    private static @Nullable Timer timer(
            MeterScope scope,
            AtomicReferenceArray<@Nullable Timer> timers,
            int index,
            int outcome,
            String route,
            String door) {
        Timer timer = timers.get(index);
        if (timer == null) {
            timer = scope.timerIfOpen(
                    RouteMeter.REQUESTS, NONE, route, ExchangeOutcomes.words().get(outcome), door);
            timers.set(index, timer);
        }
        return timer;
    }

    /** The timers of one route, by door and outcome. */
    private static final class RouteTimers {

        private final MeterScope scope;
        private final AtomicReferenceArray<@Nullable Timer> timers = new AtomicReferenceArray<>(
                DOORS.size() * ExchangeOutcomes.words().size());

        RouteTimers(MeterScope scope) {
            this.scope = scope;
        }
    }
}
