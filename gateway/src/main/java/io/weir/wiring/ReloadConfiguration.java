package io.weir.wiring;

import io.weir.apply.ConfigurationApplier;
import io.weir.apply.LiveBackends;
import io.weir.apply.RetiredGenerations;
import io.weir.apply.RoutesFactory;
import io.weir.apply.SpringCloudGateway;
import io.weir.authentication.Issuers;
import io.weir.config.WeirProperties;
import io.weir.config.check.CheckedConfiguration;
import io.weir.config.check.ConfigurationReader;
import io.weir.config.check.ConfigurationSnapshot;
import io.weir.door.LiveRoutes;
import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.instance.Pool;
import io.weir.management.OperatorChangeStore;
import io.weir.management.RecentEvents;
import io.weir.metrics.EdgeMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.FileWatch;
import io.weir.reload.KeptConfigurations;
import io.weir.reload.LiveConfiguration;
import io.weir.reload.WeirConfigEndpoint;
import io.weir.reload.WeirReloadEndpoint;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Set;
import java.util.function.Consumer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.http.client.ReactorResourceFactory;

/** Wires changes of the configuration: their triggers, their application, and the parts that they replace. */
@Configuration(proxyBeanMethods = false)
class ReloadConfiguration {

    @Bean(destroyMethod = "close")
    RetiredGenerations retiredGenerations(ReactorResourceFactory resources, Engine engine, WeirProperties properties) {
        RetiredGenerations.PoolUsers users = new RetiredGenerations.PoolUsers() {

            @Override
            public void find(Consumer<Set<Pool>> receiver) {
                engine.findUsedPools(receiver);
            }

            @Override
            public void end(Pool pool) {
                engine.endUsersOf(pool);
            }
        };
        return new RetiredGenerations(
                resources.getLoopResources().onServer(true),
                users,
                properties.drain().timeout(),
                System::nanoTime);
    }

    @Bean
    SpringCloudGateway springCloudGateway(GatewayProperties properties, ApplicationEventPublisher events) {
        return new SpringCloudGateway(properties, events);
    }

    @Bean
    ConfigurationApplier configurationApplier(
            LiveBackends backends,
            RoutesFactory routes,
            Issuers issuers,
            LiveRoutes liveRoutes,
            RetiredGenerations retiredGenerations,
            EdgeMeters edgeMeters,
            SpringCloudGateway springCloudGateway) {
        return new ConfigurationApplier(
                backends, routes, issuers, liveRoutes, retiredGenerations, edgeMeters, springCloudGateway);
    }

    @Bean
    OperatorChangesTimer operatorChangesTimer() {
        return new OperatorChangesTimer();
    }

    @Bean
    OperatorChangeStore operatorChangeStore(OperatorChangesTimer operatorChangesTimer) {
        return new OperatorChangeStore(operatorChangesTimer, System::nanoTime, InstantSource.system());
    }

    @Bean
    LiveConfiguration liveConfiguration(
            ConfigurableEnvironment environment,
            ObjectProvider<CheckedConfiguration> checked,
            ConfigurableListableBeanFactory beans,
            ApplicationArguments arguments,
            ConfigurationApplier applier,
            Drain drain,
            OperatorChangeStore operatorChangeStore,
            MeterBook meterBook,
            RecentEvents recentEvents,
            WeirProperties properties) {
        InstantSource clock = InstantSource.system();
        String history = properties.reload().history();
        ConfigurationReader reader = new ConfigurationReader(environment, arguments.getSourceArgs());
        checked.ifAvailable(reader::continueFrom);
        LiveConfiguration configuration = new LiveConfiguration(
                checked.stream()
                        .map(CheckedConfiguration::snapshot)
                        .findFirst()
                        .orElseGet(() -> ConfigurationSnapshot.of(environment)),
                reader,
                applier,
                () -> drain.phase() != Drain.Phase.SERVING,
                operatorChangeStore,
                clock,
                new ReloadMeters(meterBook, clock.instant()),
                recentEvents,
                history == null ? KeptConfigurations.NONE : KeptConfigurations.in(Path.of(history)));
        if (history != null) {
            configuration.keepFilesOfStart();
        }
        CheckedValues.release(beans);
        return configuration;
    }

    @Bean
    WeirReloadEndpoint weirReloadEndpoint(LiveConfiguration configuration) {
        return new WeirReloadEndpoint(configuration);
    }

    @Bean
    WeirConfigEndpoint weirConfigEndpoint(LiveConfiguration configuration) {
        return new WeirConfigEndpoint(configuration);
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    @ConditionalOnProperty(name = "weir.reload.watch", matchIfMissing = true)
    FileWatch fileWatch(LiveConfiguration configuration, WeirProperties properties) {
        return new FileWatch(
                configuration,
                properties.reload().pollInterval(),
                properties.reload().quietPeriod());
    }
}
