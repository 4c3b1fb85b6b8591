package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.engine.Exchange;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.Route;
import io.weir.limit.QueueingBulkhead;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.MaxConcurrentPerKeyProperties;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import io.weir.testing.Allocation;
import io.weir.testing.ObservedGateway;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ExchangeMetersTest {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final MeterBook book = new MeterBook(registry);
    private final ObservedGateway fixture = new ObservedGateway();
    private final BackendMeters backendMeters = fixture.backendMeters(book);
    private final Backend backend = fixture.backend(backendMeters);
    private final ExchangeMeters meters = new ExchangeMeters(book.open(), "orders-route", "orders", "compiled", null);
    private final Route route = fixture.route(backend, null, meters);

    @AfterEach
    void close() {
        meters.close();
        backendMeters.close();
        fixture.close();
    }

    @Test
    void recordsAnExchangeUnderItsOutcome() {
        fixture.refused(route, ObservedGateway.caller(), Duration.ofMillis(30));

        Timer timer = registry.get("weir.requests")
                .tags("backend", "orders", "route", "orders-route", "outcome", "bulkhead-full", "door", "compiled")
                .timer();
        assertThat(timer.count()).isEqualTo(1);
        assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(30);
        String scrape = registry.scrape();
        assertThat(scrape)
                .contains(
                        bucket("0.02") + " 0\n",
                        bucket("0.05") + " 1\n",
                        bucket("10.0") + " 1\n",
                        bucket("+Inf") + " 1\n");
    }

    @Test
    void createsNoSeriesForAnOutcomeThatNeverOccurred() {
        assertThat(registry.find("weir.requests").meters()).isEmpty();

        ended("2xx", 0);
        ended("2xx", 0);

        assertThat(registry.find("weir.requests").meters())
                .extracting(meter -> meter.getId().getTag("outcome"))
                .containsExactly("2xx");
    }

    @Test
    void countsTheBytesOfResponses() {
        ended("2xx", 1_000);
        ended("connection-lost", 500);

        assertThat(ObservedGateway.value(
                        registry, RouteMeter.RESPONSE_BYTES, "backend", "orders", "route", "orders-route"))
                .isEqualTo(1_500);
    }

    @Test
    void countsShedExchangesByBackendAndReason() {
        fixture.refused(route, ObservedGateway.caller(), Duration.ZERO);
        HttpHeaders malformed = new DefaultHttpHeaders().add("x-request-timeout", "soon");
        fixture.refused(route, ObservedGateway.caller(malformed, null), Duration.ZERO);
        fixture.health.operator().forceOpen();
        fixture.refused(route, ObservedGateway.caller(), Duration.ZERO);
        fixture.refused(route, ObservedGateway.caller(), Duration.ZERO);

        assertThat(ObservedGateway.value(registry, BackendMeter.SHED, "backend", "orders", "reason", "bulkhead-full"))
                .isEqualTo(1);
        assertThat(ObservedGateway.value(registry, BackendMeter.SHED, "backend", "orders", "reason", "circuit-open"))
                .isEqualTo(2);
        assertThat(ObservedGateway.value(registry, BackendMeter.SHED)).isEqualTo(3);
        assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS)).isEqualTo(4);
    }

    @Test
    void countsExchangesOfABackendWithoutMeters() {
        Backend withoutMeters = fixture.backend(BackendObserver.NONE);

        fixture.refused(fixture.route(withoutMeters, null, meters), ObservedGateway.caller(), Duration.ZERO);

        assertThat(ObservedGateway.value(registry, RouteMeter.REQUESTS, "outcome", "bulkhead-full"))
                .isEqualTo(1);
        assertThat(registry.find(BackendMeter.SHED.definition().meterName()).meters())
                .isEmpty();
    }

    @Test
    void showsTheRoutesOwnLimitOnlyIfItHasOne() {
        assertThat(registry.find(RouteMeter.ROUTE_PERMITS_LIMIT.definition().meterName())
                        .meter())
                .isNull();
        QueueingBulkhead limit = new QueueingBulkhead(4, 0);

        try (ExchangeMeters limited = new ExchangeMeters(book.open(), "limited", "orders", "general", limit)) {
            limit.tryAcquire();

            assertThat(limited).isNotNull();
            assertThat(ObservedGateway.value(registry, RouteMeter.ROUTE_PERMITS_USED, "route", "limited"))
                    .isEqualTo(1);
            assertThat(ObservedGateway.value(registry, RouteMeter.ROUTE_PERMITS_LIMIT, "route", "limited"))
                    .isEqualTo(4);
        }
    }

    @Test
    void showsTheKeysOfARateLimitOnlyIfTheRouteHasOne() {
        RateLimiter limiter = RateLimiter.of(
                "orders",
                new RateLimitProperties("client-address", 1, Duration.ofHours(1), null, 1_000, true, false),
                null,
                null,
                () -> 0);
        for (int i = 0; i < 2_000; i++) {
            String address = "address" + i;
            limiter.take(new DefaultHttpHeaders(), () -> address, claim -> null);
        }

        meters.setRateLimiter(limiter);

        assertThat(ObservedGateway.value(registry, RouteMeter.RATE_LIMIT_KEYS, "route", "orders-route"))
                .isEqualTo((double) limiter.keys())
                .isPositive();
        assertThat(ObservedGateway.value(registry, RouteMeter.RATE_LIMIT_KEYS_FORGOTTEN, "route", "orders-route"))
                .isEqualTo(2_000.0 - (double) limiter.keys());

        meters.setRateLimiter(null);

        assertThat(registry.scrape()).doesNotContain("weir_rate_limit");
    }

    @Test
    void showsTheCallersOfALimitOnTheirCallsOnlyIfTheRouteHasOne() {
        CallsPerKey calls = CallsPerKey.of(new MaxConcurrentPerKeyProperties("client-address", 1, true), null);
        calls.tryEnter("ann");
        calls.tryEnter("ben");
        calls.countRefusal();

        meters.setCallsPerKey(calls);

        assertThat(ObservedGateway.value(registry, RouteMeter.CALLER_LIMIT_KEYS, "route", "orders-route"))
                .isEqualTo(2);
        assertThat(ObservedGateway.value(registry, RouteMeter.CALLER_LIMIT_REFUSED, "route", "orders-route"))
                .isEqualTo(1);

        meters.setCallsPerKey(null);

        assertThat(registry.scrape()).doesNotContain("weir_caller_limit");
    }

    @Test
    void removesItsSeriesOnCloseAndCountsNothingAfterwards() {
        ended("2xx", 10);

        meters.close();
        ended("2xx", 10);
        ended("4xx", 10);

        assertThat(registry.scrape()).doesNotContain("route=");
    }

    @Test
    void allocatesNothingPerExchange() {
        Exchange exchange = fixture.refused(route, ObservedGateway.caller(), Duration.ofMillis(3));

        assertThat(Allocation.bytesPer(() -> meters.ended(exchange.record()))).isZero();
        // Proves that the measured code has counted.
        assertThat(ObservedGateway.value(registry, BackendMeter.SHED)).isGreaterThan(60_000);
    }

    private static String bucket(String le) {
        return "weir_requests_seconds_bucket{backend=\"orders\",door=\"compiled\",outcome=\"bulkhead-full\",route=\"orders-route\",le=\""
                + le + "\"}";
    }

    private void ended(String outcome, long bytes) {
        meters.count(ExchangeOutcomes.words().indexOf(outcome), 1_000_000, bytes);
    }
}
