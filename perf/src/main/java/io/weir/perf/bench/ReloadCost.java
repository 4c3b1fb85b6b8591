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
import java.util.concurrent.CompletableFuture;
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
            PromiseTable promises = cost.run(gateway, phase);
            holds = promises.allHold();
            if (args.length == 1) {
                MeasuredTables.keep("reload", "perf/reload", promises);
            }
        }
        System.exit(holds ? 0 : 1);
    }

    private PromiseTable run(RunningServer server, Duration phase) throws InterruptedException {
        ManagedProcess gateway = server.process().orElseThrow();
        List<String> paths = List.of("/compiled/1", "/general/1");
        OpenLoad load = new OpenLoad(server.port(), paths, 200, Duration.ofSeconds(10), BODY.length);
        // The code of a reload needs a warm-up, too.
        Requests cold = phase(load, Duration.ofSeconds(20), RELOADS);
        System.out.println("warm-up; lost by the cold JVM: " + cold.failures().countByOutcome());
        long before = applied(gateway);
        List<Requests> phasesWithout = new ArrayList<>();
        List<Requests> phasesWith = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            phasesWithout.add(phase(load, phase, 0));
            phasesWith.add(phase(load, phase, RELOADS / ROUNDS));
        }
        long applied = applied(gateway) - before;
        Requests without = Requests.of(phasesWithout);
        Requests with = Requests.of(phasesWith);
        Map<String, Long> lost = Requests.of(List.of(without, with)).failures().countByOutcome();
        PromiseTable promises = new PromiseTable();
        promises.add("lost requests", "0", lost.toString(), lost.isEmpty());
        promises.all("applied reloads", applied, RELOADS);
        double ratio = with.percentile(99) / without.percentile(99);
        promises.atMost("p99 with reloads, compared with p99 without", MAX_RATIO, ratio, "times");
        show(promises, "without reloads", without);
        show(promises, RELOADS + " reloads", with);
        System.out.print(promises);
        return promises;
    }

    private static void show(PromiseTable promises, String name, Requests requests) {
        promises.show(
                name,
                String.format(
                        Locale.ROOT,
                        "%d requests, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms",
                        requests.size(),
                        requests.percentile(50),
                        requests.percentile(99),
                        requests.percentile(99.9)));
    }

    private static long applied(ManagedProcess gateway) {
        return gateway.output()
                .lines()
                .filter(line -> line.contains("Configuration changed by file watch"))
                .count();
    }

    private Requests phase(OpenLoad load, Duration time, int reloads) throws InterruptedException {
        long start = System.nanoTime();
        CompletableFuture<Requests> requests = load.send(RATE, time);
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
