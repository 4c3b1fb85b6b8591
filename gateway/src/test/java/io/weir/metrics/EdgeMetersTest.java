package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.accesslog.AccessLog;
import io.weir.accesslog.AccessLogTest;
import io.weir.accesslog.LineSinkTest;
import io.weir.drain.Drain;
import io.weir.engine.BackendObserver;
import io.weir.engine.Exchange;
import io.weir.engine.RouteObserver;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.overload.MemoryShare;
import io.weir.overload.OverloadSampler;
import io.weir.testing.Allocation;
import io.weir.testing.ObservedGateway;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EdgeMetersTest {

    /** Connections with fixed figures. */
    record FixedConnections(int open, int limit, long rejected) implements EdgeMeters.Connections {}

    /** Limits of clients with fixed figures. */
    record FixedClients(
            int clients, int connectionLimit, long rejectedConnections, int requestLimit, long refusedRequests)
            implements EdgeMeters.Clients {}

    private static final Fallback FALLBACK = new Fallback(
            new FallbackProperties(null, 200, "application/json", "{}", Map.of(), Set.of(Reason.BULKHEAD_FULL), 4));

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final ObservedGateway fixture = new ObservedGateway();
    private final AtomicLong direct = new AtomicLong();
    private final OverloadSampler sampler = new OverloadSampler(
            List.of(), new MemoryShare(List.of(), 1_000, direct::get, 200), fixture.guard, fixture.clock::get);

    @AfterEach
    void close() {
        sampler.close();
        fixture.close();
    }

    @Test
    void countsRequestsRefusedBeforeTheirRouteWasKnown() {
        try (EdgeMeters meters = meters(null)) {
            meters.refused(Reason.NO_ROUTE);
            meters.refused(Reason.NO_ROUTE);
            meters.refused(Reason.URI_TOO_LONG);

            String[] withoutRoute = {"backend", "none", "route", "none", "door", "none", "outcome", "no-route"};
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, withoutRoute))
                    .isEqualTo(2);
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "outcome", "uri-too-long"))
                    .isEqualTo(1);
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS)).isEqualTo(3);
        }
    }

    @Test
    void recordsAnswersOnARouteWithoutAnExchange() {
        try (EdgeMeters meters = meters(null)) {
            meters.answered("plain-route", "general", 200, 5_000_000);
            meters.answered("plain-route", "general", 204, 7_000_000);
            meters.answered("redirect", "general", 302, 0);
            meters.failed("plain-route", "general", Reason.INTERNAL_ERROR, 1_000_000);

            Timer plain = registry.get(RouteMeter.REQUESTS.definition().meterName())
                    .tags("backend", "none", "route", "plain-route", "door", "general", "outcome", "2xx")
                    .timer();
            assertThat(plain.count()).isEqualTo(2);
            assertThat(plain.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(12);
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "route", "redirect", "outcome", "3xx"))
                    .isEqualTo(1);
            assertThat(ObservedGateway.value(
                            registry, RouteMeter.REQUESTS, "route", "plain-route", "outcome", "internal-error"))
                    .isEqualTo(1);
        }
    }

    /** A preflight request of a compiled route, the redirect to https, and a filter ahead of all routes. */
    @Test
    void tellsTheDoorOfAnswersWithoutAnExchange() {
        try (EdgeMeters meters = meters(null)) {
            meters.answered("orders", "compiled", 204, 1);
            meters.failed("orders", "compiled", Reason.FORBIDDEN, 1);
            meters.answered("orders", "general", 204, 1);
            meters.answered("orders", "general", 204, 1);
            meters.answered("none", "none", 308, 1);
            meters.answered("none", "general", 308, 1);

            assertThat(count("orders", "compiled", "2xx")).isEqualTo(1);
            assertThat(count("orders", "compiled", "forbidden")).isEqualTo(1);
            assertThat(count("orders", "general", "2xx")).isEqualTo(2);
            assertThat(count("none", "none", "3xx")).isEqualTo(1);
            assertThat(count("none", "general", "3xx")).isEqualTo(1);

            meters.retain(Set.of());
            assertThat(registry.find(RouteMeter.REQUESTS.definition().meterName())
                            .tag("route", "orders")
                            .meters())
                    .isEmpty();
        }
    }

    private double count(String route, String door, String outcome) {
        return ObservedGateway.value(registry, RouteMeter.REQUESTS, "route", route, "door", door, "outcome", outcome);
    }

    @Test
    void keepsNoSeriesOfARemovedRouteEvenIfARequestEndsLater() {
        try (EdgeMeters meters = meters(null)) {
            meters.answered("plain-route", "general", 200, 1);
            meters.answered("redirect", "general", 302, 1);
            meters.answered("none", "general", 404, 1);

            meters.retain(Set.of("redirect", "other"));
            meters.answered("plain-route", "general", 200, 1);
            meters.answered("redirect", "general", 302, 1);
            meters.answered("other", "general", 200, 1);
            meters.answered("none", "general", 404, 1);

            assertThat(registry.find(RouteMeter.REQUESTS.definition().meterName())
                            .tag("route", "plain-route")
                            .meters())
                    .isEmpty();
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "route", "redirect"))
                    .isEqualTo(2);
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "route", "other"))
                    .isEqualTo(1);
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "route", "none"))
                    .isEqualTo(2);

            meters.retain(Set.of("plain-route"));
            meters.answered("plain-route", "general", 200, 1);
            assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "route", "plain-route"))
                    .isEqualTo(1);
        }
    }

    @Test
    void allocatesNothingPerAnswerWithoutAnExchange() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(Allocation.bytesPer(() -> meters.answered("plain-route", "general", 200, 1)))
                    .isZero();
            assertThat(Allocation.bytesPer(() -> meters.answered("none", "none", 308, 1)))
                    .isZero();
        }
    }

    @Test
    void allocatesNothingPerRefusal() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(Allocation.bytesPer(() -> meters.refused(Reason.NO_ROUTE)))
                    .isZero();
        }
    }

    @Test
    void showsConnections() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(meters).isNotNull();
            assertThat(ObservedGateway.value(registry, GatewayMeter.CONNECTIONS_OPEN))
                    .isEqualTo(3);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CONNECTIONS_LIMIT))
                    .isEqualTo(100);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CONNECTIONS_REJECTED))
                    .isEqualTo(7);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CLIENTS)).isEqualTo(2);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CLIENT_CONNECTIONS_LIMIT))
                    .isEqualTo(50);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CLIENT_CONNECTIONS_REJECTED))
                    .isEqualTo(4);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CLIENT_REQUESTS_LIMIT))
                    .isEqualTo(60);
            assertThat(ObservedGateway.value(registry, GatewayMeter.CLIENT_REQUESTS_REFUSED))
                    .isEqualTo(5);
        }
    }

    @Test
    void showsRequestsInFlight() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(meters).isNotNull();
            assertThat(ObservedGateway.value(registry, GatewayMeter.IN_FLIGHT)).isZero();
            assertThat(ObservedGateway.value(registry, GatewayMeter.IN_FLIGHT_LIMIT))
                    .isEqualTo(100);
            double[] atTheEnd = new double[1];
            RouteObserver observer = exchange -> atTheEnd[0] = ObservedGateway.value(registry, GatewayMeter.IN_FLIGHT);
            Exchange waiting = new Exchange(
                    fixture.engine,
                    fixture.route(fixture.backend(BackendObserver.NONE), FALLBACK, observer),
                    ObservedGateway.caller(),
                    fixture.clock.get());
            fixture.fill();
            waiting.start();
            // The answer is not flushed yet.
            assertThat(ObservedGateway.value(registry, GatewayMeter.IN_FLIGHT)).isEqualTo(1);
            waiting.flushed();
            assertThat(atTheEnd[0]).isZero();
        }
    }

    @Test
    void showsMemoryAndEventLoopDelay() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(meters).isNotNull();
            direct.set(50);
            sampler.sample();
            assertThat(ObservedGateway.value(registry, GatewayMeter.MEMORY_USED, "area", "direct"))
                    .isEqualTo(0.25);
            assertThat(ObservedGateway.value(registry, GatewayMeter.MEMORY_USED, "area", "heap"))
                    .isZero();

            fixture.guard.observe(3_000_000, 0, 50);
            assertThat(ObservedGateway.value(registry, GatewayMeter.EVENT_LOOP_DELAY))
                    .isEqualTo(0.003);
        }
    }

    @Test
    void showsTheDrain() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(meters).isNotNull();
            assertThat(ObservedGateway.value(registry, GatewayMeter.DRAINING)).isZero();
            fixture.drain.enter(Drain.Phase.ANNOUNCED);
            assertThat(ObservedGateway.value(registry, GatewayMeter.DRAINING)).isEqualTo(1);
            fixture.drain.enter(Drain.Phase.REFUSING);
            assertThat(ObservedGateway.value(registry, GatewayMeter.DRAINING)).isEqualTo(1);
        }
    }

    @Test
    void countsDroppedLinesOnlyWithAnAccessLog() {
        try (EdgeMeters meters = meters(null)) {
            assertThat(meters).isNotNull();
            assertThat(registry.find(
                                    GatewayMeter.ACCESS_LOG_DROPPED.definition().meterName())
                            .meters())
                    .isEmpty();
        }
        AccessLog log = new AccessLog(new LineSinkTest.Discarding(), 16, AccessLogTest.PROPERTIES, () -> 0);
        log.close();
        try (EdgeMeters meters = meters(log)) {
            assertThat(meters).isNotNull();
            log.refused(Refusal.of(Reason.NO_ROUTE, null), new ObservedGateway.Facts(), null);
            assertThat(ObservedGateway.value(registry, GatewayMeter.ACCESS_LOG_DROPPED))
                    .isEqualTo(1);
        }
        assertThat(registry.getMeters()).isEmpty();
    }

    private EdgeMeters meters(@Nullable AccessLog log) {
        return new EdgeMeters(
                new MeterBook(registry),
                fixture.engine,
                fixture.guard,
                sampler,
                fixture.drain,
                new FixedConnections(3, 100, 7),
                new FixedClients(2, 50, 4, 60, 5),
                log);
    }
}
