package io.weir.perf.result;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The result of one run of an experiment: the content of its raw files. All times are milliseconds since the
 * start of the run. The files of processes, meters, spans, facts, assertions and claims are optional.
 *
 * @param directory the directory of the raw files
 * @param properties {@code run.properties}
 */
public record RunResult(
        Path directory,
        Map<String, String> properties,
        List<Step> steps,
        Requests requests,
        List<ProcessSample> processes,
        List<MeterSample> meters,
        List<ShadedSpan> spans,
        List<Fact> facts,
        List<Assertion> assertions,
        List<Claim> claims) {

    /** The limit for the 99th percentile of the generator's wake-up delays: a late one measures itself. */
    public static final double MAX_GENERATOR_DELAY_MILLIS = 50;

    /** The limit for the generator's share of its cores: a busier one cannot send bursts in time. */
    public static final double MAX_GENERATOR_BUSY_PERCENT = 80;

    /** The file that marks the directory of a run. */
    public static final String PROPERTIES = "run.properties";

    /** The label of a step that is excluded from comparisons between steps. */
    public static final String WARM_UP = "warm-up";

    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"?([^\",}]*)\"?");

    private static final CsvTable<Step> STEPS = new CsvTable<>("steps.csv", Step.class);
    static final CsvTable<Request> REQUESTS = new CsvTable<>("requests.csv", Request.class);
    static final CsvTable<ProcessSample> PROCESSES = new CsvTable<>("processes.csv", ProcessSample.class);
    static final CsvTable<MeterSample> METERS = new CsvTable<>("meters.csv", MeterSample.class);
    private static final CsvTable<ShadedSpan> SPANS = new CsvTable<>("spans.csv", ShadedSpan.class);
    static final CsvTable<Fact> FACTS = new CsvTable<>("facts.csv", Fact.class);
    static final CsvTable<Assertion> ASSERTIONS = new CsvTable<>("assertions.csv", Assertion.class);
    private static final CsvTable<Claim> CLAIMS = new CsvTable<>("claims.csv", Claim.class);
    static final List<CsvTable<?>> TABLES =
            List.of(STEPS, REQUESTS, PROCESSES, METERS, SPANS, FACTS, ASSERTIONS, CLAIMS);

    /** The files that a kept set has as they are. */
    static final List<CsvTable<?>> COPIED = List.of(STEPS, SPANS, FACTS, ASSERTIONS, CLAIMS);

    /**
     * A part of the run with constant conditions.
     *
     * @param id refers to the step from other files
     * @param x the number that the step is plotted over, such as the concurrency; empty: plotted over time
     * @param name names its figures: the label, with {@code @X} in a series, and with a number if it repeats
     */
    public record Step(
            @JsonProperty("step") String id,
            String label,
            String x,
            long beganMillis,
            long endedMillis,
            @JsonIgnore String name) {

        public Step {
            CsvTable.check(!id.isBlank(), "step", id, "a name");
            CsvTable.check(x.matches("|\\d+(\\.\\d+)?"), "x", x, "a number");
            name = Objects.requireNonNullElse(name, label);
        }

        private Step named(Map<String, Integer> repetitions) {
            String text = hasX() ? label + '@' + x : label;
            int repetition = repetitions.merge(text, 1, Integer::sum);
            String unique = repetition == 1 ? text : text + ' ' + repetition;
            return new Step(id, label, x, beganMillis, endedMillis, unique);
        }

        /** Whether the step belongs to a series over a number. */
        public boolean hasX() {
            return !x.isEmpty();
        }

        public double seconds() {
            return (endedMillis - beganMillis) / 1000.0;
        }

        public boolean contains(long atMillis) {
            return atMillis >= beganMillis && atMillis <= endedMillis;
        }
    }

    /** The kernel's figures of a process. {@code cpuMicros} counts from the start of the process. */
    public record ProcessSample(
            String step, long atMillis, String process, long cpuMicros, long rssBytes, long threads, long connections) {

        public ProcessSample {
            CsvTable.check(!process.isBlank(), "process", process, "a name");
            CsvTable.check(atMillis >= 0, "at_ms", atMillis, "0 or more");
            CsvTable.check(cpuMicros >= 0, "cpu_micros", cpuMicros, "0 or more");
            CsvTable.check(rssBytes >= 0, "rss_bytes", rssBytes, "0 or more");
        }
    }

    /** The value of a meter. {@code labels} has the form of the Prometheus text format. */
    public record MeterSample(String step, long atMillis, String meter, String labels, double value) {

        public MeterSample {
            CsvTable.check(!meter.isBlank(), "meter", meter, "a name");
            CsvTable.check(Double.isFinite(value), "value", value, "a number");
        }

        public Map<String, String> labelsByName() {
            return LABEL.matcher(labels)
                    .results()
                    .collect(Collectors.toMap(one -> one.group(1), one -> one.group(2), (a, b) -> b, TreeMap::new));
        }
    }

    /** A period that plots shade, such as a fault. */
    public record ShadedSpan(String step, String label, long fromMillis, long toMillis) {}

    public record Fact(String name, double value, String unit) {
        public Fact {
            CsvTable.check(Double.isFinite(value), "value", value, "a number");
        }
    }

    /** A condition that must hold. {@code run} is the label of the load if an experiment has several. */
    public record Assertion(String run, String assertion, boolean holds, String actual) {}

    public static RunResult read(Path directory) {
        Map<String, Integer> repetitions = new HashMap<>();
        List<Step> steps = STEPS
                .read(
                        directory,
                        one -> CsvTable.check(
                                one.seconds() >= 0, "ended_ms", one.endedMillis, one.beganMillis + " or later"))
                .stream()
                .map(step -> step.named(repetitions))
                .toList();
        Set<String> ids = steps.stream().map(Step::id).collect(Collectors.toSet());
        List<KeptRun.RequestGroup> groups = KeptRun.GROUPS.readIfPresent(directory);
        List<Request> requests = groups.isEmpty()
                ? REQUESTS.read(
                        directory,
                        one -> CsvTable.check(ids.contains(one.step()), "step", one.step(), "a step of steps.csv"))
                : groups.stream()
                        .flatMap(KeptRun.RequestGroup::requests)
                        .sorted(Comparator.comparingLong(Request::atMillis))
                        .toList();
        return new RunResult(
                directory,
                properties(directory.resolve(PROPERTIES)),
                steps,
                new Requests(requests),
                PROCESSES.readIfPresent(directory),
                METERS.readIfPresent(directory),
                SPANS.readIfPresent(directory),
                FACTS.readIfPresent(directory),
                ASSERTIONS.readIfPresent(directory),
                CLAIMS.readIfPresent(directory));
    }

    /** Some requests of this run, with the steps and spans of a plot of their own. */
    public RunResult part(List<Step> ownSteps, Requests ownRequests, List<ShadedSpan> ownSpans) {
        return new RunResult(
                directory,
                properties,
                ownSteps,
                ownRequests,
                List.of(),
                List.of(),
                ownSpans,
                List.of(),
                List.of(),
                List.of());
    }

    private static Map<String, String> properties(Path file) {
        Properties read = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            read.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new InvalidFileException(file + ": " + e);
        }
        for (String required : List.of("experiment", "mode", "command", "limit.sentence")) {
            if (read.getProperty(required, "").isBlank()) {
                throw new InvalidFileException(file + ": " + required + ": missing");
            }
        }
        Map<String, String> properties = new TreeMap<>();
        read.forEach((name, value) -> properties.put(name.toString(), value.toString()));
        return properties;
    }

    public String property(String name) {
        return properties.getOrDefault(name, "");
    }

    /** Why the run is not a valid result; empty if it is. */
    public String invalidReason() {
        return property("valid").equals("false") ? property("invalid.why") : "";
    }

    public boolean holds() {
        return assertions.stream().allMatch(Assertion::holds);
    }

    public static boolean isGenerator(String process) {
        return process.startsWith("gatling") || process.startsWith("wrk") || process.equals("load");
    }

    public Map<String, List<ProcessSample>> processesUnderTest() {
        return processes.stream()
                .filter(sample -> !isGenerator(sample.process()))
                .collect(Collectors.groupingBy(ProcessSample::process, TreeMap::new, Collectors.toList()));
    }

    public Comparison comparison() {
        return Comparison.of(property("compare"), facts);
    }

    /** The fronts that the run measured one after the other, for panels one below the other. */
    public List<String> panels() {
        return property("panels").isEmpty()
                ? List.of()
                : List.of(property("panels").split(",", -1));
    }

    public boolean compares() {
        return !property("compare").isEmpty() || !panels().isEmpty();
    }

    /** Whether the steps form a series over a number, such as the concurrency. */
    public boolean isSeries() {
        return steps.stream().anyMatch(Step::hasX);
    }
}
