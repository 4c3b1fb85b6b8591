package io.weir.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;

/**
 * The gateway's image with simulators and PostgreSQL: it isolates a fault, runs without privileges, and
 * drains on exit.
 */
@EnabledIfSystemProperty(named = "containers", matches = "true", disabledReason = ContainerStand.SKIP_REASON)
@Timeout(1800)
class ImageIT {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String TOKEN = "0123456789abcdef0123";

    // Generous limits, except for the broken backend: on a busy machine the neighbour's calls must still
    // succeed.
    private static final String CONFIGURATION = """
            server.port: 8080
            management.server: { port: 8081, address: 0.0.0.0 }
            spring.cloud.gateway.server.webflux.routes:
              - { id: mvc, uri: "backend://mvc", predicates: [ "Path=/mvc/**" ], filters: [ StripPrefix=1 ] }
              - { id: reactive, uri: "backend://reactive", predicates: [ "Path=/reactive/**" ], filters: [ StripPrefix=1 ] }
            weir:
              backends:
                mvc:
                  uri: http://mvc-jdbc:8080
                  deadline: 4s
                  connection: { connect-timeout: 3s }
                  circuit-breaker: { slow-call-duration-threshold: 1s, sliding-window-size: 10, minimum-number-of-calls: 5 }
                reactive:
                  uri: http://webflux-r2dbc:8080
                  deadline: 20s
                  connection: { connect-timeout: 10s }
              drain: { delay: 1s, timeout: 20s }
              overload: { target-event-loop-delay: 1m, max-event-loop-delay: 1m }
              management.token: %s
            """.formatted(TOKEN);

    private static final Pattern HEAP = Pattern.compile(" MaxHeapSize += (\\d+) ");
    private static final Pattern PERMIT_IN_USE = Pattern.compile("weir_permits_used\\{backend=\"reactive\".*} 1\\.0");

    @TempDir
    static Path directory;

    private static ContainerStand stand;
    private static GenericContainer<?> mvc;
    private static GenericContainer<?> gateway;
    private static Path configuration;

    @BeforeAll
    static void start() throws IOException {
        stand = new ContainerStand();
        stand.database();
        mvc = ContainerStand.simulator("mvc-jdbc");
        configuration = Files.writeString(directory.resolve("weir.yml"), CONFIGURATION);
        gateway = ContainerStand.gateway("gateway", configuration).withEnv(ContainerStand.WARM_UP, "20s");
        stand.start(mvc, ContainerStand.simulator("webflux-r2dbc"), gateway);
        // The first calls of a cold JVM may be slow on a busy machine; fast ones replace them in the windows
        // of the breakers.
        for (int i = 0; i < 10; i++) {
            for (String path : List.of("/mvc/records", "/reactive/records")) {
                await().atMost(PATIENCE).until(() -> statusOf(path) == 200);
            }
        }
    }

    @AfterAll
    static void stop() {
        if (stand != null) {
            stand.close();
        }
    }

    @Test
    void isolatesAHangOfOneBackend() throws Exception {
        assertThat(ask("/mvc/records").statusCode()).isEqualTo(200);
        assertThat(ask("/reactive/records").statusCode()).isEqualTo(200);
        Map<Integer, Integer> neighbour = new ConcurrentHashMap<>();
        AtomicBoolean isOver = new AtomicBoolean();
        Thread caller = Thread.startVirtualThread(() -> {
            while (!isOver.get()) {
                neighbour.merge(statusOf("/reactive/records"), 1, Integer::sum);
            }
        });

        ContainerStand.faults(mvc, "{\"kind\": \"hang\", \"path\": \"/records/**\"}");
        HttpResponse<String> late = ask("/mvc/records");
        assertThat(late.statusCode()).isEqualTo(504);
        assertThat(late.headers().firstValue("proxy-status").orElseThrow()).endsWith("; details=\"deadline-exceeded\"");
        // Ten calls at a time: while the breaker is open, one of them may be the probe, which waits for the
        // deadline.
        await().atMost(PATIENCE)
                .until(() -> burst("/mvc/records").stream()
                        .anyMatch(answer -> answer.statusCode() == 503
                                && answer.headers()
                                        .firstValue("proxy-status")
                                        .orElse("")
                                        .endsWith("; details=\"circuit-open\"")
                                && answer.headers().firstValue("retry-after").isPresent()));
        int before = count(neighbour);
        await().atMost(PATIENCE).until(() -> count(neighbour) >= before + 20);

        ContainerStand.faults(mvc, "");
        await().atMost(PATIENCE).until(() -> statusOf("/mvc/records") == 200);
        isOver.set(true);
        caller.join();
        assertThat(neighbour).as("answers of the neighbour, by status").containsOnlyKeys(200);
    }

    @ParameterizedTest(name = "{0}", autoCloseArguments = false)
    @MethodSource("images")
    void runsWithoutPrivilegesOnAReadOnlyFileSystem(String image, GenericContainer<?> container) throws Exception {
        assertThat(ContainerStand.inspect(container).getConfig().getUser()).isEqualTo("10001:10001");
        assertThat(run(container, "id -u; id -g").getStdout()).isEqualTo("10001\n10001\n");
        assertThat(run(container, "tr '\\0' ' ' </proc/1/cmdline").getStdout())
                .as("process 1, which receives signals")
                .startsWith("java ");
        assertThat(run(container, "touch /opt/weir/file").getStderr()).contains("Read-only file system");
        assertThat(run(container, "grep ^CapEff: /proc/1/status").getStdout()).isEqualTo("CapEff:\t0000000000000000\n");
        assertThat(Objects.requireNonNull(
                        ContainerStand.inspect(container).getConfig().getLabels()))
                .containsKeys(
                        "org.opencontainers.image.title",
                        "org.opencontainers.image.version",
                        "org.opencontainers.image.revision");
    }

    @ParameterizedTest(name = "{0}", autoCloseArguments = false)
    @MethodSource("images")
    void usesG1AndItsShareOfTheContainersMemory(String image, GenericContainer<?> container, double share)
            throws Exception {
        String flags = run(container, "java @/opt/weir/java.options -XX:+PrintFlagsFinal -version 2>&1")
                .getStdout();

        assertThat(flags).containsPattern(" UseG1GC +:?= true ").containsPattern(" UseCompactObjectHeaders +:?= true ");
        Matcher heap = HEAP.matcher(flags);
        assertThat(heap.find()).as(flags).isTrue();
        assertThat(Long.parseLong(heap.group(1)) / (double) ContainerStand.MEMORY_BYTES)
                .isCloseTo(share, within(0.02));
    }

    static Stream<Arguments> images() {
        return Stream.of(Arguments.of("gateway", gateway, 0.4), Arguments.of("simulator", mvc, 0.5));
    }

    @Test
    void startsFromItsAotCacheAndUsesTheNativeTransport() throws Exception {
        // With AOTMode=on Java does not start if the cache does not fit.
        ExecResult validated = run("java @/opt/weir/java.options -XX:AOTMode=on -XX:AOTCache=/opt/weir/weir-gateway.aot"
                + " -Xlog:class+load:file=/tmp/classes -cp '/opt/weir/weir-gateway.jar:/opt/weir/extensions/*'"
                + " io.weir.WeirApplication --validate /etc/weir/weir.yml");
        assertThat(validated.getExitCode()).as("%s", validated).isZero();
        assertThat(run("grep 'io.weir.WeirApplication source:' /tmp/classes").getStdout())
                .endsWith("source: shared objects file\n");
        assertThat(run("tr '\\0' '\\n' </proc/1/cmdline").getStdout())
                .contains("-XX:AOTCache=/opt/weir/weir-gateway.aot\n");
        assertThat(run("cat /proc/1/maps").getStdout())
                .contains("/opt/weir/native/libnetty_transport_native_epoll_", "/opt/weir/native/libnetty_tcnative_");
    }

    @Test
    void finishesRequestsInFlightWhenStopped() throws Exception {
        GenericContainer<?> leaving = ContainerStand.gateway("leaving", configuration);
        stand.start(leaving);
        CompletableFuture<HttpResponse<String>> inFlight =
                ContainerStand.getAsync(leaving, ContainerStand.SERVICE, "/reactive/delay?ms=8000");
        await().atMost(PATIENCE)
                .until(() -> PERMIT_IN_USE.matcher(metricsOf(leaving)).find());

        assertThat(ContainerStand.terminate(leaving)).as("a clean stop").isZero();

        assertThat(inFlight.join().statusCode()).isEqualTo(200);
        assertThat(leaving.getLogs()).contains("Draining: not ready any more").contains("Drained: 0 in flight");
    }

    @Test
    void simulatorFinishesRequestsInFlightWhenStopped() throws Exception {
        GenericContainer<?> leaving = ContainerStand.simulator("webflux-r2dbc", "leaving-simulator");
        stand.start(leaving);
        CompletableFuture<HttpResponse<String>> inFlight =
                ContainerStand.getAsync(leaving, ContainerStand.SERVICE, "/delay?ms=8000");
        await().atMost(PATIENCE)
                .until(() -> ContainerStand.get(leaving, ContainerStand.SIMULATOR_MANAGEMENT, "/actuator/prometheus")
                        .body()
                        .contains("\nsim_requests_in_flight 1.0\n"));

        assertThat(ContainerStand.terminate(leaving)).as("128 + SIGTERM").isEqualTo(143);

        assertThat(inFlight.join().statusCode()).isEqualTo(200);
        assertThat(leaving.getLogs()).contains("Graceful shutdown complete");
    }

    /** The layer that changes with every version is small; layers below are pulled once. */
    @ParameterizedTest(name = "{0}", autoCloseArguments = false)
    @MethodSource("images")
    void keepsItsLibrariesOutOfItsJar(String image, GenericContainer<?> container) throws Exception {
        String jar = run(container, "stat -c %s /opt/weir/*.jar").getStdout().strip();
        String libraries =
                run(container, "ls /opt/weir/lib | wc -l").getStdout().strip();

        assertThat(Long.parseLong(jar)).isLessThan(3L << 20);
        assertThat(Integer.parseInt(libraries)).isGreaterThan(40);
    }

    private static ExecResult run(String script) throws IOException, InterruptedException {
        return run(gateway, script);
    }

    private static ExecResult run(GenericContainer<?> container, String script)
            throws IOException, InterruptedException {
        return container.execInContainer("bash", "-c", script);
    }

    private static HttpResponse<String> ask(String path) throws IOException, InterruptedException {
        return ContainerStand.get(gateway, ContainerStand.SERVICE, path);
    }

    private static String metricsOf(GenericContainer<?> gateway) throws IOException, InterruptedException {
        return ContainerStand.get(
                        gateway,
                        ContainerStand.GATEWAY_MANAGEMENT,
                        "/actuator/prometheus",
                        "Authorization",
                        "Bearer " + TOKEN)
                .body();
    }

    private static List<HttpResponse<String>> burst(String path) {
        List<CompletableFuture<HttpResponse<String>>> calls = IntStream.range(0, 10)
                .mapToObj(call -> ContainerStand.getAsync(gateway, ContainerStand.SERVICE, path))
                .toList();
        return calls.stream().map(CompletableFuture::join).toList();
    }

    private static int statusOf(String path) {
        try {
            return ask(path).statusCode();
        } catch (IOException e) {
            return -1;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int count(Map<Integer, Integer> answers) {
        return answers.values().stream().mapToInt(Integer::intValue).sum();
    }
}
