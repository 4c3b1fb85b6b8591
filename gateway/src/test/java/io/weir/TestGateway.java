package io.weir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.door.Routes;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A whole gateway in this JVM, on ports of its own, with its access log at hand. */
public final class TestGateway implements AutoCloseable {

    /** How long a test waits for what must come. */
    public static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ConfigurableApplicationContext context;
    private final Path directory;

    private TestGateway(ConfigurableApplicationContext context, Path directory) {
        this.context = context;
        this.directory = directory;
    }

    /** Starts one with a configuration, which is YAML from its first column on. */
    public static TestGateway start(String yaml) {
        try {
            Path directory = Files.createTempDirectory("weir-test");
            Path file = directory.resolve("gateway.yml");
            Files.writeString(file, yaml);
            SpringApplication application = new SpringApplicationBuilder(WeirApplication.class).build();
            application.setDefaultProperties(Map.of(
                    "server.port",
                    0,
                    "management.server.port",
                    0,
                    "weir.access-log.file",
                    directory.resolve("access.log").toString(),
                    "weir.drain.delay",
                    "0s",
                    "weir.drain.timeout",
                    "5s",
                    "logging.level.root",
                    "WARN"));
            return new TestGateway(
                    application.run(
                            "--spring.config.additional-location=" + file,
                            "--server.port=0",
                            "--management.server.port=0"),
                    directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where callers connect. */
    public int port() {
        return port("local.server.port");
    }

    /** Where operators connect. */
    public int managementPort() {
        return port("local.management.port");
    }

    private int port(String property) {
        return Integer.parseInt(Objects.requireNonNull(context.getEnvironment().getProperty(property), property));
    }

    /** One of its parts. */
    public <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    /** One of its backends. */
    public Backend backend(String name) {
        return Objects.requireNonNull(bean(Routes.class).backends().get(name), name);
    }

    /** Everything is given back: permits, places in queues, permissions, probes, connections. Waits for it. */
    public void assertNothingHeld() {
        await().atMost(PATIENCE).untilAsserted(() -> {
            assertThat(bean(Engine.class).inFlight()).as("in flight").isZero();
            assertThat(bean(Engine.class).streams()).as("streams").isZero();
            for (Backend backend : bean(Routes.class).backends().values()) {
                assertNothingHeld(backend);
            }
            bean(Routes.class).byId().values().forEach(route -> {
                if (route.limit() != null) {
                    assertThat(route.limit().inUse())
                            .as("permits of route " + route.id())
                            .isZero();
                }
                if (route.fallback() != null) {
                    assertThat(route.fallback().limit().inUse())
                            .as("fallbacks of route " + route.id())
                            .isZero();
                }
            });
        });
    }

    private static void assertNothingHeld(Backend backend) {
        assertThat(backend.bulkhead().inUse()).as(backend.name() + ": permits").isZero();
        assertThat(backend.bulkhead().queued()).as(backend.name() + ": queued").isZero();
        assertThat(backend.streams().inUse()).as(backend.name() + ": streams").isZero();
        assertThat(backend.breaker().overdue()).as(backend.name() + ": overdue").isZero();
        assertThat(backend.breaker().probesUnderWay())
                .as(backend.name() + ": probes")
                .isZero();
        assertThat(backend.pool().acquired())
                .as(backend.name() + ": connections")
                .isZero();
        assertThat(backend.pool().pending()).as(backend.name() + ": pending").isZero();
    }

    /** The access log so far. */
    public List<JsonNode> log() {
        try {
            Path file = directory.resolve("access.log");
            if (!Files.exists(file)) {
                return List.of();
            }
            return Files.readAllLines(file).stream()
                    .map(line -> JsonMapper.shared().readTree(line))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The one line of the access log for a path; waits for it. */
    public JsonNode logged(String path) {
        return await().atMost(PATIENCE)
                .until(
                        () -> log().stream()
                                .filter(line -> line.path("path").asString("").equals(path))
                                .toList(),
                        lines -> !lines.isEmpty())
                .getFirst();
    }

    @Override
    public void close() {
        context.close();
    }
}
