package io.weir.perf;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.ThreadPoolBulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.common.CompositeCustomizer;
import io.github.resilience4j.common.bulkhead.configuration.CommonBulkheadConfigurationProperties;
import io.github.resilience4j.common.circuitbreaker.configuration.CommonCircuitBreakerConfigurationProperties;
import io.github.resilience4j.common.timelimiter.configuration.CommonTimeLimiterConfigurationProperties;
import io.github.resilience4j.timelimiter.TimeLimiterRegistry;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Spring Cloud Gateway as its users have it: one route, with its own CircuitBreaker filter. */
@SpringBootApplication
public class PlainGateway {

    private static final String ROUTE = "spring.cloud.gateway.server.webflux.routes[0].";

    /** What Resilience4j's module for Spring Boot would bring: its defaults, and what is set under {@code resilience4j}. */
    @Bean
    CircuitBreakerRegistry circuitBreakerRegistry(Environment environment) {
        CircuitBreakerRegistry registry = CircuitBreakerRegistry.ofDefaults();
        CommonCircuitBreakerConfigurationProperties bound =
                bound(environment, "circuitbreaker", new CommonCircuitBreakerConfigurationProperties());
        bound.getInstances().forEach((name, instance) -> {
            registry.addConfiguration(
                    name, bound.createCircuitBreakerConfig(name, instance, new CompositeCustomizer<>(List.of())));
            registry.circuitBreaker(name, name);
        });
        return registry;
    }

    @Bean
    TimeLimiterRegistry timeLimiterRegistry(Environment environment) {
        TimeLimiterRegistry registry = TimeLimiterRegistry.ofDefaults();
        CommonTimeLimiterConfigurationProperties bound =
                bound(environment, "timelimiter", new CommonTimeLimiterConfigurationProperties());
        bound.getInstances().forEach((name, instance) -> {
            registry.addConfiguration(
                    name, bound.createTimeLimiterConfig(name, instance, new CompositeCustomizer<>(List.of())));
            registry.timeLimiter(name, name);
        });
        return registry;
    }

    @Bean
    BulkheadRegistry bulkheadRegistry(Environment environment) {
        BulkheadRegistry registry = BulkheadRegistry.ofDefaults();
        CommonBulkheadConfigurationProperties bound =
                bound(environment, "bulkhead", new CommonBulkheadConfigurationProperties());
        bound.getInstances().forEach((name, instance) -> {
            registry.addConfiguration(
                    name, bound.createBulkheadConfig(instance, new CompositeCustomizer<>(List.of()), name));
            registry.bulkhead(name, name);
        });
        return registry;
    }

    @Bean
    ThreadPoolBulkheadRegistry threadPoolBulkheadRegistry() {
        return ThreadPoolBulkheadRegistry.ofDefaults();
    }

    private static <T> T bound(Environment environment, String what, T properties) {
        return Binder.get(environment)
                .bind("resilience4j." + what, Bindable.ofInstance(properties))
                .orElse(properties);
    }

    /** As a file says. */
    static ConfigurableApplicationContext start(Path file) {
        return new SpringApplicationBuilder(PlainGateway.class)
                .properties(
                        Map.of("spring.config.location", file.toAbsolutePath().toString()))
                .run();
    }

    /** Listens on a port and forwards everything. */
    public static ConfigurableApplicationContext start(int port, URI backend) {
        Map<String, Object> properties = Map.of(
                // It would come along with Resilience4j's bulkhead on the class path, 25 calls for all, and refuse the
                // 26th with 500.
                "spring.cloud.circuitbreaker.bulkhead.resilience4j.enabled",
                false,
                "server.port",
                port,
                "server.address",
                "127.0.0.1",
                "logging.level.root",
                "WARN",
                "spring.main.banner-mode",
                "off",
                ROUTE + "id",
                "all",
                ROUTE + "uri",
                backend.toString(),
                ROUTE + "predicates[0]",
                "Path=/**",
                ROUTE + "filters[0]",
                "CircuitBreaker=all");
        return new SpringApplicationBuilder(PlainGateway.class)
                .properties(properties)
                .run();
    }
}
