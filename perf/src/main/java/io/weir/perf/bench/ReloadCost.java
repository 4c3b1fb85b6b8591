package io.weir.perf.bench;

import io.weir.perf.LightBackend;
import io.weir.perf.result.Latencies;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.run.Host;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.springframework.core.io.ClassPathResource;
import reactor.core.publisher.Mono;

/**
 * {@code perf/reload}: {@code JAR [SECONDS]}. What do reloads cost callers?
 *
 * <p>A gateway gets 1000 requests per second on a compiled and on a general route. Phases with and without
 * reloads alternate. A reload swaps the gateway's file by its symbolic link, with another value of every
 * limit. A request that is not answered with the backend's 200 is lost. The gateway's log shows which reloads
 * were applied.
 */
public final class ReloadCost {

    private static final int RATE = 1000;
    private static final int RELOADS = 100;
    private static final int ROUNDS = 4;
    private static final int PHASE_SECONDS = 20;
    private static final double MAX_RATIO = 1.5;
    private static final byte[] BODY = new byte[200];

    private final Path mount;
    private final int backendPort;
    private int revision;

    private ReloadCost(Path mount, int backendPort) {
        this.mount = mount;
        this.backendPort = backendPort;
    }

    /** Takes about three minutes; the exit code is 0 if all promises hold. */
    public static void main(String[] args) throws IOException, InterruptedException {
        Duration phase = Duration.ofSeconds(args.length == 2 ? Integer.parseInt(args[1]) : PHASE_SECONDS);
        boolean holds;
        try (LightBackend backend = new LightBackend(0, BODY, request -> Mono.empty());
                Processes processes = Processes.unlimited()) {
            Path mount = Files.createDirectory(processes.directory().resolve("mount"));
            ReloadCost cost = new ReloadCost(mount, backend.port());
            cost.publish();
            Path file = Files.createSymbolicLink(mount.resolve("gateway.yml"), Path.of("..data", "gateway.yml"));
            RunningServer gateway =
                    TestServers.gateway(processes, List.of(Host.java()), args[0], Map.of(), List.of(file.toString()));
            TestServers.awaitReadiness(processes, gateway);
            holds = cost.run(gateway, phase);
        }
        System.exit(holds ? 0 : 1);
    }

    private boolean run(RunningServer server, Duration phase) throws InterruptedException {
        ManagedProcess gateway = server.process().orElseThrow();
        List<String> paths = List.of("/compiled/1", "/general/1");
        OpenLoad load = new OpenLoad(server.port(), paths, 200, Duration.ofSeconds(10), BODY.length);
        // The code of a reload needs a warm-up, too.
        System.out.println("warm-up; lost by the cold JVM: " + lost(phase(load, Duration.ofSeconds(20), RELOADS)));
        long before = applied(gateway);
        List<Request> without = new ArrayList<>();
        List<Request> with = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            without.addAll(phase(load, phase, 0));
            with.addAll(phase(load, phase, RELOADS / ROUNDS));
        }
        long applied = applied(gateway) - before;
        double ratio = Request.percentile(with, 99) / Request.percentile(without, 99);
        System.out.printf(Locale.ROOT, "%-18s %9s %8s %8s %8s%n", "", "requests", "p50 ms", "p99 ms", "p99.9 ms");
        print("without reloads", without);
        print(RELOADS + " reloads", with);
        without.addAll(with);
        Map<String, Long> lost = lost(without);
        PromiseTable promises = new PromiseTable();
        promises.add("lost requests", "0", lost.isEmpty() ? "0" : lost.toString(), lost.isEmpty());
        promises.add("applied reloads", String.valueOf(RELOADS), String.valueOf(applied), applied == RELOADS);
        promises.add(
                "p99 with reloads, compared with p99 without",
                String.format(Locale.ROOT, "at most %.1f times", MAX_RATIO),
                String.format(Locale.ROOT, "%.2f times", ratio),
                ratio <= MAX_RATIO);
        System.out.print(promises);
        return promises.allHold();
    }

    private static long applied(ManagedProcess gateway) {
        return gateway.output()
                .lines()
                .filter(line -> line.contains("Configuration changed by file watch"))
                .count();
    }

    private static Map<String, Long> lost(List<Request> requests) {
        return requests.stream()
                .filter(one -> !one.succeeded())
                .collect(Collectors.groupingBy(Request::outcome, TreeMap::new, Collectors.counting()));
    }

    private static void print(String name, List<Request> requests) {
        Latencies latencies = Latencies.of(requests);
        System.out.printf(
                "%-18s %9d %8.2f %8.2f %8.2f%n",
                name, requests.size(), latencies.percentile(50), latencies.percentile(99), latencies.percentile(99.9));
    }

    private List<Request> phase(OpenLoad load, Duration time, int reloads) throws InterruptedException {
        long start = System.nanoTime();
        CompletableFuture<List<Request>> requests = load.send(RATE, time);
        for (int i = 0; i < reloads; i++) {
            long due = start + time.toNanos() * i / reloads;
            Thread.sleep(Duration.ofNanos(Math.max(0, due - System.nanoTime())));
            publish();
        }
        return requests.join();
    }

    /** Swaps the file like Kubernetes swaps a config map. */
    private void publish() {
        try {
            Path version = Files.createTempDirectory(mount, "..version_");
            Files.writeString(version.resolve("gateway.yml"), configuration(revision++));
            Path link = Files.createSymbolicLink(mount.resolve("..data_tmp"), version.getFileName());
            Path data = mount.resolve("..data");
            Files.move(link, data, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String configuration(int i) throws IOException {
        int n = i % 50;
        return new ClassPathResource("reload.yml", ReloadCost.class)
                .getContentAsString(StandardCharsets.UTF_8)
                .formatted(
                        backendPort, 5 + i % 7, 300 + n, 100 + n, 1000 + n, 40 + n, 100 + n, 100 + n, 10 + n, 250 + n);
    }
}
