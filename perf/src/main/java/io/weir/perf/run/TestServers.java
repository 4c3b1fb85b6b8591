package io.weir.perf.run;

import io.weir.perf.run.Processes.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Starts servers from their jars: simulated backends with their database, the gateway, the thread-per-request
 * front.
 */
public final class TestServers {

    private static final String HEAP = "512m";
    private static final Pattern DATABASE = Pattern.compile("^PostgreSQL is ready at (\\S+)$", Pattern.MULTILINE);

    private final ExperimentContext context;
    private @Nullable String database;

    public TestServers(ExperimentContext context) {
        this.context = context;
    }

    /** The URL of the PostgreSQL for all simulators; the first call starts it. */
    private String database() throws InterruptedException {
        if (database != null) {
            return database;
        }
        context.progress("PostgreSQL starts");
        // Without the run's temporary directory: all runs share the unpacked PostgreSQL.
        List<String> command = List.of(
                Host.java(),
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-jar",
                jar("backends-sim/target/weir-backends-sim.jar"),
                "--sim.stack=postgres",
                "--sim.database.state-dir=" + context.temporary().resolve("database"));
        ManagedProcess process = context.processes().start(Role.AUXILIARY, "postgres", command, Map.of());
        context.processes()
                .await(
                        "PostgreSQL is ready",
                        () -> DATABASE.matcher(process.output()).find());
        Matcher matcher = DATABASE.matcher(process.output());
        if (!matcher.find()) {
            throw new IllegalStateException("no URL of PostgreSQL");
        }
        Path data = context.temporary().resolve("database/data");
        try {
            // The server is not a descendant of the process that started it.
            String pid = Files.readAllLines(data.resolve("postmaster.pid")).getFirst();
            context.watch("postgres", Long.parseLong(pid.strip()));
            String version = Files.readString(data.resolve("PG_VERSION")).strip();
            context.property("postgres.version", version);
        } catch (IOException e) {
            throw new RunFailure("PostgreSQL's files are not where they are expected: " + e, e);
        }
        database = matcher.group(1);
        return database;
    }

    /** The jar of a single stack, with only what that stack needs. */
    public Path stackJar(String stack) {
        return context.root().resolve("backends-sim/target/weir-backends-sim-" + stack + ".jar");
    }

    /** Starts the service under test from the jar of its stack; returns when it answers. */
    public RunningServer service(String stack, String path, String... settings) throws InterruptedException {
        return ready(simulator("service", stackJar(stack).toString(), stack, settings), path);
    }

    /** Starts a simulated backend from the jar with all stacks. */
    public RunningServer simulator(String name, String stack, String... settings) throws InterruptedException {
        return simulator(name, jar("backends-sim/target/weir-backends-sim.jar"), stack, settings);
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

    private RunningServer simulator(String name, String jar, String stack, String[] settings)
            throws InterruptedException {
        String url = database();
        context.progress(name + " starts");
        int port = Host.freePort();
        int management = Host.freePort();
        List<String> command = new ArrayList<>(context.java(HEAP));
        command.addAll(List.of(
                "-jar",
                jar,
                "--sim.stack=" + stack,
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + management,
                "--sim.database.url=" + url));
        command.addAll(List.of(settings));
        return RunningServer.local(context.start(name, command), port, management);
    }

    /** Starts the gateway between two backends with a file of {@code config/}. */
    public RunningServer gateway(String configuration, RunningServer mvc, RunningServer reactive, String... settings) {
        List<String> arguments = new ArrayList<>();
        arguments.add(context.root().resolve("config").resolve(configuration).toString());
        arguments.addAll(List.of(settings));
        RunningServer gateway = gateway(
                context.processes(),
                context.java(HEAP),
                jar("gateway/target/weir-gateway.jar"),
                Map.of("MVC_PORT", mvc.port(), "REACTIVE_PORT", reactive.port()),
                arguments);
        context.sampleMeters(gateway);
        return gateway;
    }

    /** Starts a gateway on the ports of the environment, or on free ones. */
    public static RunningServer gateway(
            Processes processes, List<String> java, String jar, Map<String, Integer> ports, List<String> arguments) {
        int port = port("GATEWAY_PORT");
        int management = port("MANAGEMENT_PORT");
        List<String> command = new ArrayList<>(java);
        command.addAll(List.of("-jar", jar));
        command.addAll(arguments);
        Map<String, String> environment = new java.util.TreeMap<>(
                Map.of("GATEWAY_PORT", Integer.toString(port), "MANAGEMENT_PORT", Integer.toString(management)));
        ports.forEach((name, value) -> environment.put(name, Integer.toString(value)));
        return RunningServer.local(processes.start("gateway", command, environment), port, management);
    }

    /** Starts Spring MVC with that many threads. */
    public RunningServer threadFront(int threads, RunningServer mvc, RunningServer reactive) {
        int port = port("GATEWAY_PORT");
        List<String> command = new ArrayList<>(context.java(HEAP));
        command.addAll(List.of(
                "-jar",
                jar("perf/thread-front/target/weir-perf-thread-front.jar"),
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--server.tomcat.threads.max=" + threads,
                "--spring.main.banner-mode=off",
                "--backends.mvc=" + mvc.url(),
                "--backends.reactive=" + reactive.url()));
        return RunningServer.local(context.start("thread-front", command), port, port);
    }

    private static int port(String variable) {
        String port = System.getenv(variable);
        return port == null ? Host.freePort() : Integer.parseInt(port);
    }

    private String jar(String path) {
        return context.root().resolve(path).toString();
    }

    /** Waits until the server answers a path with 200. */
    public RunningServer ready(RunningServer server, String path) throws InterruptedException {
        context.processes().await(server.name() + " answers " + path, () -> HttpControl.answers(server.url() + path));
        return server;
    }

    /** Waits until the management port answers; it opens later than the service. */
    public void manageable(RunningServer gateway) throws InterruptedException {
        awaitReadiness(context.processes(), gateway);
    }

    /** Waits until a gateway is ready. */
    public static void awaitReadiness(Processes processes, RunningServer gateway) throws InterruptedException {
        processes.await(
                gateway.name() + " is ready",
                () -> HttpControl.answers(gateway.management() + "/actuator/health/readiness"));
    }
}
