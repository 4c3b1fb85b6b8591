package io.weir.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.WeirApplication;
import io.weir.door.LiveRoutes;
import io.weir.testing.OwnLoops;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** A gateway starts with each file in {@code config/}, and both its ports answer. */
class ShippedConfigurationIT {

    private static final Path DIRECTORY = Path.of("..", "config");

    private final HttpClient client = HttpClient.newHttpClient();

    @ParameterizedTest(name = "{0}")
    @MethodSource("files")
    void starts(String file) throws Exception {
        SpringApplication application = new SpringApplicationBuilder(WeirApplication.class)
                .initializers(new OwnLoops())
                .build();
        try (ConfigurableApplicationContext context = application.run(
                "--spring.config.additional-location=file:" + DIRECTORY.resolve(file),
                "--server.port=0",
                "--management.server.port=0",
                "--weir.drain.delay=0s",
                "--weir.warm-up.max-duration=0s",
                "--WEIR_MANAGEMENT_TOKEN=0123456789abcdef",
                "--WEIR_READ_ONLY_TOKEN=read-only-0123456789")) {
            assertThat(context.getBean(LiveRoutes.class).get().views()).isNotEmpty();

            HttpResponse<String> answer = get(context, "local.server.port", "/nowhere");
            assertThat(answer.statusCode()).isEqualTo(404);
            assertThat(answer.body()).contains("urn:weir:no-route");
            assertThat(get(context, "local.management.port", "/actuator/health/readiness")
                            .statusCode())
                    .isEqualTo(200);
        }
    }

    static Stream<String> files() throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            return files
                    .map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".yml") && !name.equals("simulator.yml"))
                    .sorted()
                    .toList()
                    .stream();
        }
    }

    private HttpResponse<String> get(ConfigurableApplicationContext context, String port, String path)
            throws IOException, InterruptedException {
        URI uri = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty(port) + path);
        return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }
}
