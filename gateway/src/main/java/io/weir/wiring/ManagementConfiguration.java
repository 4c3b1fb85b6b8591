package io.weir.wiring;

import io.weir.cluster.GatewayCount;
import io.weir.config.WeirProperties;
import io.weir.config.check.BuildVersion;
import io.weir.dashboard.LiveFeed;
import io.weir.dashboard.RefusedConfiguration;
import io.weir.door.LiveRoutes;
import io.weir.door.RouteExplainer;
import io.weir.door.RouteView;
import io.weir.edge.TlsEngine;
import io.weir.engine.Backend;
import io.weir.faults.InjectedFault;
import io.weir.faults.InjectedFaults;
import io.weir.lastgood.LastGoodStore;
import io.weir.management.ConfigurationState;
import io.weir.management.FaultView;
import io.weir.management.Gateway;
import io.weir.management.OperatorChangeStore;
import io.weir.management.OperatorChangeView;
import io.weir.management.OperatorSwitches;
import io.weir.management.OtherMembersAdvisor;
import io.weir.management.RecentEvents;
import io.weir.management.WeirEndpoint;
import io.weir.management.WeirExplainEndpoint;
import io.weir.management.WeirLastGoodEndpoint;
import io.weir.reload.ChangeHistory;
import io.weir.reload.LiveConfiguration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Wires the dashboard and the management endpoint {@code weir}. */
@Configuration(proxyBeanMethods = false)
class ManagementConfiguration {

    @Bean
    OperatorSwitches operatorSwitches(
            LiveRoutes routes,
            LiveConfiguration configuration,
            OperatorChangeStore operatorChangeStore,
            RecentEvents recentEvents) {
        return new OperatorSwitches(() -> routes.get().backends(), configuration, operatorChangeStore, recentEvents);
    }

    @Bean
    Gateway gateway(
            LiveRoutes routes, InjectedFaults faults, OperatorSwitches switches, LiveConfiguration configuration) {
        return new Gateway() {
            @Override
            public Map<String, Backend> backends() {
                return routes.get().backends();
            }

            @Override
            public List<RouteView> routes() {
                return routes.get().views();
            }

            @Override
            public Map<String, List<OperatorChangeView>> operatorChanges() {
                return switches.inForce();
            }

            @Override
            public ConfigurationState configuration() {
                return configuration.state();
            }

            @Override
            public List<FaultView> faults() {
                List<InjectedFault> active = faults.active();
                return active.isEmpty()
                        ? List.of()
                        : active.stream()
                                .map(fault -> FaultView.of(fault, routes()))
                                .toList();
            }
        };
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    LiveFeed liveFeed(
            Gateway gateway,
            GatewayState state,
            RecentEvents recentEvents,
            LiveConfiguration configuration,
            ObjectProvider<GatewayCount> gatewayCount) {
        GatewayCount count = gatewayCount.getIfAvailable();
        ChangeHistory history = configuration.history();
        return new LiveFeed(
                gateway,
                state.engine(),
                state.guard(),
                state.drain(),
                recentEvents,
                () -> Optional.ofNullable(history.lastRejected())
                        .map(change -> new RefusedConfiguration(change.at(), change.by(), change.problems())),
                count == null ? () -> 1 : count::gateways,
                InstantSource.system());
    }

    @Bean
    WeirEndpoint weirEndpoint(
            Gateway gateway,
            GatewayState state,
            LiveConfiguration configuration,
            OperatorSwitches switches,
            TlsEngine tlsEngine) {
        return new WeirEndpoint(
                gateway, state.engine(), state.guard(), state.drain(), configuration, switches, tlsEngine.word());
    }

    @Bean
    WeirLastGoodEndpoint weirLastGoodEndpoint(LastGoodStore store, Gateway gateway, RecentEvents recentEvents) {
        return new WeirLastGoodEndpoint(store, gateway, recentEvents);
    }

    @Bean
    WeirExplainEndpoint weirExplainEndpoint(LiveRoutes routes, WeirProperties properties) {
        return new WeirExplainEndpoint(
                new RouteExplainer(routes, properties.edge().allowEncodedSlashes()));
    }

    /** Replaces Spring Boot's own contributor, which is absent in classes that Maven has not built. */
    @Bean
    InfoContributor versionInfo() {
        return info ->
                info.withDetail("build", Map.of("artifact", BuildVersion.PROGRAM, "version", BuildVersion.current()));
    }

    @Bean
    OtherMembersAdvisor limitsAdvisor() {
        return OtherMembersAdvisor.limits();
    }
}
