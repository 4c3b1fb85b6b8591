package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.cluster.Membership;
import io.weir.config.BackendProperties;
import io.weir.instance.ConnectionFiles;
import io.weir.limit.LittlesLawProperties;
import io.weir.management.RecentEvents;
import io.weir.metrics.MeterBook;
import io.weir.overload.InFlightShare;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import reactor.core.scheduler.Schedulers;
import reactor.netty.resources.LoopResources;

/** Limits of scope cluster: the bulkhead follows this gateway's share. */
class LiveBackendsTest {

    private final LoopResources loops = LoopResources.create("live-backends", 1, true);
    private final CircuitBreakerRegistry breakers = CircuitBreakerRegistry.ofDefaults();
    private final Resilience4jRegistries registries =
            new Resilience4jRegistries(breakers, BulkheadRegistry.ofDefaults());
    private List<InFlightShare.Claim> claims = List.of();
    private final LiveBackends backends = new LiveBackends(
            new BackendFactory(
                    registries,
                    new PoolFactory(
                            loops,
                            (bundle, protocol) -> {
                                throw new AssertionError("no TLS");
                            },
                            bundle -> bundle,
                            ConnectionFiles.unbounded()),
                    new MeterBook(new SimpleMeterRegistry()),
                    new LittlesLawProperties(Duration.ofSeconds(10)),
                    () -> 0,
                    () -> 0.5,
                    opened -> {},
                    new RecentEvents(InstantSource.system()),
                    () -> null),
            new AddressSources(
                    () -> {
                        throw new AssertionError("no name to resolve");
                    },
                    () -> {
                        throw new AssertionError("no service to resolve");
                    },
                    () -> null,
                    Schedulers.immediate(),
                    () -> 0),
            registries,
            leaving -> {},
            claimed -> claims = claimed,
            Membership.ofUnknownRank(10));

    @AfterEach
    void close() {
        loops.dispose();
    }

    @Test
    void startsWithTheShareOfTheAssumedNumberOfGateways() {
        apply("cluster", 640);

        assertThat(permits()).isEqualTo(64);
    }

    @Test
    void dividesTheLimitByRank() {
        apply("cluster", 7);

        backends.divideAmong(new Membership(4, 0));
        assertThat(permits()).isEqualTo(2);
        backends.divideAmong(new Membership(4, 3));
        assertThat(permits()).isEqualTo(1);
    }

    @Test
    void dividesAChangedLimitByTheNumberInForce() {
        backends.divideAmong(new Membership(4, 0));
        apply("cluster", 200);

        backends.divideAmong(new Membership(2, 0));
        apply("cluster", 400);
        assertThat(permits()).isEqualTo(200);
    }

    @Test
    void limitsOfOneGatewayAreNotDivided() {
        apply("gateway", 200);

        assertThat(permits()).isEqualTo(200);
    }

    @Test
    void eachChangeDividesTheExchangesInFlightAmongTheBackendsInForce() {
        apply(Map.of("orders", backend(Map.of("guaranteed-share", 30)), "users", backend(Map.of())));
        InFlightShare orders = shareOf(30);

        assertThat(claims)
                .extracting(InFlightShare.Claim::percent)
                .containsExactlyInAnyOrder(30, null)
                .hasSize(2);
        apply(Map.of("orders", backend(Map.of("guaranteed-share", 20, "deadline", "1s"))));
        assertThat(claims).containsExactly(new InFlightShare.Claim(orders, 20));
        apply(Map.of("users", backend(Map.of())));
        assertThat(claims).hasSize(1).noneMatch(claim -> claim.share() == orders);
    }

    private InFlightShare shareOf(int percent) {
        return claims.stream()
                .filter(claim -> Integer.valueOf(percent).equals(claim.percent()))
                .findFirst()
                .orElseThrow()
                .share();
    }

    private void apply(String scope, int limit) {
        apply(Map.of("orders", backend(Map.of("bulkhead.scope", scope, "bulkhead.max-concurrent-calls", limit))));
    }

    private void apply(Map<String, BackendProperties> properties) {
        backends.commit(backends.plan(properties), retired -> {});
    }

    private static BackendProperties backend(Map<String, Object> own) {
        Map<String, Object> properties = new HashMap<>(own);
        properties.put("uri", "http://127.0.0.1:9");
        return new Binder(new MapConfigurationPropertySource(properties)).bindOrCreate("", BackendProperties.class);
    }

    private int permits() {
        return registries.bulkheads().bulkhead("orders").getMetrics().getMaxAllowedConcurrentCalls();
    }
}
