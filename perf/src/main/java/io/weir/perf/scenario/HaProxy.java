package io.weir.perf.scenario;

import io.weir.perf.run.Child;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** HAProxy, where it is installed, with the limits that the gateway has: as many calls at once, as long a wait for a place, the same deadline. */
final class HaProxy implements AutoCloseable {

    private final Child child;
    private final Path configuration;
    private final int port;

    private HaProxy(Child child, Path configuration, int port) {
        this.child = child;
        this.configuration = configuration;
        this.port = port;
    }

    /** Whether it can be started. */
    static boolean installed() {
        return Host.has("haproxy");
    }

    /** Starts it in front of a backend that gets so many calls at once, and waits until it listens. */
    static HaProxy start(int backendPort, int calls) throws IOException, InterruptedException {
        int port = Host.freePort();
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
        boolean started = false;
        try {
            Child child =
                    Child.start("HAProxy", List.of("haproxy", "-db", "-q", "-f", configuration.toString()), Map.of());
            child.await("listens", () -> listens(port));
            started = true;
            return new HaProxy(child, configuration, port);
        } finally {
            if (!started) {
                Files.deleteIfExists(configuration);
            }
        }
    }

    private static boolean listens(int port) {
        try {
            new Socket(InetAddress.getLoopbackAddress(), port).close();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    int port() {
        return port;
    }

    @Override
    public void close() throws IOException {
        child.close();
        Files.deleteIfExists(configuration);
    }
}
