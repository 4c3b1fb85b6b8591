package io.weir.accesslog;

import java.util.Map;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.Ordered;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/**
 * Gives standard output one format. While the access log writes JSON there, the gateway's own log is JSON
 * there, too ({@code ecs}), unless {@code logging.structured.format.console} names a format. Otherwise the
 * gateway's log is text.
 *
 * <p>Spring Boot reads the class's name from {@code META-INF/spring.factories}. It comes after the processor
 * that reads the configuration files, and before the listener that configures the log.
 */
public final class LogFormat implements EnvironmentPostProcessor, Ordered {

    /** The name of the property source. */
    public static final String SOURCE = "weirLogFormat";

    private static final String FORMAT = "logging.structured.format.console";
    private static final String ENABLED = "weir.access-log.enabled";
    private static final String FILE = "weir.access-log.file";
    /** The Elastic Common Schema, which log collectors know. */
    private static final String ECS = "ecs";

    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        // As text: a malformed value is reported by the configuration's check.
        boolean isOnStandardOutput = !"false"
                        .equalsIgnoreCase(
                                environment.getProperty(ENABLED, "true").strip())
                && environment.getProperty(FILE, "").isBlank();
        if (isOnStandardOutput && !environment.containsProperty(FORMAT)) {
            environment.getPropertySources().addLast(new MapPropertySource(SOURCE, Map.of(FORMAT, ECS)));
        }
    }
}
