package io.weir.perf;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.ThreadPoolBulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.common.CompositeCustomizer;
import io.github.resilience4j.common.CustomizerWithName;
import io.github.resilience4j.common.bulkhead.configuration.CommonBulkheadConfigurationProperties;
import io.github.resilience4j.common.circuitbreaker.configuration.CommonCircuitBreakerConfigurationProperties;
import io.github.resilience4j.common.timelimiter.configuration.CommonTimeLimiterConfigurationProperties;
import io.github.resilience4j.timelimiter.TimeLimiterRegistry;
import java.nio.file.Path;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Spring Cloud Gateway in its usual configuration: one route with its CircuitBreaker filter. */
@SpringBootApplication
public class PlainGateway {

    /**
     * Resilience4j's defaults and the settings below {@code resilience4j}, like its module for Spring Boot.
     */
    @Bean
    CircuitBreakerRegistry circuitBreakerRegistry(Environment environment) {
        CircuitBreakerRegistry registry = CircuitBreakerRegistry.ofDefaults();
        var bound = bind(environment, "circuitbreaker", new CommonCircuitBreakerConfigurationProperties());
        bound.getInstances().forEach((name, instance) -> {
            registry.addConfiguration(name, bound.createCircuitBreakerConfig(name, instance, uncustomized()));
            registry.circuitBreaker(name, name);
        });
        return registry;
    }

    @Bean
    TimeLimiterRegistry timeLimiterRegistry(Environment environment) {
        TimeLimiterRegistry registry = TimeLimiterRegistry.ofDefaults();
        var bound = bind(environment, "timelimiter", new CommonTimeLimiterConfigurationProperties());
        bound.getInstances().forEach((name, instance) -> {
            registry.addConfiguration(name, bound.createTimeLimiterConfig(name, instance, uncustomized()));
            registry.timeLimiter(name, name);
        });
        return registry;
    }

    @Bean
    BulkheadRegistry bulkheadRegistry(Environment environment) {
        BulkheadRegistry registry = BulkheadRegistry.ofDefaults();
        var bound = bind(environment, "bulkhead", new CommonBulkheadConfigurationProperties());
        bound.getInstances().forEach((name, instance) -> {
            registry.addConfiguration(name, bound.createBulkheadConfig(instance, uncustomized(), name));
            registry.bulkhead(name, name);
        });
        return registry;
    }

    private static <T extends CustomizerWithName> CompositeCustomizer<T> uncustomized() {
        return new CompositeCustomizer<>(List.of());
    }

    @Bean
    ThreadPoolBulkheadRegistry threadPoolBulkheadRegistry() {
        return ThreadPoolBulkheadRegistry.ofDefaults();
    }

    private static <T> T bind(Environment environment, String section, T properties) {
        return Binder.get(environment)
                .bind("resilience4j." + section, Bindable.ofInstance(properties))
                .orElse(properties);
    }

    /** Starts with the properties of a file. */
    static void start(Path file) {
        start("--spring.config.location=" + file.toAbsolutePath());
    }

    /**
     * Forwards all requests to one backend. Without the bulkhead that Resilience4j adds to the filter if it
     * is on the class path: 25 calls in all, and a status of 500 for the next one.
     */
    static void start(int port, String backend) {
        String route = "--spring.cloud.gateway.server.webflux.routes[0].";
        start(
                "--spring.cloud.circuitbreaker.bulkhead.resilience4j.enabled=false",
                "--server.port=" + port,
                "--server.address=127.0.0.1",
                "--logging.level.root=WARN",
                "--spring.main.banner-mode=off",
                route + "id=all",
                route + "uri=" + backend,
                route + "predicates[0]=Path=/**",
                route + "filters[0]=CircuitBreaker=all");
    }

    private static void start(String... properties) {
        var unused = SpringApplication.run(PlainGateway.class, properties);
    }
}
