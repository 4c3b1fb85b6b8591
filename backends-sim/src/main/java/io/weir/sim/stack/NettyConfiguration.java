package io.weir.sim.stack;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/** Gives the server event loops of its own, as many as it was told: a thread count that Spring Boot has no property for. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStack({Stack.WEBFLUX_JDBC, Stack.WEBFLUX_R2DBC})
class NettyConfiguration {

    @Bean
    ReactorResourceFactory reactorResourceFactory(NettyProperties properties, MeterRegistry meters) {
        ReactorResourceFactory resources = new ReactorResourceFactory();
        resources.setUseGlobalResources(false);
        resources.setLoopResourcesSupplier(() -> LoopResources.create("sim-http", properties.count(), true));
        // The server's graceful shutdown has waited for what is in flight: nothing more is to come.
        resources.setShutdownQuietPeriod(Duration.ZERO);
        Gauge.builder("sim.netty.workers", properties, NettyProperties::count)
                .description("Event loops that serve requests")
                .register(meters);
        return resources;
    }
}
