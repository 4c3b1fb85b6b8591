package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.WeirProperties;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.bind.Binder;

/** Creates the same records as Spring Boot's binder. */
class RecordBinderTest {

    private static final Path ANNOTATED = Path.of("..", "config", "gateway.yml");

    @TempDir
    private Path directory;

    private void assertBoundAsBySpringBoot(String yaml, String... arguments) throws IOException {
        Path file = Files.writeString(directory.resolve("gateway.yml"), yaml);
        String[] all = new String[arguments.length + 1];
        all[0] = "--spring.config.additional-location=file:" + file;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        LoadedConfiguration loaded = LoadedConfiguration.load(Map.of(), all);
        ConfigurationSnapshot snapshot = new ConfigurationSnapshot(loaded.sources(), java.util.List.of());
        assertThat(snapshot.report().lines()).isEmpty();

        assertThat(snapshot.weir())
                .isEqualTo(Binder.get(loaded.sources().environment()).bindOrCreate("weir", WeirProperties.class));
    }

    @Test
    void bindsAnEmptyFile() throws IOException {
        assertBoundAsBySpringBoot("spring.application.name: weir");
    }

    @Test
    void bindsTheAnnotatedFile() throws IOException {
        assertBoundAsBySpringBoot(Files.readString(ANNOTATED));
    }

    @Test
    void bindsEveryProperty() throws IOException {
        String all = ShippedConfigurationTest.withAllSettingsEnabled(ANNOTATED)
                .lines()
                // The file has no SSL bundle, which a redirect needs, the addresses of its backends are in
                // their URIs, and a health check has one kind of request.
                .filter(line -> Stream.of("ssl-bundle:", "redirect-", "instances: [", "discovery:", "grpc-service:")
                        .noneMatch(line::contains))
                .collect(java.util.stream.Collectors.joining("\n"));
        assertBoundAsBySpringBoot(all, ShippedConfigurationTest.SECRETS);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "retry: { max-attempts: 3 }",
                "retry: { statuses: [502, 503] }, fallback: { status: 204 }",
                "retry: { statuses: '502,504', backoff: 5ms }",
                "fallback: { headers: { X-A: one, '[X.B]': two }, reasons: [circuit-open, deadline-exceeded] }",
                "fallback: { body: '' }",
                "maxConcurrentCalls: 3, mode: STREAM",
                "deadline: '${SOME_DEADLINE:70ms}'"
            })
    void bindsPropertiesOfARoute(String properties) throws IOException {
        assertBoundAsBySpringBoot("""
                weir:
                  backends:
                    orders: { uri: "http://localhost:1", circuit-breaker: { recordStatuses: 500 } }
                    stock-keeping: { uri: "https://localhost:2", connection: { max_idle: 3s } }
                  routes:
                    orders: { %s }
                    '[orders.v2]': { deadline: 100ms }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                  - { id: orders.v2, uri: "backend://orders", predicates: ["Path=/v2/orders/**"] }
                """.formatted(properties), "--weir.backends.orders.deadline=1s");
    }
}
