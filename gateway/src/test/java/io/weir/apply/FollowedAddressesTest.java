package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.weir.cluster.Membership;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.instance.ConnectionFiles;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.limit.LittlesLawProperties;
import io.weir.management.RecentEvents;
import io.weir.metrics.MeterBook;
import io.weir.reload.ConfigurationTarget;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.cloud.client.DefaultServiceInstance;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import reactor.core.publisher.Flux;
import reactor.netty.resources.LoopResources;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Backends whose addresses change, between and during changes of the configuration, in virtual time. */
class FollowedAddressesTest {

    private static final Duration INTERVAL = Duration.ofSeconds(5);

    private final LoopResources loops = LoopResources.create("followed-addresses", 1, true);
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final Resilience4jRegistries registries =
            new Resilience4jRegistries(CircuitBreakerRegistry.ofDefaults(), BulkheadRegistry.ofDefaults());
    private final List<LeavingPool> leaving = new ArrayList<>();
    private List<String> hosts = List.of();
    private int lookups;
    private boolean isTlsBroken;
    private final Map<String, Object> extraProperties = new HashMap<>();
    private final LiveBackends backends = new LiveBackends(
            new BackendFactory(
                    registries,
                    new PoolFactory(loops, (bundle, protocol) -> tls(), bundle -> bundle, ConnectionFiles.unbounded()),
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
                    Registry::new,
                    time,
                    () -> 0,
                    Duration.ZERO),
            registries,
            leaving::add,
            claims -> {},
            Membership.ALONE);

    private final class Registry implements ReactiveDiscoveryClient {

        @Override
        public String description() {
            return "a registry of the test";
        }

        @Override
        public Flux<ServiceInstance> getInstances(String service) {
            lookups++;
            boolean isSecure = extraProperties.containsKey("connection.ssl-bundle");
            return Flux.fromIterable(hosts)
                    .map(host -> new DefaultServiceInstance(host, service, host, 8080, isSecure));
        }

        @Override
        public Flux<String> getServices() {
            return Flux.just("orders");
        }
    }

    @AfterEach
    void close() {
        backends.close();
        loops.dispose();
    }

    private SslContext tls() {
        if (isTlsBroken) {
            throw new IllegalStateException("no such file");
        }
        try {
            return SslContextBuilder.forClient().build();
        } catch (SSLException e) {
            throw new AssertionError(e);
        }
    }

    private BackendProperties properties(String deadline) {
        Map<String, Object> properties = new HashMap<>(extraProperties);
        properties.put("discovery", "orders");
        properties.put("deadline", deadline);
        properties.put("bulkhead.max-concurrent-calls", 10);
        return new Binder(new MapConfigurationPropertySource(properties)).bindOrCreate("", BackendProperties.class);
    }

    private BackendPlan plan(String deadline) {
        return backends.plan(Map.of("orders", properties(deadline)));
    }

    private Backend commit(BackendPlan plan) {
        backends.commit(plan, retired -> {});
        return Objects.requireNonNull(plan.backends().get("orders"));
    }

    private Backend start(String... first) {
        Backend backend = commit(plan("2s"));
        discover(first);
        return backend;
    }

    private void discover(String... now) {
        hosts = List.of(now);
        time.advanceTimeBy(INTERVAL);
    }

    private static List<String> names(Backend backend) {
        return backend.instances().all().stream()
                .map(instance -> instance.uri().getHost())
                .toList();
    }

    private static Instance instance(Backend backend, String host) {
        return backend.instances().all().stream()
                .filter(instance -> instance.uri().getHost().equals(host))
                .findFirst()
                .orElseThrow();
    }

    private List<Pool> left() {
        return leaving.stream().map(LeavingPool::pool).toList();
    }

    @Test
    void startsWithoutAddressesAndChangesTheInstancesOfTheSameBackend() {
        Backend backend = commit(plan("2s"));
        assertThat(backend.instances().first().address().isKnown()).isFalse();
        Pool place = backend.instances().first().pool();
        discover("a", "b");
        assertThat(names(backend)).containsExactly("a", "b");
        assertThat(left()).containsExactly(place);
        Instance b = instance(backend, "b");
        Pool a = instance(backend, "a").pool();
        discover("b", "c");
        assertThat(names(backend)).containsExactly("b", "c");
        assertThat(instance(backend, "b")).isSameAs(b);
        assertThat(left()).containsExactly(place, a);
        assertThat(leaving).allMatch(LeavingPool::hasInstanceLeft);
    }

    @Test
    void keepsTheStateOfAnInstanceThatBecomesOneOfSeveralAndTheOnlyOne() {
        Backend backend = start("a");
        Pool pool = backend.instances().first().pool();
        backend.health().resilience4j().transitionToOpenState();
        discover("a", "b");
        assertThat(instance(backend, "a").pool()).isSameAs(pool);
        assertThat(instance(backend, "a").health().state()).isEqualTo(State.OPEN);
        assertThat(instance(backend, "b").health().state()).isEqualTo(State.CLOSED);
        assertThat(backend.health().state()).isEqualTo(State.CLOSED);
        discover("a");
        assertThat(backend.health().state()).isEqualTo(State.OPEN);
        discover("b");
        assertThat(backend.health().state())
                .as("a changed instance is no new backend")
                .isEqualTo(State.OPEN);
        discover("b", "c");
        backend.health().operator().release();
        discover("c");
        assertThat(backend.health().state()).isEqualTo(State.CLOSED);
    }

    @Test
    void closesTheBackendIfAllOpenInstancesAreReplaced() {
        Backend backend = start("a", "b");
        backend.instances()
                .all()
                .forEach(instance -> instance.health().resilience4j().transitionToOpenState());
        assertThat(backend.health().state()).isEqualTo(State.OPEN);
        discover("c", "d");
        assertThat(backend.health().state()).isEqualTo(State.CLOSED);
    }

    @Test
    void defersAChangeOfAddressesToTheEndOfAPlan() {
        Backend backend = start("a", "b");
        Pool a = instance(backend, "a").pool();
        BackendPlan plan = plan("3s");
        discover("b", "c");
        assertThat(names(backend)).as("during the plan").containsExactly("a", "b");
        assertThat(leaving).hasSize(1);
        Backend successor = commit(plan);
        assertThat(names(successor)).containsExactly("b", "c");
        assertThat(names(backend))
                .as("also for calls of the earlier configuration")
                .containsExactly("b", "c");
        assertThat(left()).hasSize(2).endsWith(a);
    }

    @Test
    void appliesADeferredChangeIfThePlanIsDiscarded() {
        Backend backend = start("a", "b");
        BackendPlan plan = plan("3s");
        discover("c");
        plan.rollBack();
        assertThat(names(backend)).containsExactly("c");
        discover("d");
        assertThat(names(backend)).containsExactly("d");
    }

    @Test
    void retriesAddressesThatFailed() {
        extraProperties.put("connection.ssl-bundle", "internal");
        Backend backend = start("a");
        isTlsBroken = true;
        discover("a", "b");
        assertThat(names(backend)).containsExactly("a");
        isTlsBroken = false;
        time.advanceTimeBy(INTERVAL);
        assertThat(names(backend)).containsExactly("a", "b");
    }

    @Test
    void retriesAddressesThatFailedAtTheEndOfAPlan() {
        extraProperties.put("connection.ssl-bundle", "internal");
        Backend backend = start("a");
        BackendPlan plan = plan("3s");
        isTlsBroken = true;
        discover("a", "b");
        commit(plan);
        assertThat(names(backend)).containsExactly("a");
        isTlsBroken = false;
        time.advanceTimeBy(INTERVAL);
        assertThat(names(backend)).containsExactly("a", "b");
    }

    @Test
    void keepsTheSourceWhileItFindsTheSame() {
        start("a");
        int before = lookups;
        commit(plan("3s"));
        time.advanceTimeBy(INTERVAL);
        assertThat(lookups).isEqualTo(before + 1);
    }

    @Test
    void keepsTheAddressesIfOnlyTheLookupIntervalChanges() {
        Backend backend = start("a", "b");
        hosts = List.of();
        extraProperties.put("resolve-interval", "1s");

        commit(plan("2s"));
        time.advanceTimeBy(Duration.ofSeconds(1));

        assertThat(names(backend)).as("DNS finds nothing").containsExactly("a", "b");
        int before = lookups;
        hosts = List.of("c");
        time.advanceTimeBy(Duration.ofSeconds(1));
        assertThat(lookups).isEqualTo(before + 1);
        assertThat(names(backend)).containsExactly("c");
    }

    @Test
    void endsTheLookupsOfARemovedBackend() {
        start("a");
        backends.commit(backends.plan(Map.of()), retired -> {});
        int before = lookups;
        time.advanceTimeBy(INTERVAL.multipliedBy(3));
        assertThat(lookups).isEqualTo(before);
    }

    @Test
    void endsTheLookupsOfADiscardedPlan() {
        plan("2s").rollBack();
        int before = lookups;
        time.advanceTimeBy(INTERVAL.multipliedBy(3));
        assertThat(lookups).isEqualTo(before);
    }

    @Test
    void takesAPreparedSourceWithItsAddresses() {
        hosts = List.of("a", "b");
        ConfigurationTarget.Preparation prepared = backends.prepare(Map.of("orders", properties("2s")));
        time.advanceTimeBy(INTERVAL.dividedBy(2));
        int before = lookups;

        Backend backend = commit(plan("2s"));
        prepared.close();

        assertThat(names(backend)).containsExactly("a", "b");
        assertThat(lookups).as("no other source").isEqualTo(before);
        discover("c");
        assertThat(names(backend)).containsExactly("c");
    }

    @Test
    void preparesNothingForABackendWhoseSourceStays() {
        start("a");
        int before = lookups;

        backends.prepare(Map.of("orders", properties("3s"))).close();
        time.advanceTimeBy(INTERVAL);

        assertThat(lookups).isEqualTo(before + 1);
    }

    @Test
    void endsTheLookupsThatNoPlanHasTaken() {
        ConfigurationTarget.Preparation prepared = backends.prepare(Map.of("orders", properties("2s")));
        backends.commit(backends.plan(Map.of()), retired -> {});
        prepared.close();
        int before = lookups;
        time.advanceTimeBy(INTERVAL.multipliedBy(3));
        assertThat(lookups).isEqualTo(before);
    }
}
