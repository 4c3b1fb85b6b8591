package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.WeirApplication;
import io.weir.door.LiveRoutes;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.Route;
import io.weir.overload.OverloadSampler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.util.FileSystemUtils;
import tools.jackson.databind.JsonNode;

/** A whole gateway in this JVM, on free ports, with its access log in a temporary directory. */
public final class TestGateway implements AutoCloseable {

    /** How long a test waits for a condition that must come true. */
    public static final Duration PATIENCE = Patience.PATIENCE;

    private static final String NEIGHBOUR = "neighbour";
    private static final String ANY_PORT = "--management.server.port=0";

    private static final ClassMetadata CLASS_METADATA = new ClassMetadata();

    private final ConfigurableApplicationContext context;
    private final Path directory;
    private final List<AutoCloseable> others = new ArrayList<>();
    private final WrittenLog log;

    private TestGateway(ConfigurableApplicationContext context, Path directory) {
        this.context = context;
        this.directory = directory;
        this.log = new WrittenLog(directory.resolve("access.log"));
    }

    /** Builds a configuration that has each route twice, once for each door. */
    public static final class Setup {

        private final StringBuilder backends = new StringBuilder();
        private final StringBuilder routes = new StringBuilder();
        private final StringBuilder definitions = new StringBuilder();
        private final StringBuilder weir = new StringBuilder();
        private final StringBuilder rest = new StringBuilder();
        private final List<ApplicationContextInitializer<GenericApplicationContext>> beans = new ArrayList<>();
        private boolean countsPauses = true;

        private Setup() {}

        /** Adds a bean of the test, such as a filter. */
        public <T> Setup bean(Class<T> type, T bean) {
            beans.add(context -> context.registerBean(type, () -> bean));
            return this;
        }

        /** Adds a backend, with properties in YAML's flow style; {@link BackendYaml} supplements them. */
        public Setup backend(String name, String uri, String... properties) {
            return addressed(name, "uri: \"" + uri + '"', properties);
        }

        /** Adds a backend with several instances of weight 1. */
        public Setup instances(String name, List<String> uris, String... properties) {
            String listed = uris.stream().map(uri -> "{ uri: \"" + uri + "\" }").collect(Collectors.joining(", "));
            return addressed(name, "instances: [" + listed + ']', properties);
        }

        /** Adds a backend with another source of addresses than a URI, as a line of YAML. */
        public Setup addressed(String name, String address, String... properties) {
            backends.append(BackendYaml.line(name, address, properties));
            return this;
        }

        /** Adds a route for each door at {@link Door#path}, with Weir's properties in YAML's flow style. */
        public Setup route(String name, String backend, String... properties) {
            return filtered(name, backend, "", properties);
        }

        /**
         * Adds a route for each door, with filters of Spring Cloud Gateway.
         *
         * @param filters the elements of a list in YAML's flow style
         */
        public Setup filtered(String name, String backend, String filters, String... properties) {
            return add(name, backend, "", filters, properties);
        }

        /**
         * Adds a route for each door, with more predicates of Spring Cloud Gateway.
         *
         * @param predicates more elements of a list in YAML's flow style
         */
        public Setup matched(String name, String backend, String predicates, String... properties) {
            return add(name, backend, ", " + predicates, "", properties);
        }

        private Setup add(String name, String backend, String predicates, String filters, String... properties) {
            for (Door door : Door.values()) {
                String also = predicates + (door == Door.GENERAL ? ", \"After=2020-01-01T00:00:00Z\"" : "");
                definitions.append("""
                          - { id: %s, uri: "backend://%s", predicates: ["Path=%s"%s], filters: [%s] }
                        """.formatted(door.id(name), backend, door.path(name, "**"), also, filters));
                if (properties.length > 0) {
                    routes.append("    ")
                            .append(door.id(name))
                            .append(": { ")
                            .append(String.join(", ", properties))
                            .append(" }\n");
                }
            }
            return this;
        }

        /** Adds a line below {@code weir}. */
        public Setup weir(String line) {
            weir.append("  ").append(line).append('\n');
            return this;
        }

        /** Adds a line at the top level. */
        public Setup line(String line) {
            rest.append(line).append('\n');
            return this;
        }

        /**
         * Ends the measurement of the gateway's own pauses. Otherwise, if the gateway pauses, as it does on a
         * busy machine, the time of a call that exceeds its limit is no evidence against the backend, and
         * more calls than a fixed queue takes may wait.
         */
        public Setup withoutPauses() {
            countsPauses = false;
            return this;
        }

        /** Starts the gateway, with a healthy neighbour beside the backends. */
        public TestGateway start() {
            TestBackend neighbour = TestBackend.healthy();
            backend(NEIGHBOUR, neighbour.uri(), "deadline: 10s");
            route(NEIGHBOUR, NEIGHBOUR);
            String yaml =
                    "weir:\n" + weir + "  backends:\n" + backends + (routes.isEmpty() ? "" : "  routes:\n" + routes)
                            + "spring.cloud.gateway.server.webflux.routes:\n" + definitions + rest;
            TestGateway gateway = TestGateway.start(yaml, beans);
            gateway.others.add(neighbour);
            if (!countsPauses) {
                gateway.bean(OverloadSampler.class).close();
            }
            return gateway;
        }
    }

    /** Begins a configuration with a route for each door. */
    public static Setup setup() {
        return new Setup();
    }

    /** Starts a gateway with a configuration in YAML. */
    public static TestGateway start(String yaml) {
        return start(yaml, List.of());
    }

    private static TestGateway start(
            String yaml, List<ApplicationContextInitializer<GenericApplicationContext>> beans) {
        try {
            Path directory = temporary();
            return startWith(Files.writeString(directory.resolve("gateway.yml"), yaml), directory, beans, ANY_PORT);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a gateway as an operator restarts one: with an existing file and management port. */
    public static TestGateway startAgain(Path file, int managementPort) {
        try {
            return startWith(file, temporary(), List.of(), "--management.server.port=" + managementPort);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts one of several gateways, which differ in the address of their management ports. */
    public static TestGateway startAt(Path file, String managementAddress, int managementPort) {
        try {
            return startWith(
                    file,
                    temporary(),
                    List.of(),
                    "--management.server.port=" + managementPort,
                    "--management.server.address=" + managementAddress);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a gateway with an existing file. */
    public static TestGateway startWith(Path file) {
        try {
            return startWith(file, temporary(), List.of(), ANY_PORT);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static TestGateway startWith(
            Path file,
            Path directory,
            List<ApplicationContextInitializer<GenericApplicationContext>> beans,
            String... management) {
        SpringApplication application = new SpringApplicationBuilder(WeirApplication.class)
                .initializers(beans.toArray(ApplicationContextInitializer<?>[]::new))
                .initializers(CLASS_METADATA, new OwnLoops())
                .build();
        application.setDefaultProperties(Map.ofEntries(
                // The host that TestCaller names.
                Map.entry("weir.management.allowed-hosts", "weir.test"),
                Map.entry("server.port", 0),
                Map.entry("management.server.port", 0),
                Map.entry(
                        "weir.access-log.file", directory.resolve("access.log").toString()),
                // A machine that is busy with other work is no overload of the gateway.
                Map.entry("weir.overload.target-event-loop-delay", "1m"),
                Map.entry("weir.overload.max-event-loop-delay", "1m"),
                Map.entry("weir.drain.delay", "0s"),
                Map.entry("weir.drain.timeout", "5s"),
                // Few tests change a file, and most of those reload at once.
                Map.entry("weir.reload.watch", false),
                // A warm gateway needs seconds, and no test needs a warm gateway.
                Map.entry("weir.warm-up.max-duration", "0s"),
                Map.entry("logging.level.root", "WARN")));
        List<String> arguments =
                new ArrayList<>(List.of("--spring.config.additional-location=" + file, "--server.port=0"));
        arguments.addAll(List.of(management));
        return new TestGateway(application.run(arguments.toArray(String[]::new)), directory);
    }

    /**
     * A directory that is deleted when the JVM ends, so that tests can read it after the gateway has stopped.
     */
    private static Path temporary() throws IOException {
        Path directory = Files.createTempDirectory("weir-test");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> FileSystemUtils.deleteRecursively(directory.toFile())));
        return directory;
    }

    /** Replaces the configuration file in one step, as an editor does that keeps the old file on failure. */
    public synchronized void rewrite(String yaml) {
        try {
            Path next = Files.writeString(directory.resolve("gateway.yml.next"), yaml);
            Files.move(next, file(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The configuration file. */
    public Path file() {
        return directory.resolve("gateway.yml");
    }

    /** The callers' port. */
    public int port() {
        return port("local.server.port");
    }

    /** The management port. */
    public int managementPort() {
        return port("local.management.port");
    }

    private int port(String property) {
        return Integer.parseInt(Objects.requireNonNull(context.getEnvironment().getProperty(property), property));
    }

    /** A bean of the gateway. */
    public <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    /** Publishes an event in the gateway's application context. */
    public void publish(Object event) {
        context.publishEvent(event);
    }

    /** A backend in force. */
    public Backend backend(String name) {
        return Objects.requireNonNull(bean(LiveRoutes.class).get().backends().get(name), name);
    }

    /** A route in force, by {@link Door#id}. */
    public Route route(String id) {
        return Objects.requireNonNull(bean(LiveRoutes.class).get().byId().get(id), id);
    }

    // ---------------------------------------------------------------- between tests

    /** Closes all breakers and clears their windows. */
    public void calm() {
        bean(LiveRoutes.class).get().backends().values().forEach(backend -> {
            backend.health().operator().release();
        });
    }

    /** Waits until no permit, queue place, permission, probe or connection is held. */
    public void assertNothingHeld() {
        // A call ends less than a millisecond after its caller has read the answer.
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(1)).untilAsserted(() -> {
            assertThat(bean(Engine.class).inFlight()).as("in flight").isZero();
            assertThat(bean(Engine.class).streams()).as("streams").isZero();
            for (Backend backend : bean(LiveRoutes.class).get().backends().values()) {
                assertNothingHeld(backend);
            }
            bean(LiveRoutes.class).get().byId().values().forEach(route -> {
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
        assertThat(backend.compartment().inFlightShare().inFlight())
                .as(backend.name() + ": in flight")
                .isZero();
        assertThat(backend.health().overdue()).as(backend.name() + ": overdue").isZero();
        assertThat(backend.health().probes().underWay())
                .as(backend.name() + ": probes")
                .isZero();
        assertThat(backend.instances().all()).as(backend.name()).allSatisfy(instance -> {
            assertThat(instance.pool().acquired()).as("connections").isZero();
            assertThat(instance.pool().pending()).as("pending").isZero();
        });
    }

    // ---------------------------------------------------------------- log and meters

    /** The lines of the access log so far. */
    public List<JsonNode> log() {
        return log("");
    }

    /** The lines of the access log so far that contain a text. */
    public List<JsonNode> log(String text) {
        return log.lines(text);
    }

    /** The lines of the access log so far for a path. */
    public List<JsonNode> lines(String path) {
        return log().stream()
                .filter(line -> line.path("path").asString("").equals(path))
                .toList();
    }

    /** Waits for the one line of the access log for a path. */
    public JsonNode logged(String path) {
        List<JsonNode> lines = await().atMost(PATIENCE).until(() -> lines(path), found -> !found.isEmpty());
        assertThat(lines).as("lines for " + path).hasSize(1);
        return lines.getFirst();
    }

    /**
     * Waits until the log has one line for a request, and asserts that line and meter agree with the outcome.
     */
    public JsonNode assertTold(Door door, String route, String path, int status, String outcome) {
        JsonNode line = logged(path);
        assertThat(line.path("outcome").asString()).as("%s", line).isEqualTo(outcome);
        assertThat(line.path("status").asInt()).as("%s", line).isEqualTo(status);
        assertThat(line.path("door").asString()).as("%s", line).isEqualTo(door.word());
        assertThat(line.path("route").asString()).as("%s", line).isEqualTo(door.id(route));
        assertMetered(door.id(route), outcome);
        return line;
    }

    /** Waits until meter and log have the same number of requests for a route and an outcome. */
    public void assertMetered(String routeId, String outcome) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(metered(routeId, outcome))
                        .as("weir.requests of %s, %s", routeId, outcome)
                        .isEqualTo(log().stream()
                                .filter(line -> line.path("route").asString("").equals(routeId)
                                        && line.path("outcome").asString().equals(outcome))
                                .count()));
    }

    /** The meter's number of requests for a route and an outcome. */
    public long metered(String routeId, String outcome) {
        return bean(MeterRegistry.class)
                .find("weir.requests")
                .tags("route", routeId, "outcome", outcome)
                .timers()
                .stream()
                .mapToLong(Timer::count)
                .sum();
    }

    /** The meter's number of requests for a route and an outcome through a door. */
    public long metered(Door door, String routeId, String outcome) {
        return bean(MeterRegistry.class)
                .find("weir.requests")
                .tags("route", routeId, "outcome", outcome, "door", door.word())
                .timers()
                .stream()
                .mapToLong(Timer::count)
                .sum();
    }

    /** Waits until a backend's breaker has recorded these numbers of calls since {@link #calm()}. */
    public void assertFed(String backend, int calls, int failed, int slow) {
        // The window forgets calls while a failing assertion waits.
        Set<List<Integer>> seen = new LinkedHashSet<>();
        await().atMost(PATIENCE).untilAsserted(() -> {
            CircuitBreaker.Metrics fed =
                    backend(backend).health().resilience4j().getMetrics();
            List<Integer> now =
                    List.of(fed.getNumberOfBufferedCalls(), fed.getNumberOfFailedCalls(), fed.getNumberOfSlowCalls());
            seen.add(now);
            assertThat(now)
                    .as("%s: calls, failed, slow (all that were seen: %s)", backend, seen)
                    .isEqualTo(List.of(calls, failed, slow));
        });
    }

    /** Asserts that the neighbour answers, and that its breaker has recorded no failure. */
    public void assertNeighbourUnharmed() throws IOException {
        for (Door door : Door.values()) {
            assertThat(TestCaller.get(port(), door.path(NEIGHBOUR, "1")).status())
                    .as("the neighbour's status, " + door)
                    .isEqualTo(200);
        }
        CircuitBreaker.Metrics fed = backend(NEIGHBOUR).health().resilience4j().getMetrics();
        assertThat(fed.getNumberOfFailedCalls()).as("the neighbour's failures").isZero();
        assertThat(backend(NEIGHBOUR).health().state()).isEqualTo(CircuitBreaker.State.CLOSED);
    }

    @Override
    public void close() {
        context.close();
        for (AutoCloseable other : others) {
            try {
                other.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
