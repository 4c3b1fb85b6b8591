package io.weir.perf.report;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What one run of an experiment left in its directory, as it stands there. Times are milliseconds since the run began.
 *
 * @param directory where it was read from
 * @param properties {@code run.properties}
 * @param steps {@code steps.csv}
 * @param requests {@code requests.csv}
 * @param processes {@code processes.csv}; empty if there is none
 * @param meters {@code meters.csv}; empty if there is none
 * @param spans {@code spans.csv}; empty if there is none
 * @param facts {@code facts.csv}; empty if there is none
 * @param assertions {@code assertions.csv}; empty if there is none
 */
record Run(
        Path directory,
        Map<String, String> properties,
        List<Step> steps,
        List<Request> requests,
        List<Sample> processes,
        List<Meter> meters,
        List<Span> spans,
        List<Fact> facts,
        List<Assertion> assertions) {

    /** The file by which a run's directory is known. */
    static final String PROPERTIES = "run.properties";

    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"?([^\",}]*)\"?");

    /**
     * A part of the run in which nothing was changed.
     *
     * @param id by which the other files name it
     * @param name by which its figures are known: its label, with {@code @X} if it has one, and with a number from the second of that name on
     * @param x the number it is plotted over, such as how many are concurrent; none if it is plotted over time
     */
    record Step(String id, String name, String label, OptionalDouble x, long began, long ended) {

        double seconds() {
            return (ended - began) / 1000.0;
        }

        /** Whether that moment is in it. */
        boolean spans(long at) {
            return at >= began && at <= ended;
        }
    }

    /**
     * A request that ended, as its caller saw it.
     *
     * @param at when it was sent
     * @param micros how long it took
     * @param outcome {@code success}, or the word for what became of it
     */
    record Request(String step, long at, long micros, String name, String outcome) {

        boolean success() {
            return outcome.equals(Outcomes.SUCCESS);
        }

        double ended() {
            return at + micros / 1000.0;
        }
    }

    /**
     * A process seen from outside.
     *
     * @param cpuMicros since it was started
     */
    record Sample(
            String step, long at, String process, long cpuMicros, long rssBytes, long threads, long connections) {}

    /** What a meter showed. */
    record Meter(String step, long at, String name, Map<String, String> labels, double value) {}

    /** A time in which something was different, such as a fault. */
    record Span(String step, String label, long from, long to) {}

    /** A single figure that the experiment found by itself. */
    record Fact(String name, double value, String unit) {}

    /**
     * What had to hold.
     *
     * @param run of the load, where there are several
     */
    record Assertion(String run, String text, boolean holds, String actual) {}

    /**
     * Reads a run's directory.
     *
     * @throws WrongFile if a file is missing or is not what it should be
     */
    static Run read(Path directory) {
        List<Step> steps = RawFile.read(
                directory.resolve("steps.csv"),
                List.of("step", "label", "x", "began_ms", "ended_ms"),
                step(new HashMap<>()));
        Map<String, Step> named =
                steps.stream().collect(Collectors.toMap(Step::id, Function.identity(), (first, second) -> first));
        Map<String, String> words = new TreeMap<>();
        return new Run(
                directory,
                properties(directory.resolve(PROPERTIES)),
                steps,
                RawFile.read(
                        directory.resolve("requests.csv"),
                        List.of("step", "at_ms", "micros", "request", "outcome"),
                        row -> new Request(
                                stepOf(row, named),
                                row.count("at_ms"),
                                row.count("micros"),
                                same(words, row.name("request")),
                                same(words, row.name("outcome")))),
                ifAny(
                        directory.resolve("processes.csv"),
                        List.of("step", "at_ms", "process", "cpu_micros", "rss_bytes", "threads", "connections"),
                        row -> new Sample(
                                row.text("step"),
                                row.count("at_ms"),
                                row.name("process"),
                                row.count("cpu_micros"),
                                row.count("rss_bytes"),
                                row.count("threads"),
                                row.count("connections"))),
                ifAny(
                        directory.resolve("meters.csv"),
                        List.of("step", "at_ms", "meter", "labels", "value"),
                        row -> new Meter(
                                row.text("step"),
                                row.count("at_ms"),
                                row.name("meter"),
                                labels(row.text("labels")),
                                row.number("value"))),
                ifAny(
                        directory.resolve("spans.csv"),
                        List.of("step", "label", "from_ms", "to_ms"),
                        row -> new Span(row.text("step"), row.text("label"), row.count("from_ms"), row.count("to_ms"))),
                ifAny(
                        directory.resolve("facts.csv"),
                        List.of("name", "value", "unit"),
                        row -> new Fact(row.name("name"), row.number("value"), row.text("unit"))),
                ifAny(
                        directory.resolve("assertions.csv"),
                        List.of("run", "assertion", "holds", "actual"),
                        row -> new Assertion(
                                row.text("run"), row.name("assertion"), yesOrNo(row, "holds"), row.text("actual"))));
    }

    /** The same with a place of its own, and of the meters only those of breakers, which are drawn with the requests. */
    Run in(Path other) {
        return new Run(
                other,
                properties,
                steps,
                requests,
                processes,
                meters.stream()
                        .filter(meter -> meter.name().equals("weir_breaker_state"))
                        .toList(),
                spans,
                facts,
                assertions);
    }

    /** What {@code run.properties} says, or nothing. */
    String property(String name) {
        return properties.getOrDefault(name, "");
    }

    /** Why the run is not to be believed, or nothing. */
    String invalid() {
        return property("valid").equals("false") ? property("invalid.why") : "";
    }

    /** Whether all that had to hold did. */
    boolean holds() {
        return assertions.stream().allMatch(Assertion::holds);
    }

    /** The load's own processes are not under test. */
    static boolean isGenerator(String process) {
        return process.startsWith("gatling") || process.startsWith("wrk");
    }

    /** What the experiment found of several things, side by side. */
    Comparison comparison() {
        return Comparison.of(
                property("compare"),
                facts.stream()
                        .map(fact -> new Comparison.Fact(fact.name(), fact.value(), fact.unit()))
                        .toList());
    }

    /** Whether the steps are a series over a number, such as concurrency. */
    boolean isOverX() {
        return steps.stream().anyMatch(step -> step.x().isPresent());
    }

    private static Function<RawFile.Row, Step> step(Map<String, Integer> named) {
        return row -> {
            long began = row.count("began_ms");
            long ended = row.count("ended_ms");
            if (ended < began) {
                throw row.wrong("ended_ms", row.text("ended_ms"), "began_ms, " + began + ", or later");
            }
            String label = row.name("label");
            String name = row.text("x").isEmpty() ? label : label + '@' + row.text("x");
            int times = named.merge(name, 1, Integer::sum);
            return new Step(
                    row.name("step"),
                    times == 1 ? name : name + ' ' + times,
                    label,
                    row.numberIfAny("x"),
                    began,
                    ended);
        };
    }

    private static boolean yesOrNo(RawFile.Row row, String column) {
        return switch (row.text(column)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw row.wrong(column, row.text(column), "true or false");
        };
    }

    /** The one text for all rows that say the same: there are millions. */
    private static String same(Map<String, String> words, String word) {
        return words.computeIfAbsent(word, Function.identity());
    }

    private static String stepOf(RawFile.Row row, Map<String, Step> steps) {
        String name = row.text("step");
        Step step = steps.get(name);
        if (step == null) {
            throw row.wrong("step", name, "one that stands in steps.csv");
        }
        return step.id();
    }

    private static <T> List<T> ifAny(Path file, List<String> columns, Function<RawFile.Row, T> map) {
        return Files.exists(file) ? RawFile.read(file, columns, map) : List.of();
    }

    private static Map<String, String> labels(String text) {
        Map<String, String> labels = new TreeMap<>();
        Matcher label = LABEL.matcher(text);
        while (label.find()) {
            labels.put(label.group(1), label.group(2));
        }
        return labels;
    }

    private static Map<String, String> properties(Path file) {
        Properties read = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            read.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new WrongFile(file, String.valueOf(e));
        }
        for (String needed : List.of("experiment", "mode", "command", "limit.sentence")) {
            if (read.getProperty(needed, "").isBlank()) {
                throw new WrongFile(file, needed + ": missing");
            }
        }
        return read.stringPropertyNames().stream()
                .collect(Collectors.toMap(
                        Function.identity(),
                        name -> read.getProperty(name, ""),
                        (first, second) -> first,
                        TreeMap::new));
    }
}
