package io.weir.sim.stack;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/** Configures the number of the server's event loops, for which Spring Boot has no property. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStack({Stack.WEBFLUX_JDBC, Stack.WEBFLUX_R2DBC})
class NettyConfiguration {

    @Bean
    ReactorResourceFactory reactorResourceFactory(NettyProperties properties, MeterRegistry meters) {
        ReactorResourceFactory resources = new ReactorResourceFactory();
        resources.setUseGlobalResources(false);
        resources.setLoopResourcesSupplier(() -> LoopResources.create("sim-http", properties.workerCount(), true));
        // The server's graceful shutdown has already waited for requests in flight.
        resources.setShutdownQuietPeriod(Duration.ZERO);
        Gauge.builder("sim.netty.workers", properties, NettyProperties::workerCount)
                .description("Event loops that serve requests")
                .register(meters);
        return resources;
    }
}
