package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The raw files of one experiment's run: all that a report is made from. Times are milliseconds since the run began. */
final class Raw implements AutoCloseable {

    private final Path directory;
    private final long began = System.currentTimeMillis();
    private final Map<String, String> properties = new TreeMap<>();
    private final Csv steps;
    private final Csv requests;
    private final Csv processes;
    private final Csv meters;
    private final Csv spans;
    private final Csv facts;
    private final Csv assertions;

    /** In an empty directory: what an earlier run has left there goes. */
    Raw(Path directory) {
        this.directory = directory;
        try {
            empty(directory);
            Files.createDirectories(directory.resolve("logs"));
        } catch (IOException e) {
            throw new RunFailure(directory + ": " + e.getMessage(), e);
        }
        this.steps = csv("steps", "step", "label", "x", "began_ms", "ended_ms");
        this.requests = csv("requests", "step", "at_ms", "micros", "request", "outcome");
        this.processes =
                csv("processes", "step", "at_ms", "process", "cpu_micros", "rss_bytes", "threads", "connections");
        this.meters = csv("meters", "step", "at_ms", "meter", "labels", "value");
        this.spans = csv("spans", "step", "label", "from_ms", "to_ms");
        this.facts = csv("facts", "name", "value", "unit");
        this.assertions = csv("assertions", "run", "assertion", "holds", "actual");
    }

    private Csv csv(String name, String... header) {
        return new Csv(directory.resolve(name + ".csv"), header);
    }

    static void empty(Path directory) throws IOException {
        if (Files.exists(directory)) {
            try (Stream<Path> all = Files.walk(directory)) {
                for (Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(one);
                }
            }
        }
    }

    Path directory() {
        return directory;
    }

    Path log(String process) {
        return directory.resolve("logs/" + process + ".log");
    }

    /** In milliseconds since 1970. */
    long began() {
        return began;
    }

    long now() {
        return System.currentTimeMillis() - began;
    }

    void property(String name, Object value) {
        properties.put(name, String.valueOf(value));
    }

    void step(int step, String label, String x, long from, long to) {
        steps.row(step, label, x, from, to);
    }

    void request(int step, Request request) {
        requests.row(step, request.atMillis(), request.micros(), request.name(), request.outcome());
    }

    void process(int step, long at, String process, Proc proc) {
        processes.row(step, at, process, proc.cpuMicros(), proc.rssBytes(), proc.threads(), proc.connections());
    }

    void meter(int step, long at, String meter, String labels, Object value) {
        meters.row(step, at, meter, labels, value);
    }

    void span(int step, String label, long from, long to) {
        spans.row(step, label, from, to);
    }

    void fact(String name, double value, String unit) {
        facts.row(name, String.format(Locale.ROOT, "%.3f", value), unit);
    }

    void assertion(String run, String assertion, boolean holds, String actual) {
        assertions.row(run, assertion, holds, actual);
    }

    @Override
    public void close() {
        for (Csv one : new Csv[] {steps, requests, processes, meters, spans, facts, assertions}) {
            one.close();
        }
        writeProperties();
        try {
            dropEmptyLogs();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What is known of the run so far. */
    void writeProperties() {
        StringBuilder text = new StringBuilder();
        properties.forEach((name, value) -> text.append(name)
                .append('=')
                .append(value.replace("\\", "\\\\").replace("\n", " "))
                .append('\n'));
        try {
            Files.writeString(directory.resolve("run.properties"), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void dropEmptyLogs() throws IOException {
        try (DirectoryStream<Path> logs = Files.newDirectoryStream(directory.resolve("logs"))) {
            for (Path log : logs) {
                if (Files.size(log) == 0) {
                    Files.delete(log);
                }
            }
        }
    }
}
