package io.weir.perf;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the dashboard's stream costs the gateway: {@code DashboardCost JAR}.
 *
 * <p>A gateway of its own, on loopback, with 200 backends and no traffic; 50 viewers read its stream, as browsers do it,
 * compressed. Told is the processor time of the whole gateway process, the kernel's on its behalf included, as a share of a core: with
 * nobody looking, which has the counters read each second, and everything else that an idle gateway does; with the viewers; and
 * with viewers that take no compression. The whole figure with viewers, and not only the difference, must be within the allowance.
 */
public final class DashboardCost {

    private static final int BACKENDS = 200;
    private static final int VIEWERS = 50;
    private static final double ALLOWED_PERCENT = 5;
    private static final Duration WARM_UP = Duration.ofSeconds(25);
    private static final Duration SETTLES = Duration.ofSeconds(5);
    private static final Duration PHASE = Duration.ofSeconds(20);
    private static final int STARTS_MILLIS = 60_000;
    private static final int POLL_MILLIS = 100;
    private static final int CHUNK = 65_536;

    private DashboardCost() {}

    /** Measures, and ends with 1 if the cost is not within the allowance. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int port = freePort();
        int management = freePort();
        Path file = Files.writeString(Files.createTempFile("weir-dashboard", ".yml"), configuration());
        Process gateway = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-jar",
                        arguments[0],
                        "--spring.config.additional-location=" + file,
                        "--server.port=" + port,
                        "--management.server.port=" + management,
                        "--weir.access-log.enabled=false")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        boolean kept;
        try {
            awaitReady(management);
            try (Viewers warm = new Viewers(management, true)) {
                Thread.sleep(WARM_UP);
                System.out.printf(Locale.ROOT, "warmed up on %d bytes%n", warm.bytes.get());
            }
            Thread.sleep(SETTLES);
            measured(gateway, "nobody looks");
            try (Viewers viewers = new Viewers(management, true)) {
                Thread.sleep(SETTLES);
                long before = viewers.bytes.get();
                kept = measured(gateway, VIEWERS + " viewers, compressed") <= ALLOWED_PERCENT;
                told(viewers.bytes.get() - before);
            }
            try (Viewers viewers = new Viewers(management, false)) {
                Thread.sleep(SETTLES);
                long before = viewers.bytes.get();
                measured(gateway, VIEWERS + " viewers, not compressed");
                told(viewers.bytes.get() - before);
            }
        } finally {
            gateway.destroy();
            gateway.waitFor();
            Files.delete(file);
        }
        System.out.println(kept ? "kept: within 5 % of a core" : "NOT KEPT: more than 5 % of a core");
        if (!kept) {
            System.exit(1);
        }
    }

    private static double measured(Process gateway, String what) throws InterruptedException {
        Duration before = gateway.info().totalCpuDuration().orElseThrow();
        long from = System.nanoTime();
        Thread.sleep(PHASE);
        Duration used = gateway.info().totalCpuDuration().orElseThrow().minus(before);
        double percent = 100.0 * used.toNanos() / (System.nanoTime() - from);
        System.out.printf(Locale.ROOT, "%d backends, %s: %.1f %% of a core%n", BACKENDS, what, percent);
        return percent;
    }

    private static void told(long bytes) {
        System.out.printf(Locale.ROOT, "  %.1f kB a second and viewer%n", bytes / 1e3 / VIEWERS / PHASE.toSeconds());
    }

    /** Some that read whatever they are sent. */
    private static final class Viewers implements AutoCloseable {

        private final List<Socket> sockets = new ArrayList<>();
        private final AtomicLong bytes = new AtomicLong();

        Viewers(int port, boolean compressed) throws IOException {
            String head = "GET /actuator/weirstream HTTP/1.1\r\nHost: localhost\r\n"
                    + (compressed ? "Accept-Encoding: gzip\r\n" : "") + "\r\n";
            for (int i = 0; i < VIEWERS; i++) {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                sockets.add(socket);
                socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
                Thread.ofVirtual().start(() -> read(socket));
            }
        }

        private void read(Socket socket) {
            byte[] chunk = new byte[CHUNK];
            try {
                InputStream in = socket.getInputStream();
                for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                    bytes.addAndGet(n);
                }
            } catch (IOException e) {
                // The measurement is over.
            }
        }

        @Override
        public void close() throws IOException {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private static String configuration() {
        StringBuilder yaml = new StringBuilder("weir:\n  backends:\n");
        for (int i = 0; i < BACKENDS; i++) {
            yaml.append("    backend-").append(i).append(": { uri: \"http://127.0.0.1:9\" }\n");
        }
        return yaml.toString();
    }

    private static void awaitReady(int management) throws InterruptedException, IOException {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + management + "/actuator/health/readiness"))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            for (int waited = 0; waited < STARTS_MILLIS; waited += POLL_MILLIS) {
                try {
                    if (client.send(request, HttpResponse.BodyHandlers.discarding())
                                    .statusCode()
                            == 200) {
                        return;
                    }
                } catch (IOException e) {
                    // Not there yet.
                }
                Thread.sleep(POLL_MILLIS);
            }
        }
        throw new IOException("the gateway has not started within " + STARTS_MILLIS + " ms");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
