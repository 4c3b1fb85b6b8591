package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

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
    void isRegistered() throws IOException {
        Properties factories = new Properties();
        try (InputStream file = Files.newInputStream(Path.of("src/main/resources/META-INF/spring.factories"))) {
            factories.load(file);
        }
        assertThat(factories).containsEntry(EnvironmentPostProcessor.class.getName(), LogFormat.class.getName());
    }
}
