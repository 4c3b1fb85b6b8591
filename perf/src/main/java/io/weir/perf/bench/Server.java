package io.weir.perf.bench;

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

/** A process that is held to one core. */
final class Server implements AutoCloseable {

    private static final Duration START = Duration.ofSeconds(90);

    private final Process process;
    private final Path log;

    private Server(Process process, Path log) {
        this.process = process;
        this.log = log;
    }

    /** Starts Java with these arguments on a core, and waits until an address answers. All have the same heap and options. */
    static Server start(int core, List<String> arguments, Map<String, String> environment, URI ready)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "taskset",
                "-c",
                Integer.toString(core),
                ProcessHandle.current().info().command().orElse("java"),
                "-Xms512m",
                "-Xmx512m",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"));
        command.addAll(arguments);
        Path log = Files.createTempFile("weir-bench", ".log");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        Server server = new Server(builder.start(), log);
        // So that Ctrl-C leaves nothing behind.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            server.process.destroyForcibly();
            log.toFile().delete();
        }));
        server.await(ready);
        return server;
    }

    static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            return free.getLocalPort();
        }
    }

    private void await(URI ready) throws IOException, InterruptedException {
        long end = System.nanoTime() + START.toNanos();
        try (HttpClient http = HttpClient.newHttpClient()) {
            while (System.nanoTime() < end) {
                if (!process.isAlive()) {
                    throw new IllegalStateException("did not start:\n" + Files.readString(log));
                }
                try {
                    HttpRequest request = HttpRequest.newBuilder(ready).build();
                    if (http.send(request, HttpResponse.BodyHandlers.discarding())
                                    .statusCode()
                            == 200) {
                        return;
                    }
                } catch (IOException e) {
                    // Not yet.
                }
                Thread.sleep(100);
            }
        }
        close();
        throw new IllegalStateException(ready + " did not answer 200 within " + START);
    }

    /** The processor time that it has used. */
    Duration used() {
        return process.toHandle().info().totalCpuDuration().orElse(Duration.ZERO);
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
