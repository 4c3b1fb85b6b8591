package io.weir.sim;

import io.weir.sim.database.PostgresKeeper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A simulator, or a user of its database, in a separate process. */
public final class SimulatorProcess implements AutoCloseable {

    private static final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private final Process process;
    private final Path output;

    private SimulatorProcess(Process process, Path output) {
        this.process = process;
        this.output = output;
    }

    /** Starts the classes under test. */
    public static SimulatorProcess ofClasses(String... arguments) throws IOException {
        return ofClass(SimulatorApplication.class, simulator(arguments));
    }

    /** Starts the keeper of a shared PostgreSQL in that directory, which runs until it is terminated. */
    public static SimulatorProcess ofKeeper(Path directory) throws IOException {
        return start(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                SimulatorApplication.class.getName(),
                PostgresKeeper.COMMAND,
                directory.toString(),
                "50",
                "until-stopped"));
    }

    /** Starts a packaged jar. */
    public static SimulatorProcess ofJar(Path jar, String... arguments) throws IOException {
        return start(List.of("-jar", jar.toString()), simulator(arguments));
    }

    /** Starts another main class. */
    public static SimulatorProcess ofClass(Class<?> main, String... arguments) throws IOException {
        return start(List.of("-cp", System.getProperty("java.class.path"), main.getName()), arguments);
    }

    private static String[] simulator(String... arguments) {
        return Stream.concat(
                        Stream.of("--server.port=0", "--management.server.port=0", "--sim.database.pool-minimum=1"),
                        Stream.of(arguments))
                .toArray(String[]::new);
    }

    private static SimulatorProcess start(List<String> target, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // These options shorten the start; the process runs only briefly.
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto"));
        command.addAll(target);
        command.addAll(List.of(arguments));
        Path output = Files.createTempFile(Path.of("target"), "process", ".log");
        return new SimulatorProcess(
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start(),
                output);
    }

    public Process process() {
        return process;
    }

    public String output() throws IOException {
        return Files.readString(output);
    }

    /** Waits until the output matches the pattern, and returns the match. */
    public Matcher awaitOutput(String pattern) {
        Pattern said = Pattern.compile(pattern);
        return Awaitility.await()
                .pollInterval(Duration.ofMillis(50))
                .failFast(
                        "it ended",
                        () -> !process.isAlive() && !said.matcher(output()).find())
                .until(() -> said.matcher(output()), Matcher::find);
    }

    /** The service's port; waits until the service is ready. */
    public int port() {
        return Integer.parseInt(awaitOutput("is ready on port (\\d+)").group(1));
    }

    public int managementPort() {
        return Integer.parseInt(awaitOutput("faults and meters on port (\\d+)").group(1));
    }

    public static CompletableFuture<HttpResponse<String>> get(int port, String path) {
        return http.sendAsync(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                        .timeout(Patience.PATIENCE)
                        .build(),
                BodyHandlers.ofString());
    }

    public static HttpResponse<String> put(int port, String path, String body)
            throws IOException, InterruptedException {
        return http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                        .PUT(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                BodyHandlers.ofString());
    }

    /** Sends SIGTERM and returns the exit status. */
    public int terminate() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(Patience.PATIENCE)) {
            throw new AssertionError("it did not end");
        }
        return process.exitValue();
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
