package io.weir.perf.scenario;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** HAProxy, where it is installed, with the limits that the gateway has: as many calls at once, as long a wait for a place, the same deadline. */
final class HaProxy implements AutoCloseable {

    private static final Duration START = Duration.ofSeconds(10);

    private final Process process;
    private final Path configuration;
    private final int port;

    private HaProxy(Process process, Path configuration, int port) {
        this.process = process;
        this.configuration = configuration;
        this.port = port;
    }

    /** Whether it can be started. */
    static boolean installed() {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, "haproxy")));
    }

    /** Starts it in front of a backend that gets so many calls at once, and waits until it listens. */
    static HaProxy start(int backendPort, int calls) throws IOException, InterruptedException {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        Path configuration = Files.createTempFile("weir-scenario", ".cfg");
        Files.writeString(configuration, """
                            defaults
                                mode http
                                timeout connect 500ms
                                timeout client 30s
                                timeout queue 100ms
                                timeout server 800ms
                            listen overload
                                bind 127.0.0.1:%d
                                server backend 127.0.0.1:%d maxconn %d
                            """.formatted(port, backendPort, calls));
        Process process = new ProcessBuilder("haproxy", "-db", "-q", "-f", configuration.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .start();
        // So that Ctrl-C leaves nothing behind.
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        HaProxy haProxy = new HaProxy(process, configuration, port);
        try {
            haProxy.awaitListening();
        } catch (IOException | InterruptedException | RuntimeException e) {
            haProxy.close();
            throw e;
        }
        return haProxy;
    }

    private void awaitListening() throws IOException, InterruptedException {
        long end = System.nanoTime() + START.toNanos();
        while (true) {
            try {
                new Socket(InetAddress.getLoopbackAddress(), port).close();
                return;
            } catch (IOException e) {
                if (!process.isAlive() || System.nanoTime() >= end) {
                    throw new IllegalStateException("HAProxy does not listen", e);
                }
                Thread.sleep(50);
            }
        }
    }

    int port() {
        return port;
    }

    @Override
    public void close() throws IOException {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Files.deleteIfExists(configuration);
    }
}
