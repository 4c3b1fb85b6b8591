package io.weir.perf;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.ThreadPoolBulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.timelimiter.TimeLimiterRegistry;
import java.net.URI;
import java.util.Map;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** Spring Cloud Gateway as its users have it: one route, with its own CircuitBreaker filter. */
@SpringBootApplication
public class PlainGateway {

    private static final String ROUTE = "spring.cloud.gateway.server.webflux.routes[0].";

    /** What Resilience4j's module for Spring Boot 3 would bring. */
    @Bean
    CircuitBreakerRegistry circuitBreakerRegistry() {
        return CircuitBreakerRegistry.ofDefaults();
    }

    @Bean
    TimeLimiterRegistry timeLimiterRegistry() {
        return TimeLimiterRegistry.ofDefaults();
    }

    @Bean
    BulkheadRegistry bulkheadRegistry() {
        return BulkheadRegistry.ofDefaults();
    }

    @Bean
    ThreadPoolBulkheadRegistry threadPoolBulkheadRegistry() {
        return ThreadPoolBulkheadRegistry.ofDefaults();
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
