package io.weir.perf;

import io.weir.perf.run.Child;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;

/**
 * What the dashboard's stream costs the gateway: {@code DashboardCost JAR}.
 *
 * <p>A gateway of its own, on loopback, with 200 backends; 50 viewers read its stream, as browsers do it, compressed. Told is the
 * processor time of the whole gateway process, the kernel's on its behalf included, as a share of a core: with nobody looking,
 * which has the counters read each second, and everything else that an idle gateway does; with the viewers; and with viewers that
 * take no compression. The whole figure with viewers, and not only the difference, must be within the allowance.
 *
 * <p>Then the same with traffic on each backend, so that no two snapshots have a figure in common. There the difference that the viewers
 * make must be within the allowance, since the rest is what the traffic takes; it is the mean of alternating phases.
 */
public final class DashboardCost {

    private static final int BACKENDS = 200;
    private static final int VIEWERS = 50;
    private static final double ALLOWED_PERCENT = 5;
    private static final Duration WARM_UP = Duration.ofSeconds(25);
    private static final Duration SETTLES = Duration.ofSeconds(5);
    private static final Duration PHASE = Duration.ofSeconds(20);
    private static final int CHUNK = 65_536;
    private static final int REQUESTS_PER_SECOND = 400;
    private static final int ROUNDS = 2;

    private DashboardCost() {}

    /** Measures, and ends with 1 if the cost is not within the allowance. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        DisposableServer backend = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> response.sendString(Mono.just("served")))
                .bindNow();
        int port = Host.freePort();
        int management = Host.freePort();
        Path file = Files.writeString(Files.createTempFile("weir-dashboard", ".yml"), configuration(backend.port()));
        file.toFile().deleteOnExit();
        boolean kept;
        try (Child gateway = Child.start(
                        "the gateway",
                        List.of(
                                ProcessHandle.current().info().command().orElse("java"),
                                "-jar",
                                arguments[0],
                                "--spring.config.additional-location=" + file,
                                "--server.port=" + port,
                                "--management.server.port=" + management,
                                "--weir.access-log.enabled=false"),
                        Map.of())
                .awaitAnswer(URI.create("http://127.0.0.1:" + management + "/actuator/health/readiness"))) {
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
            kept &= underTraffic(gateway, port, management);
        } finally {
            backend.disposeNow();
        }
        System.out.println(kept ? "kept: within 5 % of a core" : "NOT KEPT: more than 5 % of a core");
        if (!kept) {
            System.exit(1);
        }
    }

    private static boolean underTraffic(Child gateway, int port, int management)
            throws IOException, InterruptedException {
        double alone = 0;
        double looked = 0;
        try (Traffic traffic = new Traffic(port)) {
            Thread.sleep(WARM_UP);
            for (int round = 0; round < ROUNDS; round++) {
                Thread.sleep(SETTLES);
                alone += measured(gateway, traffic + ", nobody looks") / ROUNDS;
                try (Viewers viewers = new Viewers(management, true)) {
                    Thread.sleep(SETTLES);
                    long before = viewers.bytes.get();
                    looked += measured(gateway, traffic + ", " + VIEWERS + " viewers, compressed") / ROUNDS;
                    told(viewers.bytes.get() - before);
                }
            }
            System.out.printf(
                    Locale.ROOT,
                    "what the viewers add under traffic: %.1f %% of a core; requests that were not served: %d%n",
                    looked - alone,
                    traffic.lost.get());
            return looked - alone <= ALLOWED_PERCENT && traffic.lost.get() == 0;
        }
    }

    private static double measured(Child gateway, String what) throws InterruptedException {
        Duration before = gateway.used();
        long from = System.nanoTime();
        Thread.sleep(PHASE);
        Duration used = gateway.used().minus(before);
        double percent = 100.0 * used.toNanos() / (System.nanoTime() - from);
        System.out.printf(Locale.ROOT, "%d backends, %s: %.1f %% of a core%n", BACKENDS, what, percent);
        return percent;
    }

    private static void told(long bytes) {
        System.out.printf(Locale.ROOT, "  %.1f kB a second and viewer%n", bytes / 1e3 / VIEWERS / PHASE.toSeconds());
    }

    /** Requests to each backend in turn, at a rate that no answer holds up. */
    private static final class Traffic implements AutoCloseable {

        private final AtomicLong lost = new AtomicLong();
        private final AtomicInteger next = new AtomicInteger();
        private final HttpClient client;
        private final Disposable ticks;

        Traffic(int port) {
            client =
                    HttpClient.create(ConnectionProvider.create("traffic", 100)).baseUrl("http://127.0.0.1:" + port);
            ticks = Flux.interval(Duration.ofNanos(1_000_000_000L / REQUESTS_PER_SECOND))
                    .onBackpressureDrop()
                    .subscribe(tick -> ask());
        }

        private void ask() {
            client.get()
                    .uri("/backend-" + next.getAndIncrement() % BACKENDS)
                    .responseSingle((head, body) ->
                            body.asString().thenReturn(head.status().code()))
                    .timeout(Duration.ofSeconds(10))
                    .onErrorReturn(0)
                    .subscribe(status -> {
                        if (status != 200) {
                            lost.incrementAndGet();
                        }
                    });
        }

        @Override
        public void close() {
            ticks.dispose();
        }

        @Override
        public String toString() {
            return REQUESTS_PER_SECOND + " requests/s";
        }
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

    private static String configuration(int port) {
        StringBuilder yaml = new StringBuilder("weir:\n  backends:\n");
        StringBuilder routes = new StringBuilder("spring.cloud.gateway.server.webflux.routes:\n");
        for (int i = 0; i < BACKENDS; i++) {
            yaml.append("    backend-")
                    .append(i)
                    .append(": { uri: \"http://127.0.0.1:")
                    .append(port)
                    .append("\" }\n");
            routes.append("  - { id: route-")
                    .append(i)
                    .append(", uri: \"backend://backend-")
                    .append(i)
                    .append("\", predicates: [\"Path=/backend-")
                    .append(i)
                    .append("\"] }\n");
        }
        return yaml.append(routes).toString();
    }
}
