package io.weir.perf.run;

import io.weir.perf.report.PerfReport;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.result.ResultWriter;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Fact;
import io.weir.perf.result.RunResult.Step;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** {@code perf/run}: measures the named experiments and writes their pages. */
public final class PerfRun {

    private static final String REMOTE_NOTE = "The gateway ran elsewhere: its CPU time, memory, threads, connections"
            + " and meters cannot be sampled from here, and are missing.";

    private PerfRun() {}

    /** Runs in the working directory, which is the root of the repository; returns the exit code. */
    public static int run(List<Experiment> known, String... args) {
        return run(known, System.getenv(), Path.of("").toAbsolutePath(), args);
    }

    static int run(List<Experiment> known, Map<String, String> environment, Path root, String... args) {
        try {
            RunOptions options = RunOptions.parse(known, args);
            if (options.list()) {
                for (Experiment one : known) {
                    System.out.printf("%-16s %s%n", one.name(), one.measures().question());
                    one.missingTools().forEach(tool -> System.out.printf("%-16s - %s%n", "", tool));
                }
                return 0;
            }
            RunOptions.checkPorts(environment);
            options.target().ifPresent(RemoteTarget::check);
            boolean holds = true;
            for (int i = 0; i < options.experiments().size(); i++) {
                holds &= measureAndReport(options, i, root);
            }
            return holds ? 0 : 1;
        } catch (IllegalArgumentException e) {
            System.err.println("perf/run: " + e.getMessage());
            return 2;
        } catch (RunFailure | IOException | UncheckedIOException e) {
            System.err.println("perf/run: " + e.getMessage());
            return 1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 1;
        }
    }

    private static boolean measureAndReport(RunOptions options, int index, Path root)
            throws IOException, InterruptedException {
        Experiment experiment = options.experiments().get(index);
        Duration following = options.experiments().stream()
                .skip(index + 1L)
                .map(one -> one.estimate(options.quick()))
                .reduce(Duration.ZERO, Duration::plus);
        Path results = root.resolve("perf/results");
        Path directory = results.resolve(options.resultName(experiment)).resolve(options.mode());
        // It links the page that is deleted now.
        Files.deleteIfExists(results.resolve("index.html"));
        boolean holds = false;
        try {
            RunOutcome outcome = measure(experiment, options, root, directory, following);
            outcome.print(options.resultName(experiment), directory);
            holds = outcome.holds();
        } finally {
            List<String> errors = PerfReport.write(results);
            errors.forEach(error -> System.err.println("perf/run: " + error));
            holds &= errors.isEmpty();
            System.out.println("report: " + results.resolve("index.html"));
        }
        return holds;
    }

    /** The assertions that do not hold, and why the run is not a valid result. */
    public record RunOutcome(List<String> failures, List<String> invalid) {

        public boolean holds() {
            return failures.isEmpty() && invalid.isEmpty();
        }

        void print(String name, Path directory) {
            printTables(RunResult.read(directory));
            failures.forEach(failure -> System.out.println("does not hold: " + failure));
            invalid.forEach(reason -> System.out.println("not a valid result: " + reason));
            String text = !failures.isEmpty() ? "FAILED" : invalid.isEmpty() ? "holds" : "NOT A VALID RESULT";
            Path relative = Path.of("").toAbsolutePath().relativize(directory);
            System.out.printf("%s: %s; raw files in %s%n", name, text, relative);
        }
    }

    private static void printTables(RunResult run) {
        String format = "%-26s %-12s %8s %9s %9s %9s  %s%n";
        System.out.printf(format, "step", "request", "requests", "success %", "p50 ms", "p99 ms", "outcomes");
        Map<String, Requests> byStep = run.requests().by(Request::step);
        for (Step step : run.steps()) {
            Requests ofStep = byStep.getOrDefault(step.id(), new Requests(List.of()));
            ofStep.by(Request::name)
                    .forEach((name, requests) -> System.out.printf(
                            format,
                            (step.label() + ' ' + step.x()).strip(),
                            name,
                            requests.size(),
                            decimal(requests.successPercent()),
                            decimal(requests.percentile(50)),
                            decimal(requests.percentile(99)),
                            requests.countByOutcome()));
        }
        for (Fact fact : run.facts()) {
            System.out.printf(Locale.ROOT, "%-48s %14.3f %s%n", fact.name(), fact.value(), fact.unit());
        }
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }

    /**
     * Measures one experiment and stops everything that it started. Deletes the content of the directory.
     * {@code following} is the estimated duration of the experiments after this one.
     */
    public static RunOutcome measure(
            Experiment experiment, RunOptions options, Path root, Path directory, Duration following)
            throws IOException, InterruptedException {
        RunEnvironment.checkJars(root);
        ResultWriter results = new ResultWriter(directory);
        Cgroups cgroups = new Cgroups();
        Experiment.Measures tested = experiment.measures();
        int cpus = options.cpus() > 0 ? options.cpus() : tested.cpus();
        CpuAllocation allocation = options.isRemote()
                ? CpuAllocation.generatorOnly(Host.cores())
                : CpuAllocation.divide(
                        Host.cores(), cpus, tested.processes(), Host.has("taskset"), cgroups.available());
        RunEnvironment.describe(results, experiment, options, allocation, root);
        System.out.println(allocation.sentence());
        Progress progress = new Progress(experiment.name(), experiment.estimate(options.quick()), following);
        ExperimentContext context =
                new ExperimentContext(root, options, experiment.jvmOptions(), results, allocation, cgroups, progress);
        if (options.isRemote()) {
            context.note(REMOTE_NOTE);
        }
        // Ctrl-C and SIGTERM leave nothing behind.
        Thread hook = new Thread(() -> abort(context));
        Runtime.getRuntime().addShutdownHook(hook);
        try (context) {
            measure(experiment, context);
        } finally {
            removeHook(hook);
        }
        return new RunOutcome(context.validity.failures(), context.validity.reasons());
    }

    private static void measure(Experiment experiment, ExperimentContext context) throws InterruptedException {
        try {
            experiment.run(context);
            context.validity.complete();
        } catch (RunFailure | UncheckedIOException e) {
            // The page of the run shows the reason.
            context.invalidate(String.valueOf(e.getMessage()));
            throw e;
        }
    }

    private static void abort(ExperimentContext context) {
        try {
            context.abort();
        } catch (RunFailure e) {
            System.err.println("perf/run: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The hook runs: the JVM ends with it.
        }
    }
}
