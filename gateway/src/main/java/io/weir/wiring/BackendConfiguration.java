package io.weir.wiring;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.weir.apply.AddressSources;
import io.weir.apply.BackendFactory;
import io.weir.apply.LiveBackends;
import io.weir.apply.PoolFactory;
import io.weir.apply.Resilience4jRegistries;
import io.weir.apply.RetiredGenerations;
import io.weir.cluster.ClusterProperties;
import io.weir.cluster.GatewayCount;
import io.weir.cluster.Membership;
import io.weir.config.WeirProperties;
import io.weir.edge.OpenFiles;
import io.weir.edge.TlsEngine;
import io.weir.engine.Engine;
import io.weir.instance.ConnectionFiles;
import io.weir.instance.DnsLookup;
import io.weir.instance.SrvLookup;
import io.weir.management.RecentEvents;
import io.weir.metrics.ClusterMeters;
import io.weir.metrics.MeterBook;
import io.weir.overload.OverloadGuard;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import org.springframework.cloud.client.discovery.event.HeartbeatEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.core.scheduler.Schedulers;

/** Wires the backends with their pools, and the count of gateways that share their limits. */
@Configuration(proxyBeanMethods = false)
class BackendConfiguration {

    /** Look-ups do not block; a discovery client may. */
    private static final int LOOKUP_THREADS = 4;

    @Bean
    Resilience4jRegistries resilience4jRegistries(CircuitBreakerRegistry breakers, BulkheadRegistry bulkheads) {
        return new Resilience4jRegistries(breakers, bulkheads);
    }

    @Bean
    PoolFactory poolFactory(
            ReactorResourceFactory resources, SslBundles bundles, TlsEngine engine, WeirProperties properties) {
        OpenFiles files = OpenFiles.ofProcess();
        return new PoolFactory(
                resources.getLoopResources(),
                new BackendTls(bundles, engine)::context,
                bundles::getBundle,
                new ConnectionFiles(files.backends(properties.edge()), files.limit(), System::nanoTime));
    }

    @Bean
    AddressSources addressSources(
            WeirProperties properties,
            ReactorResourceFactory resources,
            ObjectProvider<ReactiveDiscoveryClient> discovery) {
        String named = properties.dnsServer();
        InetSocketAddress server = named == null ? null : ClusterProperties.address(named);
        return new AddressSources(
                () -> DnsLookup.resolver(resources.getLoopResources(), server),
                () -> SrvLookup.resolver(resources.getLoopResources(), server),
                // Primary is the client that asks all others.
                discovery::getIfAvailable,
                Schedulers.newBoundedElastic(LOOKUP_THREADS, Integer.MAX_VALUE, "weir-addresses", 60, true),
                System::nanoTime);
    }

    @Bean(destroyMethod = "close")
    LiveBackends liveBackends(
            AddressSources sources,
            RetiredGenerations retiredGenerations,
            WeirProperties properties,
            Resilience4jRegistries registries,
            PoolFactory pools,
            MeterBook meterBook,
            Engine engine,
            OverloadGuard guard,
            RecentEvents recentEvents) {
        BackendFactory factory = new BackendFactory(
                registries,
                pools,
                meterBook,
                properties.littlesLaw(),
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextDouble(),
                engine::leave,
                recentEvents,
                engine::faults);
        return new LiveBackends(
                factory,
                sources,
                registries,
                retiredGenerations::retire,
                guard::divide,
                Membership.ofUnknownRank(properties.cluster().initialGateways()));
    }

    @Bean
    BackendLifecycle backendLifecycle(LiveBackends backends) {
        return new BackendLifecycle(backends);
    }

    /** A discovery client that has noticed a change publishes this event. */
    @Bean
    ApplicationListener<HeartbeatEvent> addressRefresher(ObjectProvider<LiveBackends> backends) {
        return event -> backends.ifAvailable(LiveBackends::refreshAddresses);
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty("weir.cluster.gateways")
    GatewayCount gatewayCount(WeirProperties properties, LiveBackends backends, MeterBook meterBook) {
        ClusterProperties cluster = properties.cluster();
        GatewayCount count =
                new GatewayCount(Objects.requireNonNull(cluster.gateways()), cluster, backends::divideAmong);
        ClusterMeters.show(meterBook, count::gateways, count::failures);
        return count;
    }
}
