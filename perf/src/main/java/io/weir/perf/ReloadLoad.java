package io.weir.perf;

import io.netty.buffer.Unpooled;
import io.weir.perf.run.Child;
import io.weir.perf.run.Host;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;

/**
 * What changes of the configuration cost those who are served meanwhile: {@code ReloadLoad JAR [SECONDS]}, so many for each phase.
 *
 * <p>A gateway of its own, on loopback, before a backend of its own, takes 1000 requests a second, whether they are
 * answered in time or not, through both doors. Phases with changes and without alternate; in each with, the gateway's file
 * is swapped by its symbolic link, every limit another one each time, by a thread that sends nothing. A request counts from the moment
 * at which it should have been sent. Lost is what was not answered by a 200 of the backend's. That each change was
 * put in force is read from the gateway's log.
 */
public final class ReloadLoad {

    private static final int RATE = 1000;
    private static final int RELOADS = 100;
    private static final int ROUNDS = 4;
    private static final Duration WARM_UP = Duration.ofSeconds(20);
    private static final int PHASE_SECONDS = 20;
    private static final double ALLOWED_RATIO = 1.5;
    private static final int SHOWN = 10;
    private static final int DELETIONS = 100;
    private static final byte[] BODY = new byte[200];

    private final Path mount;
    private final int port;
    private final int backendPort;
    private final Duration phase;
    private final reactor.netty.http.client.HttpClient client;
    private final AtomicInteger lost = new AtomicInteger();
    private final AtomicInteger pending = new AtomicInteger();
    private int revision;
    private volatile boolean counting;

    private ReloadLoad(Path mount, int port, int backendPort, Duration phase) {
        this.mount = mount;
        this.phase = phase;
        this.port = port;
        this.backendPort = backendPort;
        this.client = reactor.netty.http.client.HttpClient.create(ConnectionProvider.builder("load")
                        .maxConnections(200)
                        .pendingAcquireMaxCount(-1)
                        .build())
                .baseUrl("http://127.0.0.1:" + port);
    }

    /** Runs for about three minutes; the exit code is 1 if a request was lost, or changes cost too much. */
    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length < 1 || args.length > 2) {
            System.err.println("reload load: " + String.join(" ", args) + " (expected: JAR [SECONDS])");
            System.exit(2);
        }
        DisposableServer backend = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> response.header("Content-Length", String.valueOf(BODY.length))
                        .send(reactor.core.publisher.Mono.fromSupplier(() -> Unpooled.wrappedBuffer(BODY))))
                .bindNow();
        int port = Host.freePort();
        Path mount = Files.createTempDirectory("weir-reload");
        ReloadLoad load = new ReloadLoad(
                mount,
                port,
                backend.port(),
                Duration.ofSeconds(args.length == 2 ? Integer.parseInt(args[1]) : PHASE_SECONDS));
        load.publish();
        Child gateway = load.started(args[0]);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            gateway.close();
            // When it is ended early, another version may just be being written.
            for (int i = 0; i < DELETIONS && !FileSystemUtils.deleteRecursively(mount.toFile()); i++) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            }
        }));
        gateway.awaitAnswer(URI.create("http://127.0.0.1:" + port + "/compiled/1"));
        int exit = load.run(gateway) ? 0 : 1;
        backend.disposeNow();
        System.exit(exit);
    }

    private Child started(String jar) throws IOException {
        Path file = Files.createSymbolicLink(mount.resolve("gateway.yml"), Path.of("..data", "gateway.yml"));
        return Child.start(
                "the gateway",
                List.of(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-jar",
                        jar,
                        file.toString(),
                        "--server.port=" + port,
                        "--management.server.port=0"),
                Map.of());
    }

    /** How many changes the gateway has put in force. */
    private static long applied(Child gateway) {
        return gateway.said()
                .lines()
                .filter(line -> line.contains("Configuration changed by file watch"))
                .count();
    }

    private boolean run(Child gateway) throws InterruptedException {
        // What changes a configuration gets warm too.
        phase(WARM_UP, RELOADS);
        System.out.println("warm; not served until then, by a cold JVM: " + lost.getAndSet(0));
        counting = true;
        long before = applied(gateway);
        List<long[]> calm = new ArrayList<>();
        List<long[]> changing = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            calm.add(phase(phase, 0));
            changing.add(phase(phase, RELOADS / ROUNDS));
        }
        long applied = applied(gateway) - before;
        long[] without = merged(calm);
        long[] with = merged(changing);
        double ratio = (double) percentile(with, 99) / percentile(without, 99);
        System.out.printf(Locale.ROOT, "%-18s %9s %8s %8s %8s%n", "", "requests", "p50 ms", "p99 ms", "p99.9 ms");
        print("without changes", without);
        print(RELOADS + " changes", with);
        System.out.printf(
                Locale.ROOT,
                "lost: %d; changes in force: %d; p99 with changes is %.2f times that without (allowed: %.1f)%n",
                lost.get(),
                applied,
                ratio,
                ALLOWED_RATIO);
        return lost.get() == 0 && applied == RELOADS && ratio <= ALLOWED_RATIO;
    }

    /** Sends at the rate for a time, and gives the times that answers took. */
    private long[] phase(Duration time, int changes) throws InterruptedException {
        int requests = (int) (RATE * time.toSeconds());
        long[] took = new long[requests];
        long start = System.nanoTime();
        long interval = TimeUnit.SECONDS.toNanos(1) / RATE;
        CompletableFuture<Void> changed = CompletableFuture.runAsync(
                () -> publish(start, time, changes), task -> new Thread(task, "changes").start());
        for (int i = 0; i < requests; i++) {
            long due = start + i * interval;
            while (System.nanoTime() - due < 0) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            send(i, due, took);
        }
        while (pending.get() > 0) {
            Thread.sleep(1);
        }
        changed.join();
        return took;
    }

    private void publish(long start, Duration time, int changes) {
        for (int i = 0; i < changes; i++) {
            long due = start + time.toNanos() * i / changes;
            while (System.nanoTime() - due < 0) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            try {
                publish();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void send(int index, long due, long[] took) {
        pending.incrementAndGet();
        client.get()
                .uri(index % 2 == 0 ? "/compiled/1" : "/general/1")
                .responseSingle((head, body) -> body.defaultIfEmpty(Unpooled.EMPTY_BUFFER)
                        .map(bytes -> head.status().code() == 200 && bytes.readableBytes() == BODY.length))
                .timeout(Duration.ofSeconds(10))
                .subscribe(
                        whole -> ended(index, due, took, whole, null),
                        failure -> ended(index, due, took, false, failure));
    }

    private void ended(int index, long due, long[] took, boolean whole, @Nullable Throwable failure) {
        took[index] = System.nanoTime() - due;
        if (!whole && lost.getAndIncrement() < SHOWN && counting) {
            System.err.println("lost: " + (failure == null ? "an answer that is not the backend's" : failure));
        }
        pending.decrementAndGet();
    }

    /** Another revision of the file, in the way in which Kubernetes swaps a config map. */
    private void publish() throws IOException {
        Path version = Files.createTempDirectory(mount, "..version_");
        Files.writeString(version.resolve("gateway.yml"), yaml(revision++));
        Path link = Files.createSymbolicLink(mount.resolve("..data_tmp"), version.getFileName());
        Files.move(link, mount.resolve("..data"), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private String yaml(int i) {
        return """
                weir:
                  access-log: { enabled: false }
                  reload: { quiet-period: 10ms }
                  backends:
                    orders:
                      uri: http://127.0.0.1:%d
                      deadline: %ds
                      bulkhead: { max-concurrent-calls: %d, queue-capacity: %d, max-wait-duration: %dms }
                      circuit-breaker: { failure-rate-threshold: %d, sliding-window-size: %d }
                      max-streams: %d
                      retry-budget: { share: %d }
                  routes:
                    compiled: { max-concurrent-calls: %d }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(
                        backendPort,
                        5 + i % 7,
                        300 + i % 50,
                        100 + i % 50,
                        1000 + i % 50,
                        40 + i % 50,
                        100 + i % 50,
                        100 + i % 50,
                        10 + i % 50,
                        250 + i % 50);
    }

    private static long[] merged(List<long[]> phases) {
        return phases.stream().flatMapToLong(LongStream::of).sorted().toArray();
    }

    private static long percentile(long[] sorted, double percent) {
        return sorted[(int) Math.min(sorted.length - 1L, Math.round(sorted.length * percent / 100))];
    }

    private static void print(String what, long[] sorted) {
        double[] millis = Arrays.stream(new double[] {50, 99, 99.9})
                .map(percent -> percentile(sorted, percent) / 1e6)
                .toArray();
        System.out.printf(
                Locale.ROOT, "%-18s %9d %8.2f %8.2f %8.2f%n", what, sorted.length, millis[0], millis[1], millis[2]);
    }
}
