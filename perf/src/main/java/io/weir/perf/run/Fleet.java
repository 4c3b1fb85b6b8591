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
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;

/** Starts what experiments are about, each a process of its own from its built jar: the database, simulated backends, the gateway, the thread-per-request front. */
public final class Fleet {

    private static final Pattern DATABASE = Pattern.compile("^PostgreSQL is ready at (\\S+)$", Pattern.MULTILINE);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(PATIENCE)
            .build();

    private final Bench bench;

    /** A fleet on a bench. */
    public Fleet(Bench bench) {
        this.bench = bench;
    }

    /**
     * A front or a backend.
     *
     * @param name what it is called
     * @param child its process; empty if it runs elsewhere
     * @param service where it serves
     * @param management where it is looked at, and broken
     */
    public record Server(String name, Optional<Child> child, URI service, URI management) {

        /** One that was started here. */
        public Server(Child child, int port, int managementPort) {
            this(child.name(), Optional.of(child), local(port), local(managementPort));
        }

        private static URI local(int port) {
            return URI.create("http://127.0.0.1:" + port);
        }

        /** Where it is. */
        public String url() {
            return service.toString();
        }

        /** The port where it serves. */
        public int port() {
            return service.getPort();
        }
    }

    /** The gateway that runs elsewhere, if it is one that is to be asked. */
    public Optional<Server> target() {
        return bench.target()
                .map(target -> new Server("the target", Optional.empty(), target.gateway(), target.gateway()));
    }

    /** The simulator behind the gateway that runs elsewhere. */
    public Optional<Server> targetsBackend() {
        return bench.target()
                .map(target -> new Server("the simulator", Optional.empty(), target.faults(), target.faults()));
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
        Path data = bench.temporary().resolve("database/data");
        try {
            // What serves is not what was started, nor does that have it for its child.
            bench.watch(
                    "postgres",
                    Long.parseLong(Files.readAllLines(data.resolve("postmaster.pid"))
                            .getFirst()
                            .strip()));
            bench.raw()
                    .property(
                            "postgres.version",
                            Files.readString(data.resolve("PG_VERSION")).strip());
        } catch (IOException e) {
            throw new RunFailure("PostgreSQL's files are not where they are expected: " + e, e);
        }
        return matcher.group(1);
    }

    /** A simulated backend; {@link #ready} waits for it. */
    public Server backend(String name, String stack, String database, String... settings) {
        int port = Host.freePort();
        int management = Host.freePort();
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
        return port == null ? Host.freePort() : Integer.parseInt(port);
    }

    private Path simulator() {
        return bench.root().resolve("backends-sim/target/weir-backends-sim.jar");
    }

    /** Waits until it answers this with 200. */
    public void ready(Server server, String path) throws InterruptedException {
        bench.await(server.name() + " answers " + path, () -> answers(server.url() + path));
    }

    /** Waits until its management port, which opens later, answers too. */
    public void manageable(Server gateway) throws InterruptedException {
        bench.await(
                gateway.name() + " can be managed", () -> answers(gateway.management() + "/actuator/health/readiness"));
    }

    /** Whether it answers with 200. */
    public static boolean answers(String url) {
        return text(url).isPresent();
    }

    /** What it answers, if it does with 200. */
    public static Optional<String> text(String url) {
        try {
            HttpResponse<String> answer = send(
                    HttpRequest.newBuilder(URI.create(url)).timeout(PATIENCE).build());
            return answer.statusCode() == 200 ? Optional.of(answer.body()) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static HttpResponse<String> send(HttpRequest request) throws IOException {
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
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
        URI uri = URI.create(backend.management() + "/faults");
        try {
            int status = send(request.uri(uri)
                            .timeout(PATIENCE)
                            .header("Content-Type", "application/json")
                            .build())
                    .statusCode();
            if (status / 100 != 2) {
                throw new RunFailure(backend.name() + " does not understand " + what + ", status " + status);
            }
        } catch (IOException e) {
            throw new RunFailure(backend.name() + " cannot be told " + what + ": " + e, e);
        }
    }

    /**
     * The sum of one of a server's meters, over the lines that have all of these labels.
     *
     * @throws RunFailure if it has no such line: of a meter that is not there, nothing is known
     */
    public double meter(Server server, String name, String... labels) {
        URI uri = URI.create(server.management() + "/actuator/prometheus");
        String what = server.name() + " does not tell "
                + String.join(" ", name, String.join(" ", labels)).strip();
        try {
            HttpResponse<String> answer =
                    send(HttpRequest.newBuilder(uri).timeout(PATIENCE).build());
            double[] values = answer.body()
                    .lines()
                    .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
                    .filter(line -> List.of(labels).stream().allMatch(line::contains))
                    .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .toArray();
            if (values.length == 0) {
                throw new RunFailure(what + ", status " + answer.statusCode());
            }
            return DoubleStream.of(values).sum();
        } catch (IOException e) {
            throw new RunFailure(what + ": " + e, e);
        }
    }

    /** Changes a backend's limit at run time, as an operator does. */
    public void limit(Server gateway, String backend, int calls) {
        URI uri = URI.create(gateway.management() + "/actuator/weir/" + backend);
        try {
            int status = send(HttpRequest.newBuilder(uri)
                            .timeout(PATIENCE)
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\"max-concurrent-calls\": " + calls + "}"))
                            .build())
                    .statusCode();
            if (status / 100 != 2) {
                throw new RunFailure("the gateway does not take a limit of " + calls + ", status " + status);
            }
        } catch (IOException e) {
            throw new RunFailure("the gateway does not take a limit: " + e, e);
        }
    }
}
