package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.support.SpringFactoriesLoader;

class LogFormatTest {

    private final Map<String, Object> configured = new HashMap<>();

    private @Nullable String format() {
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new MapPropertySource("configured", configured));
        new LogFormat().postProcessEnvironment(environment, new SpringApplication());
        return environment.getProperty("logging.structured.format.console");
    }

    @Test
    void isJsonBesideTheAccessLogOnStandardOutput() {
        assertThat(format()).isEqualTo("ecs");
        configured.put("weir.access-log.enabled", "true");
        assertThat(format()).isEqualTo("ecs");
    }

    @Test
    void isTextIfTheAccessLogIsElsewhere() {
        configured.put("weir.access-log.file", "access.log");
        assertThat(format()).isNull();
        configured.clear();
        configured.put("weir.access-log.enabled", false);
        assertThat(format()).isNull();
    }

    @Test
    void isTheConfiguredOne() {
        configured.put("logging.structured.format.console", "logstash");
        assertThat(format()).isEqualTo("logstash");
        // Text, on purpose.
        configured.put("logging.structured.format.console", "");
        assertThat(format()).isEmpty();
    }

    @Test
    void isRegistered() {
        List<EnvironmentPostProcessor> processors =
                SpringFactoriesLoader.forDefaultResourceLocation().load(EnvironmentPostProcessor.class);
        assertThat(processors).hasAtLeastOneElementOfType(LogFormat.class);
    }
}
