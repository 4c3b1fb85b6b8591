package io.weir.perf.run;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** Looks at each process from outside, and at the gateway's meters, once a second. */
final class Sampler implements AutoCloseable {

    /** What a plot uses. */
    private static final Set<String> METERS = Set.of(
            "weir_permits_used",
            "weir_permits_limit",
            "weir_queue_length",
            "weir_breaker_state",
            "weir_inflight",
            "weir_connections_open",
            "weir_pool_connections",
            "weir_pool_pending",
            "weir_shed_total",
            "weir_law_arrival_rate",
            "weir_law_service_time_seconds",
            "weir_law_active_calls",
            "weir_law_suggested_limit",
            "weir_law_uncongested_time_seconds",
            "weir_law_waiting_ratio");

    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final String CPU = "cpu";

    private final Raw raw;
    private final IntSupplier step;
    private final Map<String, Long> processes = new ConcurrentSkipListMap<>();
    private final Map<String, Integer> gateways = new ConcurrentSkipListMap<>();
    private final Map<String, Used> used = new ConcurrentHashMap<>();
    private final Map<String, LongSummaryStatistics> sums = new ConcurrentHashMap<>();
    /** Of the last sample that failed. */
    private volatile @Nullable RuntimeException failure;

    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(PATIENCE).build();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("sampler").factory());

    Sampler(Raw raw, IntSupplier step) {
        this.raw = raw;
        this.step = step;
        var unused = timer.scheduleAtFixedRate(this::sample, 0, 1, TimeUnit.SECONDS);
    }

    /** With those that it starts. */
    void watch(String name, long pid) {
        processes.put(name, pid);
    }

    void scrape(String gateway, int managementPort) {
        gateways.put(gateway, managementPort);
    }

    void forget(String name) {
        processes.remove(name);
        gateways.remove(name);
    }

    /**
     * What was sampled of a process in a step.
     *
     * @throws RunFailure if nothing was: a mean of nothing is no figure
     */
    double mean(String process, String what, int ofStep) {
        LongSummaryStatistics sum = sums.get(key(process, what, ofStep));
        if (sum != null) {
            return sum.getAverage();
        }
        String nothing = "nothing was sampled of " + process + " in step " + ofStep + " (expected: " + what + ")";
        RuntimeException why = failure;
        throw why == null ? new RunFailure(nothing) : new RunFailure(nothing + ": " + why, why);
    }

    /** How many cores a process has kept busy in a step, from its first sample to its last; empty if it was not sampled twice. */
    OptionalDouble cores(String process, int ofStep) {
        Used used = this.used.get(key(process, CPU, ofStep));
        return used == null || used.toMillis() == used.fromMillis()
                ? OptionalDouble.empty()
                : OptionalDouble.of(
                        (used.toMicros() - used.fromMicros()) / 1000.0 / (used.toMillis() - used.fromMillis()));
    }

    /** Processor time at a process's first sample and at its last. */
    private record Used(long fromMillis, long fromMicros, long toMillis, long toMicros) {}

    private static String key(String process, String what, int ofStep) {
        return ofStep + " " + process + " " + what;
    }

    /** What a process is like at that time. */
    void note(String process, long at, Proc proc) {
        int now = step.getAsInt();
        raw.process(now, at, process, proc);
        used.merge(
                key(process, CPU, now),
                new Used(at, proc.cpuMicros(), at, proc.cpuMicros()),
                (first, last) -> new Used(first.fromMillis(), first.fromMicros(), last.toMillis(), last.toMicros()));
        add(key(process, "threads", now), proc.threads());
        add(key(process, "rss", now), proc.rssBytes());
    }

    private void add(String key, long value) {
        sums.compute(key, (name, sum) -> {
            LongSummaryStatistics next = new LongSummaryStatistics();
            if (sum != null) {
                next.combine(sum);
            }
            next.accept(value);
            return next;
        });
    }

    private void sample() {
        try {
            Set<String> established = Proc.established();
            processes.forEach(
                    (name, pid) -> Proc.ofAll(pid, established).ifPresent(proc -> note(name, raw.now(), proc)));
            for (int port : gateways.values()) {
                scrape(port);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            // A sample that fails is missing in the figures; the next one may not be.
            failure = e;
        }
    }

    private void scrape(int port) throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/actuator/prometheus"))
                .timeout(PATIENCE)
                .build();
        try {
            long at = raw.now();
            http.send(request, HttpResponse.BodyHandlers.ofString())
                    .body()
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .forEach(line -> meter(at, line));
        } catch (IOException e) {
            // It is on its way out, or too busy: then the plot has a gap there.
        }
    }

    private void meter(long at, String line) {
        int value = line.lastIndexOf(' ');
        int brace = line.indexOf('{');
        String name = line.substring(0, brace < 0 ? value : brace);
        // A gauge that knows nothing yet says that it is no number.
        if (METERS.contains(name) && Double.isFinite(Double.parseDouble(line.substring(value + 1)))) {
            raw.meter(
                    step.getAsInt(),
                    at,
                    name,
                    brace < 0 ? "" : line.substring(brace + 1, line.lastIndexOf('}')),
                    line.substring(value + 1));
        }
    }

    @Override
    public void close() {
        timer.shutdownNow();
        try {
            timer.awaitTermination(PATIENCE.toMillis() * 2, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        http.shutdownNow();
    }
}
