package io.weir.perf.run;

import io.weir.perf.result.CsvTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult.Assertion;
import io.weir.perf.result.RunResult.MeterSample;
import io.weir.perf.run.Processes.Role;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.databind.json.JsonMapper;

/** A simulation that runs in its own process with its own class path. */
public final class GatlingLoad {

    private static final Pattern BEGIN = Pattern.compile("^weir: load begins (\\d+)$", Pattern.MULTILINE);
    private static final Pattern ASSERTION =
            Pattern.compile("^(.+) : (true|false) \\(actual : (.*)\\)$", Pattern.MULTILINE);
    private static final Pattern PLANNED = Pattern.compile("^weir: (\\d+) requests planned$", Pattern.MULTILINE);
    private static final int ASSERTIONS_FAILED = 2;

    /** The outcome of rows that are wake-ups of the generator, not requests. */
    private static final String DELAY = "generator-delay";

    /** Gatling's report of millions of requests takes minutes. */
    private static final Duration REPORT_TIMEOUT = Duration.ofMinutes(15);

    private final ExperimentContext context;
    private final GatlingPlan plan;
    private final ManagedProcess process;
    private final Path report;
    private final Path rows;

    /**
     * The plan of a load: a simulation's simple class name, a label, the fields of its {@code LoadPlan}, and
     * its assertions. A failed one fails the run if they are {@code binding}.
     */
    public record GatlingPlan(
            String simulation,
            String label,
            Map<String, ?> settings,
            List<LoadAssertion> assertions,
            boolean binding) {}

    /**
     * The result of a load. The requests are in the order of sending.
     *
     * @param missing planned requests that were not sent; 0 in the closed model, which plans none
     * @param delayMillis the 99th percentile of the generator's wake-up delays in all steps; NaN without any
     */
    public record Result(Requests requests, int failedAssertions, long missing, double delayMillis) {}

    GatlingLoad(ExperimentContext context, GatlingPlan plan) {
        this.context = context;
        this.plan = plan;
        this.report = context.processes().directory().resolve("gatling-" + plan.label);
        this.rows = context.processes().directory().resolve("rows-" + plan.label + ".csv");
        Path home = context.file("perf/simulations/target");
        List<String> command = new ArrayList<>(List.of(
                Host.java(),
                "-Xms256m",
                "-Xmx768m",
                "-XX:ActiveProcessorCount=" + context.generatorCores(),
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"));
        command.addAll(context.jvmOptions());
        command.addAll(List.of("-cp", home.resolve("weir-perf-simulations.jar") + ":" + home.resolve("lib") + "/*"));
        Map<String, Object> settings = new TreeMap<>(plan.settings);
        settings.put("rows", rows.toString());
        settings.put("beganMillis", context.results.beganEpochMillis());
        settings.put("assertions", plan.assertions);
        Path file = context.processes().directory().resolve("plan-" + plan.label + ".json");
        JsonMapper.shared().writeValue(file, settings);
        command.add("-Dweir.plan=" + file);
        String simulation = "io.weir.perf.simulation." + plan.simulation;
        command.addAll(List.of("io.gatling.app.Gatling", "-s", simulation, "-rf", report.toString()));
        this.process = context.processes().start(Role.GENERATOR, "gatling-" + plan.label, command, Map.of());
    }

    /** Waits until the load begins; returns the time, in milliseconds since the start of the run. */
    public long awaitBegin() throws InterruptedException {
        return Long.parseLong(context.processes().awaitOutput("Gatling begins", process, BEGIN))
                - context.results.beganEpochMillis();
    }

    /** From now on the load may end: its callers may finish before the step ends. */
    public void mayEnd() {
        process.mayEnd();
    }

    /** Waits until all requests are complete; records requests, assertions and the generator's delays. */
    public Result awaitEnd() throws InterruptedException {
        process.mayEnd();
        context.processes().await("Gatling ends", REPORT_TIMEOUT, () -> !process.isAlive());
        context.processes().forget(process);
        if (process.exitValue() != 0 && process.exitValue() != ASSERTIONS_FAILED) {
            throw new RunFailure("Gatling ended with status " + process.exitValue() + ":\n    " + process.lastLines());
        }
        int failed = readAssertions();
        if ((failed > 0) != (process.exitValue() == ASSERTIONS_FAILED)) {
            throw new RunFailure("The log of " + process.name() + " does not show Gatling's assertions as expected");
        }
        keepReport();
        Result result = readRows(failed);
        context.checkGenerator(plan.label, process.name(), result);
        return result;
    }

    private int readAssertions() {
        int failed = 0;
        Matcher matcher = ASSERTION.matcher(process.output());
        while (matcher.find()) {
            boolean holds = Boolean.parseBoolean(matcher.group(2));
            failed += holds ? 0 : 1;
            if (plan.binding) {
                context.validity.add(new Assertion(plan.label, matcher.group(1), holds, matcher.group(3)));
            }
        }
        return failed;
    }

    private Result readRows(int failedAssertions) {
        CsvTable<Request> table = new CsvTable<>(rows.getFileName().toString(), Request.class);
        Requests all = new Requests(table.read(context.processes().directory()).stream()
                .map(row -> row.in(context.stepAt(row.atMillis())))
                .sorted(Comparator.comparingLong(Request::atMillis))
                .toList());
        Requests requests = all.where(row -> !row.outcome().equals(DELAY));
        requests.where(GatlingLoad::isInStep).forEach(context.results::add);
        Requests delays = all.where(row -> row.outcome().equals(DELAY));
        Map<Long, Long> maxDelayMicros = new TreeMap<>();
        delays.forEach(delay -> maxDelayMicros.merge(delay.atMillis() / 1000, delay.micros(), Math::max));
        maxDelayMicros.forEach((second, micros) -> context.results.add(new MeterSample(
                context.stepAt(second * 1000), second * 1000, "generator_delay_seconds", "", micros / 1e6)));
        double delayMillis = delays.where(GatlingLoad::isInStep).percentile(99);
        return new Result(requests, failedAssertions, missing(process.output(), requests.size()), delayMillis);
    }

    private static boolean isInStep(Request request) {
        return !request.step().isEmpty();
    }

    static long missing(String output, long sent) {
        Matcher planned = PLANNED.matcher(output);
        return planned.find() ? Math.max(0, Long.parseLong(planned.group(1)) - sent) : 0;
    }

    /** Gatling writes its report into a directory with the time in its name. */
    private void keepReport() {
        try (Stream<Path> reports = Files.list(report)) {
            Path kept = Files.createDirectories(context.results.directory().resolve("gatling"));
            Files.move(reports.findFirst().orElseThrow(), kept.resolve(plan.label));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
