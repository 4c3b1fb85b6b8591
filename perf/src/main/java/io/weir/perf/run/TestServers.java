package io.weir.perf.run;

import io.weir.perf.run.Processes.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Starts servers from their jars: simulated backends with their database, the gateway, the thread-per-request
 * front.
 */
public final class TestServers {

    /** Instead of the name of a stack: the jar with all stacks, as the first of them. */
    public static final String ALL_STACKS = "";

    private static final String HEAP = "512m";
    private static final String ALL_STACKS_JAR = "backends-sim/target/weir-backends-sim.jar";
    private static final Pattern DATABASE = Pattern.compile("^PostgreSQL is ready at (\\S+)$", Pattern.MULTILINE);

    private final ExperimentContext context;
    private @Nullable String database;

    TestServers(ExperimentContext context) {
        this.context = context;
    }

    /** A gateway, and the simulator behind its {@code /mvc/**}, which gets the faults. */
    public record GatewayUnderTest(RunningServer gateway, RunningServer backend) {}

    /**
     * Starts the gateway with {@code config/local.yml} between two simulators, or takes the one that runs
     * elsewhere; returns when all of them answer.
     */
    public GatewayUnderTest localGateway() throws InterruptedException {
        GatewayUnderTest tested;
        if (context.isRemote()) {
            tested = context.options.target().orElseThrow().servers();
        } else {
            RunningServer mvc = simulator("mvc", "mvc-jdbc");
            RunningServer reactive = simulator("neighbour", "webflux-r2dbc");
            tested = new GatewayUnderTest(gateway("local.yml", mvc, reactive), mvc);
            ready(mvc, "/delay?ms=1");
            ready(reactive, "/delay?ms=1");
            awaitReadiness(context.processes(), tested.gateway());
        }
        ready(tested.gateway(), "/mvc/delay?ms=1");
        ready(tested.gateway(), "/reactive/delay?ms=1");
        return tested;
    }

    /** The URL of the PostgreSQL for all simulators; the first call starts it. */
    private String database() throws InterruptedException {
        if (database != null) {
            return database;
        }
        context.progress("PostgreSQL starts");
        Path state = context.processes().directory().resolve("database");
        // Without the run's temporary directory: all runs share the unpacked PostgreSQL.
        String jar = context.file(ALL_STACKS_JAR).toString();
        List<String> command = List.of((Host.java() + " -Xmx128m -XX:TieredStopAtLevel=1 -jar " + jar
                        + " --sim.stack=postgres" + " --sim.database.state-dir=" + state)
                .split(" ", -1));
        ManagedProcess process = context.processes().start(Role.AUXILIARY, "postgres", command, Map.of());
        String url = context.processes().awaitOutput("PostgreSQL is ready", process, DATABASE);
        try {
            // The server is not a descendant of the process that started it.
            String pid =
                    Files.readAllLines(state.resolve("data/postmaster.pid")).getFirst();
            context.sampler.watch("postgres", Long.parseLong(pid.strip()));
            context.property(
                    "postgres.version",
                    Files.readString(state.resolve("data/PG_VERSION")).strip());
        } catch (IOException e) {
            throw new RunFailure("PostgreSQL's files are not where they are expected: " + e, e);
        }
        database = url;
        return url;
    }

    public Path stackJar(String stack) {
        return context.file("backends-sim/target/weir-backends-sim-" + stack + ".jar");
    }

    /** Starts the service under test from the jar of its stack; returns when it answers. */
    public RunningServer service(String stack, String path, String... settings) throws InterruptedException {
        RunningServer service = stack.equals(ALL_STACKS)
                ? simulator("service", "mvc-jdbc", settings)
                : simulator("service", Host.freePort(), stackJar(stack), stack, settings);
        return ready(service, path);
    }

    public RunningServer simulator(String name, String stack, String... settings) throws InterruptedException {
        return simulator(name, Host.freePort(), stack, settings);
    }

    public RunningServer simulator(String name, int port, String stack, String... settings)
            throws InterruptedException {
        return simulator(name, port, context.file(ALL_STACKS_JAR), stack, settings);
    }

    /** Starts a backend with ten workers for calls of 50 ms, so 200 per second, and an unbounded queue. */
    public RunningServer poolBackend() throws InterruptedException {
        return simulator(
                "mvc",
                "mvc-jdbc",
                "--sim.pool.workers=10",
                "--sim.pool.service-time=50ms",
                "--sim.pool.queue-capacity=-1");
    }

    private RunningServer simulator(String name, int port, Path jar, String stack, String[] settings)
            throws InterruptedException {
        String url = database();
        context.progress(name + " starts");
        int management = Host.freePort();
        List<String> arguments = new ArrayList<>(List.of(
                "--sim.stack=" + stack,
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + management,
                "--sim.database.url=" + url));
        arguments.addAll(List.of(settings));
        return RunningServer.local(start(name, jar, arguments), port, management);
    }

    /** Starts the gateway with one backend for both routes; returns when the gateway answers. */
    public GatewayUnderTest gatewayOf(RunningServer backend) throws InterruptedException {
        RunningServer gateway = gateway("local.yml", backend, backend);
        awaitReadiness(context.processes(), gateway);
        return new GatewayUnderTest(ready(gateway, "/mvc/work"), backend);
    }

    /** Starts the gateway between two backends with a file of {@code config/}. */
    public RunningServer gateway(String configuration, RunningServer mvc, RunningServer reactive, String... settings) {
        List<String> arguments = new ArrayList<>(List.of(settings));
        arguments.addFirst(context.file("config/" + configuration).toString());
        RunningServer gateway = gateway(
                context.processes(),
                context.java(HEAP),
                context.file("gateway/target/weir-gateway.jar").toString(),
                Map.of("MVC_PORT", mvc.port(), "REACTIVE_PORT", reactive.port()),
                arguments);
        context.sampler.sampleMeters(gateway);
        return gateway;
    }

    /** Starts a gateway on the ports of the environment, or on free ones. */
    public static RunningServer gateway(
            Processes processes, List<String> java, String jar, Map<String, Integer> ports, List<String> arguments) {
        int port = port("GATEWAY_PORT");
        int management = port("MANAGEMENT_PORT");
        Map<String, String> environment = new TreeMap<>();
        ports.forEach((variable, value) -> environment.put(variable, "" + value));
        environment.putAll(Map.of("GATEWAY_PORT", "" + port, "MANAGEMENT_PORT", "" + management));
        ManagedProcess process = processes.start("gateway", command(java, jar, arguments), environment);
        return RunningServer.local(process, port, management);
    }

    public RunningServer threadFront(int threads, RunningServer mvc, RunningServer reactive) {
        int port = port("GATEWAY_PORT");
        List<String> arguments = List.of(
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--server.tomcat.threads.max=" + threads,
                "--spring.main.banner-mode=off",
                "--backends.mvc=" + mvc.url(),
                "--backends.reactive=" + reactive.url());
        Path jar = context.file("perf/thread-front/target/weir-perf-thread-front.jar");
        return RunningServer.local(start("thread-front", jar, arguments), port, port);
    }

    private static List<String> command(List<String> java, String jar, List<String> arguments) {
        return Stream.of(java, List.of("-jar", jar), arguments)
                .flatMap(List::stream)
                .toList();
    }

    private ManagedProcess start(String name, Path jar, List<String> arguments) {
        return context.start(name, command(context.java(HEAP), jar.toString(), arguments));
    }

    private static int port(String variable) {
        String port = System.getenv(variable);
        return port == null ? Host.freePort() : Integer.parseInt(port);
    }

    public RunningServer ready(RunningServer server, String path) throws InterruptedException {
        context.processes().await(server.name() + " answers " + path, () -> HttpControl.answers(server.url() + path));
        return server;
    }

    /** Waits until a gateway is ready; its management port opens later than the service. */
    public static void awaitReadiness(Processes processes, RunningServer gateway) throws InterruptedException {
        processes.await(
                gateway.name() + " is ready",
                () -> HttpControl.answers(gateway.management() + "/actuator/health/readiness"));
    }
}
