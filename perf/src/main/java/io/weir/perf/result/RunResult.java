package io.weir.perf.result;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The result of one run of an experiment: the content of its raw files. All times are milliseconds since the
 * start of the run. The files of processes, meters, spans, facts and assertions are optional.
 *
 * @param directory the directory of the raw files
 * @param properties {@code run.properties}
 */
public record RunResult(
        Path directory,
        Map<String, String> properties,
        List<Step> steps,
        List<Request> requests,
        List<ProcessSample> processes,
        List<MeterSample> meters,
        List<ShadedSpan> spans,
        List<Fact> facts,
        List<Assertion> assertions) {

    /** The file that marks the directory of a run. */
    public static final String PROPERTIES = "run.properties";

    /** The label of a step that is excluded from comparisons between steps. */
    public static final String WARM_UP = "warm-up";

    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"?([^\",}]*)\"?");

    /**
     * A part of the run with constant conditions.
     *
     * @param id refers to the step from other files
     * @param x the number that the step is plotted over, such as the concurrency; empty: plotted over time
     * @param name names its figures: the label, with {@code @X} in a series, and with a number if it repeats
     */
    public record Step(String id, String label, String x, long beganMillis, long endedMillis, String name) {

        private Step named(String text, Map<String, Integer> repetitions) {
            int repetition = repetitions.merge(text, 1, Integer::sum);
            String unique = repetition == 1 ? text : text + ' ' + repetition;
            return new Step(id, label, x, beganMillis, endedMillis, unique);
        }

        /** Whether the step belongs to a series over a number. */
        public boolean hasX() {
            return !x.isEmpty();
        }

        /** How long the step took. */
        public double seconds() {
            return (endedMillis - beganMillis) / 1000.0;
        }

        /** Whether a moment is within the step. */
        public boolean contains(long atMillis) {
            return atMillis >= beganMillis && atMillis <= endedMillis;
        }
    }

    /** The kernel's figures of a process. {@code cpuMicros} counts from the start of the process. */
    public record ProcessSample(
            String step,
            long atMillis,
            String process,
            long cpuMicros,
            long rssBytes,
            long threads,
            long connections) {}

    /** The value of a meter. {@code labels} has the form of the Prometheus text format. */
    public record MeterSample(String step, long atMillis, String name, String labels, double value) {

        /** The labels by name. */
        public Map<String, String> labelsByName() {
            Map<String, String> byName = new TreeMap<>();
            Matcher label = LABEL.matcher(labels);
            while (label.find()) {
                byName.put(label.group(1), label.group(2));
            }
            return byName;
        }
    }

    /** A period that plots shade, such as a fault. */
    public record ShadedSpan(String step, String label, long fromMillis, long toMillis) {}

    /** A single figure that the experiment computed. */
    public record Fact(String name, double value, String unit) {}

    /** A condition that must hold. {@code run} is the label of the load if an experiment has several. */
    public record Assertion(String run, String text, boolean holds, String actual) {}

    static CsvTable<Step> stepTable() {
        Map<String, Integer> repetitions = new HashMap<>();
        List<String> columns = List.of("step!", "label!", "x", "began_ms", "ended_ms");
        return new CsvTable<>("steps.csv", Step.class, columns, (row, step) -> {
            if (step.endedMillis() < step.beganMillis()) {
                throw row.invalid("ended_ms", "began_ms, " + step.beganMillis() + ", or later");
            }
            if (step.hasX() && Double.isFinite(row.number("x"))) {
                return step.named(step.label() + '@' + step.x(), repetitions);
            }
            return step.named(step.label(), repetitions);
        });
    }

    static CsvTable<Request> requestTable(List<Step> steps) {
        Set<String> ids = steps.stream().map(Step::id).collect(Collectors.toSet());
        List<String> columns = List.of("step", "at_ms", "micros", "request!", "outcome!");
        return new CsvTable<>("requests.csv", Request.class, columns, (row, request) -> {
            if (!ids.contains(request.step())) {
                throw row.invalid("step", "a step of steps.csv");
            }
            return request;
        });
    }

    static final CsvTable<ProcessSample> PROCESSES = new CsvTable<>(
            "processes.csv",
            ProcessSample.class,
            "step",
            "at_ms",
            "process!",
            "cpu_micros",
            "rss_bytes",
            "threads",
            "connections");

    static final CsvTable<MeterSample> METERS =
            new CsvTable<>("meters.csv", MeterSample.class, "step", "at_ms", "meter!", "labels", "value");

    static final CsvTable<ShadedSpan> SPANS =
            new CsvTable<>("spans.csv", ShadedSpan.class, "step", "label", "from_ms", "to_ms");

    static final CsvTable<Fact> FACTS = new CsvTable<>("facts.csv", Fact.class, "name!", "value%", "unit");

    static final CsvTable<Assertion> ASSERTIONS =
            new CsvTable<>("assertions.csv", Assertion.class, "run", "assertion!", "holds", "actual");

    /**
     * Reads the directory of a run.
     *
     * @throws InvalidFileException if a file is missing or has invalid content
     */
    public static RunResult read(Path directory) {
        List<Step> steps = stepTable().read(directory);
        return new RunResult(
                directory,
                properties(directory.resolve(PROPERTIES)),
                steps,
                requestTable(steps).read(directory),
                PROCESSES.readIfPresent(directory),
                METERS.readIfPresent(directory),
                SPANS.readIfPresent(directory),
                FACTS.readIfPresent(directory),
                ASSERTIONS.readIfPresent(directory));
    }

    private static Map<String, String> properties(Path file) {
        Properties read = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            read.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new InvalidFileException(file, String.valueOf(e));
        }
        for (String required : List.of("experiment", "mode", "command", "limit.sentence")) {
            if (read.getProperty(required, "").isBlank()) {
                throw new InvalidFileException(file, required + ": missing");
            }
        }
        Map<String, String> properties = new TreeMap<>();
        read.stringPropertyNames().forEach(name -> properties.put(name, read.getProperty(name, "")));
        return properties;
    }

    /**
     * The same result in another directory, with only the meters of breakers, which requests are plotted
     * with.
     */
    public RunResult keptIn(Path other) {
        List<MeterSample> breakers = meters.stream()
                .filter(meter -> meter.name().equals("weir_breaker_state"))
                .toList();
        return new RunResult(other, properties, steps, requests, processes, breakers, spans, facts, assertions);
    }

    /** A property; empty if the run does not have it. */
    public String property(String name) {
        return properties.getOrDefault(name, "");
    }

    /** Why the run is not a valid result; empty if it is. */
    public String invalidReason() {
        return property("valid").equals("false") ? property("invalid.why") : "";
    }

    /** Whether all assertions hold. */
    public boolean holds() {
        return assertions.stream().allMatch(Assertion::holds);
    }

    /** Whether a process belongs to the load generator and is not under test. */
    public static boolean isGenerator(String process) {
        return process.startsWith("gatling") || process.startsWith("wrk");
    }

    /** The facts that the run compares between products. */
    public Comparison comparison() {
        return Comparison.of(property("compare"), facts);
    }

    /** Whether the steps form a series over a number, such as the concurrency. */
    public boolean isSeries() {
        return steps.stream().anyMatch(Step::hasX);
    }
}
