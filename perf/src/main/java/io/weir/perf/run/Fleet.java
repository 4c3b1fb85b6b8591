package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Starts what experiments are about, each a process of its own from its built jar: the database, simulated backends, the gateway, the thread-per-request front. */
public final class Fleet {

    private static final Pattern DATABASE = Pattern.compile("^PostgreSQL is ready at (\\S+)$", Pattern.MULTILINE);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final Bench bench;
    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(PATIENCE)
            .build();

    /** A fleet on a bench. */
    public Fleet(Bench bench) {
        this.bench = bench;
    }

    /**
     * A front or a backend.
     *
     * @param child its process
     * @param port where it serves
     * @param managementPort where it is looked at, and broken
     */
    public record Server(Child child, int port, int managementPort) {

        /** Where it is. */
        public String url() {
            return "http://127.0.0.1:" + port;
        }
    }

    /** A PostgreSQL for those simulators that are told so; its URL. */
    public String database() throws InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                // Without the run's temporary folder: PostgreSQL is unpacked once for all runs.
                bench.javaCommand(),
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-jar",
                simulator().toString(),
                "--sim.stack=postgres",
                "--sim.database.state-dir=" + bench.temporary().resolve("database")));
        Child child = bench.launchBeside("postgres", command);
        bench.await("PostgreSQL is ready", () -> DATABASE.matcher(child.said()).find());
        Matcher matcher = DATABASE.matcher(child.said());
        if (!matcher.find()) {
            throw new IllegalStateException("it has said so");
        }
        try {
            bench.raw()
                    .property(
                            "postgres.version",
                            Files.readString(bench.temporary().resolve("database/data/PG_VERSION"))
                                    .strip());
        } catch (IOException e) {
            bench.raw().property("postgres.version", "unknown");
        }
        return matcher.group(1);
    }

    /** A simulated backend; {@link #ready} waits for it. */
    public Server backend(String name, String stack, String database, String... settings) {
        int port = Bench.freePort();
        int management = Bench.freePort();
        List<String> command = new ArrayList<>(bench.java("512m"));
        command.addAll(List.of(
                "-jar",
                simulator().toString(),
                "--sim.stack=" + stack,
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + management,
                "--sim.database.url=" + database));
        command.addAll(List.of(settings));
        return new Server(bench.launch(name, command, Map.of()), port, management);
    }

    /**
     * The gateway between two backends; {@link #ready} waits for it.
     *
     * @param configuration a file of {@code config/}
     */
    public Server gateway(String configuration, Server mvc, Server reactive, String... settings) {
        int port = chosen("GATEWAY_PORT");
        int management = chosen("MANAGEMENT_PORT");
        List<String> command = new ArrayList<>(bench.java("512m"));
        command.addAll(List.of(
                "-jar",
                bench.root().resolve("gateway/target/weir-gateway.jar").toString(),
                bench.root().resolve("config").resolve(configuration).toString()));
        command.addAll(List.of(settings));
        Child child = bench.launch(
                "gateway",
                command,
                Map.of(
                        "GATEWAY_PORT", Integer.toString(port),
                        "MANAGEMENT_PORT", Integer.toString(management),
                        "MVC_PORT", Integer.toString(mvc.port()),
                        "REACTIVE_PORT", Integer.toString(reactive.port())));
        bench.scrape(child, management);
        return new Server(child, port, management);
    }

    /** Spring MVC with so many threads; {@link #ready} waits for it. */
    public Server threadFront(int threads, Server mvc, Server reactive) {
        int port = chosen("GATEWAY_PORT");
        List<String> command = new ArrayList<>(bench.java("512m"));
        command.addAll(List.of(
                "-jar",
                bench.root()
                        .resolve("perf/thread-front/target/weir-perf-thread-front.jar")
                        .toString(),
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--server.tomcat.threads.max=" + threads,
                "--spring.main.banner-mode=off",
                "--backends.mvc=" + mvc.url(),
                "--backends.reactive=" + reactive.url()));
        return new Server(bench.launch("thread-front", command, Map.of()), port, port);
    }

    private static int chosen(String variable) {
        String port = System.getenv(variable);
        return port == null ? Bench.freePort() : Integer.parseInt(port);
    }

    private Path simulator() {
        return bench.root().resolve("backends-sim/target/weir-backends-sim.jar");
    }

    /** Waits until it answers this with 200. */
    public void ready(Server server, String path) throws InterruptedException {
        bench.await(server.child().name() + " answers " + path, () -> answers(server.url() + path));
    }

    private boolean answers(String url) {
        try {
            return send(HttpRequest.newBuilder(URI.create(url))
                            .timeout(PATIENCE)
                            .build())
                    == 200;
        } catch (IOException e) {
            return false;
        }
    }

    private int send(HttpRequest request) throws IOException {
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    /** Breaks a backend, in the simulator's words. */
    public void breaks(Server backend, String fault) {
        faults(backend, HttpRequest.newBuilder().PUT(HttpRequest.BodyPublishers.ofString(fault)), fault);
    }

    /** Makes it whole again. */
    public void heal(Server backend) {
        faults(backend, HttpRequest.newBuilder().DELETE(), "heal");
    }

    private void faults(Server backend, HttpRequest.Builder request, String what) {
        URI uri = URI.create("http://127.0.0.1:" + backend.managementPort() + "/faults");
        try {
            int status = send(request.uri(uri)
                    .timeout(PATIENCE)
                    .header("Content-Type", "application/json")
                    .build());
            if (status / 100 != 2) {
                throw new RunFailure(backend.child().name() + " does not understand " + what + ", status " + status);
            }
        } catch (IOException e) {
            throw new RunFailure(backend.child().name() + " cannot be told " + what + ": " + e.getMessage(), e);
        }
    }

    /** The sum of one of the gateway's meters, over the lines that have all of these labels. */
    public double meter(Server gateway, String name, String... labels) {
        URI uri = URI.create("http://127.0.0.1:" + gateway.managementPort() + "/actuator/prometheus");
        try {
            return http.send(
                            HttpRequest.newBuilder(uri).timeout(PATIENCE).build(), HttpResponse.BodyHandlers.ofString())
                    .body()
                    .lines()
                    .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
                    .filter(line -> List.of(labels).stream().allMatch(line::contains))
                    .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .sum();
        } catch (IOException e) {
            throw new RunFailure("the gateway does not tell " + name + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RunFailure("stopped", e);
        }
    }

    /** Changes a backend's limit at run time, as an operator does. */
    public void limit(Server gateway, String backend, int calls) {
        URI uri = URI.create("http://127.0.0.1:" + gateway.managementPort() + "/actuator/weir/" + backend);
        try {
            int status = send(HttpRequest.newBuilder(uri)
                    .timeout(PATIENCE)
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString("{\"max-concurrent-calls\": " + calls + "}"))
                    .build());
            if (status / 100 != 2) {
                throw new RunFailure("the gateway does not take a limit of " + calls + ", status " + status);
            }
        } catch (IOException e) {
            throw new RunFailure("the gateway does not take a limit: " + e.getMessage(), e);
        }
    }
}
