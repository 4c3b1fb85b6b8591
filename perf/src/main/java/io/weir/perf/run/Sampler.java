package io.weir.perf.run;

import io.weir.perf.result.ResultWriter;
import io.weir.perf.result.RunResult.MeterSample;
import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.run.Processes.Role;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Samples all processes and the gateway's meters once a second. Ended processes have no samples. */
final class Sampler implements AutoCloseable {

    private static final Set<String> METERS = Set.of("""
            weir_permits_used weir_permits_limit weir_queue_length weir_breaker_state weir_inflight weir_shed_total
            weir_connections_open weir_pool_connections weir_pool_pending
            weir_law_arrival_rate weir_law_service_time_seconds weir_law_active_calls weir_law_suggested_limit
            weir_law_uncongested_time_seconds weir_law_waiting_ratio
            """.split("\\s+"));

    private final ResultWriter results;
    private final Supplier<String> step;
    private final Map<String, ProcessHandle> processes = new ConcurrentSkipListMap<>();
    private final Map<String, RunningServer> gateways = new ConcurrentSkipListMap<>();
    private final Queue<ProcessSample> samples = new ConcurrentLinkedQueue<>();
    private volatile @Nullable RuntimeException lastFailure;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("sampler").factory());

    Sampler(ResultWriter results, Supplier<String> step) {
        this.results = results;
        this.step = step;
        var unused = timer.scheduleAtFixedRate(this::sample, 0, 1, TimeUnit.SECONDS);
    }

    void watch(Role role, ManagedProcess process) {
        if (role == Role.UNDER_TEST || role == Role.GENERATOR) {
            watch(process.name(), process.pid());
        }
    }

    void watch(String name, long pid) {
        ProcessHandle.of(pid).ifPresent(process -> processes.put(name, process));
    }

    void sampleMeters(RunningServer gateway) {
        gateways.put(gateway.name(), gateway);
    }

    double mean(String process, String ofStep, ToLongFunction<ProcessSample> value) {
        return find(process, ofStep).stream().mapToLong(value).average().orElseThrow(() -> {
            RuntimeException cause = lastFailure;
            String text = "no samples of " + process + " in step " + ofStep;
            return cause == null ? new RunFailure(text) : new RunFailure(text + ": " + cause, cause);
        });
    }

    /** The busy cores of a process between its first and last sample in a step; empty without two samples. */
    OptionalDouble busyCores(String process, String ofStep) {
        List<ProcessSample> found = find(process, ofStep);
        if (found.size() < 2) {
            return OptionalDouble.empty();
        }
        long micros = found.getLast().cpuMicros() - found.getFirst().cpuMicros();
        long millis = found.getLast().atMillis() - found.getFirst().atMillis();
        return millis == 0 ? OptionalDouble.empty() : OptionalDouble.of(micros / 1000.0 / millis);
    }

    private List<ProcessSample> find(String process, String ofStep) {
        return samples.stream()
                .filter(sample ->
                        sample.process().equals(process) && sample.step().equals(ofStep))
                .toList();
    }

    void add(String process, long atMillis, ProcessStats stats) {
        ProcessSample sample = new ProcessSample(
                step.get(),
                atMillis,
                process,
                stats.cpuMicros(),
                stats.rssBytes(),
                stats.threads(),
                stats.connections());
        samples.add(sample);
        results.add(sample);
    }

    private void sample() {
        try {
            Set<String> established = ProcessStats.establishedSockets();
            // The handle, unlike its pid, never means another process.
            processes.values().removeIf(process -> !process.isAlive());
            processes.forEach((name, process) -> ProcessStats.ofTree(process.pid(), established)
                    .ifPresent(stats -> add(name, results.nowMillis(), stats)));
            gateways.values()
                    .removeIf(gateway -> !gateway.process().orElseThrow().isAlive());
            gateways.values().forEach(gateway -> sampleMeters(gateway.management()));
        } catch (RuntimeException e) {
            lastFailure = e;
        }
    }

    private void sampleMeters(URI management) {
        try {
            long at = results.nowMillis();
            for (HttpControl.Metric metric : HttpControl.metrics(management)) {
                // A gauge without a value is NaN.
                if (METERS.contains(metric.name()) && Double.isFinite(metric.value())) {
                    results.add(new MeterSample(step.get(), at, metric.name(), metric.labels(), metric.value()));
                }
            }
        } catch (IOException e) {
            // The gateway ends or is overloaded; the plot has a gap.
        }
    }

    @Override
    public void close() {
        timer.shutdownNow();
        try {
            timer.awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
