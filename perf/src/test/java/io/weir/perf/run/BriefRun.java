package io.weir.perf.run;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A quick run of an experiment, and its raw files. */
public record BriefRun(PerfRun.RunOutcome outcome, Path raw) {

    /** The root of the repository, with the built jars. */
    public static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /**
     * The jars that a run starts, as in the command lines of their processes. Tests that start them lock this
     * name, so that each can assert that no process remains.
     */
    public static final String BUILT_JARS = "target/weir-";

    /** A JVM that lives for seconds needs less compilation. */
    public static final List<String> SHORT_LIVED_JVM = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    /** Runs on this machine, with that many cores per process. */
    public static BriefRun of(Experiment experiment, int cpus, Path raw) throws IOException, InterruptedException {
        return of(experiment, new RunOptions(List.of(), false, true, cpus, Optional.empty()), raw);
    }

    public static BriefRun of(Experiment experiment, RunOptions options, Path raw)
            throws IOException, InterruptedException {
        return new BriefRun(PerfRun.measure(experiment, options, ROOT, raw, Duration.ZERO), raw);
    }

    /** Creates empty files in the place of the jars that each run needs. */
    public static void createJars(Path root) throws IOException {
        for (String jar : List.of(
                "gateway/target/weir-gateway.jar",
                "backends-sim/target/weir-backends-sim.jar",
                "perf/simulations/target/weir-perf-simulations.jar",
                "perf/thread-front/target/weir-perf-thread-front.jar")) {
            Files.createDirectories(root.resolve(jar).getParent());
            Files.createFile(root.resolve(jar));
        }
    }

    /** The rows of a raw file such as {@code requests}. */
    public List<String> rows(String file) throws IOException {
        return rows(raw, file);
    }

    static List<String> rows(Path raw, String file) throws IOException {
        return Files.readAllLines(raw.resolve(file + ".csv")).stream().skip(1).toList();
    }

    public List<String> properties() throws IOException {
        return Files.readAllLines(raw.resolve("run.properties"));
    }

    /** NaN: there is no such fact. */
    public double fact(String name) throws IOException {
        return rows("facts").stream()
                .map(row -> row.split(",", -1))
                .filter(row -> row[0].equals(name))
                .mapToDouble(row -> Double.parseDouble(row[1]))
                .findFirst()
                .orElse(Double.NaN);
    }

    /** The processes below this one whose command contains a text. */
    public static List<ProcessHandle> processesOf(String command) {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().commandLine().orElse("").contains(command))
                .toList();
    }
}
