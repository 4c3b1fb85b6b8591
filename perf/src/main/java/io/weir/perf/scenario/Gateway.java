package io.weir.perf.scenario;

import java.io.IOException;
import java.net.ServerSocket;
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
import java.util.concurrent.TimeUnit;

/** The built gateway, in a process of its own, with a shipped configuration. */
final class Gateway implements AutoCloseable {

    private static final Duration START = Duration.ofSeconds(90);

    private final Process process;
    private final Path log;
    private final int port;
    private final int managementPort;
    private final HttpClient http = HttpClient.newHttpClient();

    private Gateway(Process process, Path log, int port, int managementPort) {
        this.process = process;
        this.log = log;
        this.port = port;
        this.managementPort = managementPort;
    }

    /** Starts it between two backends, and waits until it is ready. */
    static Gateway start(Scenario.Options options, int mvcPort, int reactivePort, List<String> properties)
            throws IOException, InterruptedException {
        int port = freePort();
        int managementPort = freePort();
        Path log = Files.createTempFile("weir-scenario", ".log");
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-jar",
                options.jar().toString(),
                options.configuration().toString()));
        command.addAll(properties);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment()
                .putAll(Map.of(
                        "GATEWAY_PORT", Integer.toString(port),
                        "MANAGEMENT_PORT", Integer.toString(managementPort),
                        "MVC_PORT", Integer.toString(mvcPort),
                        "REACTIVE_PORT", Integer.toString(reactivePort)));
        Gateway gateway = new Gateway(builder.start(), log, port, managementPort);
        // So that Ctrl-C leaves nothing behind.
        Runtime.getRuntime().addShutdownHook(new Thread(gateway.process::destroyForcibly));
        gateway.awaitReady();
        return gateway;
    }

    private static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            return free.getLocalPort();
        }
    }

    private void awaitReady() throws IOException, InterruptedException {
        long end = System.nanoTime() + START.toNanos();
        while (System.nanoTime() < end) {
            if (!process.isAlive()) {
                throw new IllegalStateException("the gateway did not start:\n" + Files.readString(log));
            }
            try {
                if (get("/actuator/health/readiness").statusCode() == 200) {
                    return;
                }
            } catch (IOException e) {
                // Not yet.
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException("the gateway was not ready within " + START + "; see " + log);
    }

    private HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort + path))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    int port() {
        return port;
    }

    /** The sum of a metric over the lines that have all of these labels. */
    double metric(String name, String... labels) throws IOException, InterruptedException {
        return get("/actuator/prometheus")
                .body()
                .lines()
                .filter(line -> line.startsWith(name + "{"))
                .filter(line -> List.of(labels).stream().allMatch(line::contains))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    @Override
    public void close() throws IOException {
        process.destroy();
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Files.deleteIfExists(log);
    }
}
