package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A run of a simulation, in a process of its own on a class path of its own. */
public final class Gatling {

    private static final Pattern BEGINS = Pattern.compile("^weir: load begins (\\d+)$", Pattern.MULTILINE);
    private static final Pattern ASSERTION =
            Pattern.compile("^(.+) : (true|false) \\(actual : (.*)\\)$", Pattern.MULTILINE);
    private static final Pattern PLANNED = Pattern.compile("^weir: (\\d+) requests planned$", Pattern.MULTILINE);
    private static final int ASSERTIONS_FAILED = 2;
    private static final String DELAY = "generator-delay";

    /** Its report of millions of requests takes minutes. */
    private static final Duration REPORTING = Duration.ofMinutes(15);

    private final Bench bench;
    private final String label;
    private final boolean binding;
    private final Child child;
    private final Path rows;
    private final Path report;

    /**
     * What Gatling is to do.
     *
     * @param simulation the class's simple name
     * @param label what the run is called in the report
     * @param plan the simulation's settings
     * @param binding whether its assertions have to hold, or are only counted
     */
    public record Load(String simulation, String label, Map<String, String> plan, boolean binding) {}

    /**
     * What came of it.
     *
     * @param requests all of them, in no order
     * @param failed the assertions that do not hold
     * @param missing requests that were planned and not made; 0 where none were planned, since callers ask again when they are answered
     * @param delayMillis 99 % of the generator's wake-ups in the steps were no later than this; not a number if there are none
     */
    public record Result(List<Request> requests, List<String> failed, long missing, double delayMillis) {}

    Gatling(Bench bench, Load load) {
        this.bench = bench;
        this.label = load.label();
        this.binding = load.binding();
        this.rows = bench.temporary().resolve("rows-" + label + ".csv");
        this.report = bench.temporary().resolve("gatling-" + label);
        Path home = bench.root().resolve("perf/simulations/target");
        List<String> command = new ArrayList<>(List.of(
                bench.javaCommand(),
                "-Xms256m",
                "-Xmx768m",
                "-XX:ActiveProcessorCount=" + bench.generatorCores(),
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                home.resolve("weir-perf-simulations.jar") + ":" + home.resolve("lib") + "/*"));
        Map<String, String> plan = new TreeMap<>(load.plan());
        plan.put("rows", rows.toString());
        plan.put("began", Long.toString(bench.began()));
        plan.forEach((name, value) -> command.add("-Dweir." + name + "=" + value));
        command.addAll(List.of(
                "io.gatling.app.Gatling",
                "-s",
                "io.weir.perf.simulation." + load.simulation(),
                "-rf",
                report.toString()));
        this.child = bench.launchGenerator("gatling-" + label, command);
    }

    /** Waits until the load begins; the time of that, in milliseconds since the run began. */
    public long awaitBegin() throws InterruptedException {
        bench.await("Gatling begins", () -> BEGINS.matcher(child.said()).find());
        Matcher matcher = BEGINS.matcher(child.said());
        if (!matcher.find()) {
            throw new IllegalStateException("it has begun");
        }
        return Long.parseLong(matcher.group(1)) - bench.began();
    }

    /** It may end from now on: its callers may be done before the step is over. */
    public void mayEnd() {
        child.release();
    }

    /** Waits until all requests have ended, and takes what was written. */
    public Result awaitEnd() throws InterruptedException {
        child.release();
        bench.await("Gatling ends", REPORTING, () -> !child.alive());
        bench.forget(child);
        if (child.exitValue() != 0 && child.exitValue() != ASSERTIONS_FAILED) {
            throw new RunFailure("Gatling ended with status " + child.exitValue() + ":\n    " + child.lastLines());
        }
        List<String> failed = new ArrayList<>();
        Matcher matcher = ASSERTION.matcher(child.said());
        while (matcher.find()) {
            boolean holds = Boolean.parseBoolean(matcher.group(2));
            if (binding) {
                bench.raw().assertion(label, matcher.group(1), holds, matcher.group(3));
            }
            if (!holds) {
                failed.add(matcher.group(1) + " (measured: " + matcher.group(3) + ")");
            }
        }
        if (failed.isEmpty() == (child.exitValue() == ASSERTIONS_FAILED)) {
            throw new RunFailure("Gatling's assertions are not understood; see "
                    + bench.raw().log(child.name()));
        }
        if (binding) {
            failed.forEach(one -> bench.verdict().fail(label + ": " + one));
        }
        keepReport();
        return read(failed);
    }

    private Result read(List<String> failed) {
        List<Request> requests = new ArrayList<>();
        List<Request> delays = new ArrayList<>();
        Map<Long, Long> worst = new TreeMap<>();
        Map<String, String> words = new HashMap<>();
        try (Stream<List<String>> all = Csv.rows(rows)) {
            all.forEach(values -> {
                Request request = new Request(
                        Long.parseLong(values.get(0)),
                        Long.parseLong(values.get(1)),
                        same(words, values.get(2)),
                        same(words, values.get(3)));
                if (request.outcome().equals(DELAY)) {
                    if (bench.stepAt(request.atMillis()) > 0) {
                        delays.add(request);
                    }
                    worst.merge(request.atMillis() / 1000, request.micros(), Math::max);
                } else {
                    requests.add(request);
                }
            });
        }
        worst.forEach((second, micros) -> bench.raw()
                .meter(bench.stepAt(second * 1000), second * 1000, "generator_delay_seconds", "", micros / 1e6));
        for (Request request : requests) {
            int step = bench.stepAt(request.atMillis());
            // Warming up is no step.
            if (step > 0) {
                bench.raw().request(step, request);
            }
        }
        Result result = new Result(
                List.copyOf(requests),
                List.copyOf(failed),
                missing(child.said(), requests.size()),
                delays.isEmpty() ? Double.NaN : Request.percentile(delays, 99));
        bench.judgeGenerator(label, child.name(), result);
        return result;
    }

    /** The one text for all rows that say the same: there are millions. */
    private static String same(Map<String, String> words, String word) {
        return words.computeIfAbsent(word, Function.identity());
    }

    /** How many of those that a simulation says to have planned are not there. */
    static long missing(String said, long sent) {
        Matcher planned = PLANNED.matcher(said);
        return planned.find() ? Math.max(0, Long.parseLong(planned.group(1)) - sent) : 0;
    }

    /** Gatling puts its report in a folder with the time in its name. */
    private void keepReport() {
        try (DirectoryStream<Path> reports = Files.newDirectoryStream(report)) {
            Path kept = bench.raw().directory().resolve("gatling");
            Files.createDirectories(kept);
            for (Path one : reports) {
                Files.move(one, kept.resolve(label));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
