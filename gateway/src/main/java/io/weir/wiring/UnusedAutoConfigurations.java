package io.weir.wiring;

import io.weir.config.check.ExtensionJars;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;

/**
 * Leaves out the auto-configurations whose beans the gateway does not use. They are a quarter of all bean
 * definitions, and a tenth of the processor time of a start. An extension may use them: where one is
 * installed, none is left out.
 */
final class UnusedAutoConfigurations implements AutoConfigurationImportFilter {

    private static final String BOOT = "org.springframework.boot.";
    private static final String CLOUD = "org.springframework.cloud.";
    private static final String RESILIENCE4J = "io.github.resilience4j.springboot.";

    /** Beginnings of the names of auto-configuration classes. */
    static final List<String> UNUSED = List.of(
            // The gateway uses Resilience4j's registries of breakers and of bulkheads alone.
            RESILIENCE4J + "bulkhead.autoconfigure.ThreadPool",
            RESILIENCE4J + "micrometer.",
            RESILIENCE4J + "ratelimiter.",
            RESILIENCE4J + "retry.",
            RESILIENCE4J + "timelimiter.",
            RESILIENCE4J + "verifier.",
            // No bean of the gateway is refreshed, and no endpoint of these is exposed.
            CLOUD + "autoconfigure.",
            // Of Spring Cloud's discovery, backends use the reactive client alone.
            CLOUD + "client.CommonsClient",
            CLOUD + "client.ReactiveCommonsClient",
            CLOUD + "client.discovery.composite.CompositeDiscoveryClient",
            CLOUD + "client.loadbalancer.",
            CLOUD + "client.serviceregistry.",
            CLOUD + "commons.config.",
            CLOUD + "gateway.discovery.",
            // These look at the class path, which a release does not change.
            CLOUD + "configuration.",
            CLOUD + "gateway.config.GatewayClassPathWarning",
            // Aspects, schedulers, and clients: the gateway has none of Spring's.
            BOOT + "autoconfigure.aop.",
            BOOT + "autoconfigure.task.",
            BOOT + "http.client.",
            BOOT + "micrometer.metrics.autoconfigure.task.",
            BOOT + "micrometer.observation.autoconfigure.ScheduledTasks",
            BOOT + "restclient.");

    /** For {@code META-INF/spring.factories}. */
    UnusedAutoConfigurations() {}

    @Override
    public boolean[] match(@Nullable String[] names, AutoConfigurationMetadata metadata) {
        boolean all = ExtensionJars.areInstalled();
        boolean[] used = new boolean[names.length];
        for (int i = 0; i < names.length; i++) {
            String name = names[i];
            // Another filter has left it out.
            used[i] = all || name == null || isUsed(name);
        }
        return used;
    }

    static boolean isUsed(String name) {
        return UNUSED.stream().noneMatch(name::startsWith);
    }
}
