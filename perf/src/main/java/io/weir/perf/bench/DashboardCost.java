package io.weir.perf.bench;

import io.weir.perf.LightBackend;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.MeasuredTables;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;

/**
 * {@code perf/dashboard-cost}: {@code JAR}. What does the dashboard's stream cost the gateway?
 *
 * <p>50 viewers read the stream of a gateway with 200 backends, compressed like browsers do. The CPU time of
 * the whole process, including the kernel, is shown as a share of a core: without viewers, with viewers, and
 * with viewers without compression. The total with viewers must be within the limit.
 *
 * <p>Then the same with traffic on all backends, so that all figures change between two snapshots. Here the
 * difference that the viewers make must be within the limit; it is the mean of alternating phases.
 */
public record DashboardCost(RunningServer gateway, PromiseTable promises) {

    private static final byte[] BODY = "served".getBytes(StandardCharsets.US_ASCII);
    private static final int BACKENDS = 200;
    private static final int VIEWERS = 50;
    private static final double MAX_PERCENT = 5;
    private static final int REQUESTS_PER_SECOND = 400;
    private static final int ROUNDS = 2;
    private static final Duration WARM_UP = Duration.ofSeconds(25);
    private static final Duration SETTLE = Duration.ofSeconds(5);
    private static final Duration PHASE = Duration.ofSeconds(20);
    private static final Duration TRAFFIC =
            WARM_UP.plus(SETTLE.plus(PHASE).multipliedBy(2L * ROUNDS)).plusSeconds(2);

    /** Takes about five minutes; the exit code is 0 if all promises hold. */
    public static void main(String[] args) throws IOException, InterruptedException {
        boolean holds;
        try (LightBackend backend = new LightBackend(0, BODY, request -> Mono.empty());
                Processes processes = Processes.unlimited()) {
            Path file = Files.writeString(processes.directory().resolve("gateway.yml"), configuration(backend.port()));
            List<String> arguments =
                    List.of("--spring.config.additional-location=" + file, "--weir.access-log.enabled=false");
            RunningServer gateway = TestServers.gateway(processes, List.of(Host.java()), args[0], Map.of(), arguments);
            TestServers.awaitReadiness(processes, gateway);
            DashboardCost cost = new DashboardCost(gateway, new PromiseTable());
            cost.measureIdle();
            cost.measureUnderTraffic();
            System.out.print(cost.promises);
            MeasuredTables.keep("dashboard-cost", "perf/dashboard-cost", cost.promises);
            holds = cost.promises.allHold();
        }
        System.exit(holds ? 0 : 1);
    }

    private void measureIdle() throws IOException, InterruptedException {
        try (Viewers viewers = new Viewers(gateway.management().getPort(), true)) {
            Thread.sleep(WARM_UP);
            System.out.printf("warm-up with %d bytes%n", viewers.bytes.get());
        }
        Thread.sleep(SETTLE);
        measure("no viewers");
        double percent = measureViewers("compressed", true);
        measureViewers("not compressed", false);
        promises.atMost("share of a core with viewers, without traffic", MAX_PERCENT, percent, "%");
    }

    private void measureUnderTraffic() throws IOException, InterruptedException {
        List<String> paths =
                IntStream.range(0, BACKENDS).mapToObj(i -> "/backend-" + i).toList();
        CompletableFuture<Requests> requests = new OpenLoad(
                        gateway.port(), paths, 100, Duration.ofSeconds(10), BODY.length)
                .send(REQUESTS_PER_SECOND, TRAFFIC);
        String traffic = REQUESTS_PER_SECOND + " requests/s, ";
        double without = 0;
        double with = 0;
        Thread.sleep(WARM_UP);
        for (int round = 0; round < ROUNDS; round++) {
            Thread.sleep(SETTLE);
            without += measure(traffic + "no viewers") / ROUNDS;
            with += measureViewers(traffic + "compressed", true) / ROUNDS;
        }
        promises.atMost("share of a core that viewers add under traffic", MAX_PERCENT, with - without, "%");
        promises.atMost(
                "requests that were not served", 0, requests.join().failures().size(), "");
    }

    private double measureViewers(String name, boolean compressed) throws IOException, InterruptedException {
        try (Viewers viewers = new Viewers(gateway.management().getPort(), compressed)) {
            Thread.sleep(SETTLE);
            long before = viewers.bytes.get();
            double percent = measure(VIEWERS + " viewers, " + name);
            double bytes = viewers.bytes.get() - before;
            System.out.printf(
                    Locale.ROOT, "  %.1f kB per second and viewer%n", bytes / 1e3 / VIEWERS / PHASE.toSeconds());
            return percent;
        }
    }

    /** The gateway's CPU usage in a phase, in percent of a core. */
    private double measure(String name) throws InterruptedException {
        ManagedProcess process = gateway.process().orElseThrow();
        Duration before = process.cpuTime();
        long from = System.nanoTime();
        Thread.sleep(PHASE);
        Duration used = process.cpuTime().minus(before);
        double percent = 100.0 * used.toNanos() / (System.nanoTime() - from);
        System.out.printf(Locale.ROOT, "%d backends, %s: %.1f %% of a core%n", BACKENDS, name, percent);
        promises.show(BACKENDS + " backends, " + name, PromiseTable.number(percent, "% of a core"));
        return percent;
    }

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
            byte[] chunk = new byte[65_536];
            try {
                InputStream in = socket.getInputStream();
                for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                    bytes.addAndGet(n);
                }
            } catch (IOException e) {
                // The phase is over.
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
        String backend = "    backend-%%d: { uri: \"http://127.0.0.1:%d\" }%n".formatted(port);
        String route =
                "  - { id: route-%1$d, uri: \"backend://backend-%1$d\", predicates: [\"Path=/backend-%1$d\"] }%n";
        return "server.port: ${GATEWAY_PORT}\nmanagement.server.port: ${MANAGEMENT_PORT}\n"
                + "weir:\n  backends:\n" + repeat(backend)
                + "spring.cloud.gateway.server.webflux.routes:\n" + repeat(route);
    }

    private static String repeat(String line) {
        return IntStream.range(0, BACKENDS).mapToObj(line::formatted).collect(Collectors.joining());
    }
}
