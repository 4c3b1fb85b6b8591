package io.weir.perf.run;

import io.weir.perf.report.Report;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;

/** Runs experiments by their names: {@code --list}, or {@code NAME... [--quick|--full] [--cpus N] [--target URL --faults URL]}. */
public final class Run {

    private static final String ELSEWHERE =
            "The gateway ran elsewhere: its processor time, memory, threads, connections and meters cannot be sampled from here, and are left out.";

    /**
     * What is wanted.
     *
     * @param cpus cores for each process under test; 0: as the experiment has it
     * @param target a gateway that runs elsewhere, if that is to be asked
     */
    private record Wish(List<Experiment> experiments, boolean quick, int cpus, boolean list, Optional<Target> target) {}

    private Run() {}

    /** Does what the arguments say; the exit code. The project's folder is the working directory. */
    public static int run(List<Experiment> known, String... args) {
        return run(known, System.getenv(), Path.of("").toAbsolutePath(), args);
    }

    static int run(List<Experiment> known, Map<String, String> environment, Path root, String... args) {
        PrintStream out = System.out;
        Path results = root.resolve("perf/results");
        try {
            Wish wish = wish(known, args);
            if (wish.list()) {
                for (Experiment one : known) {
                    out.printf(Locale.ROOT, "%-16s %s%n", one.name(), one.question());
                    one.missing().forEach(what -> out.printf(Locale.ROOT, "%-16s - %s%n", "", what));
                }
                return 0;
            }
            checkPorts(environment);
            if (wish.target().isPresent()) {
                wish.target().orElseThrow().check();
            }
            boolean holds = true;
            for (int i = 0; i < wish.experiments().size(); i++) {
                Experiment experiment = wish.experiments().get(i);
                Duration behind = wish.experiments().stream()
                        .skip(i + 1L)
                        .map(one -> one.length(wish.quick()))
                        .reduce(Duration.ZERO, Duration::plus);
                String mode = wish.quick() ? "quick" : "full";
                // It links the page that goes now.
                Files.deleteIfExists(results.resolve("index.html"));
                try {
                    Outcome outcome = measure(
                            experiment,
                            wish.quick(),
                            wish.cpus() > 0 ? wish.cpus() : experiment.cpus(),
                            wish.target(),
                            root,
                            results.resolve(experiment.name()).resolve(mode),
                            behind,
                            out);
                    outcome.tell(out);
                    holds &= outcome.holds();
                } catch (RunFailure | UncheckedIOException e) {
                    try {
                        report(results, out);
                    } catch (RunFailure also) {
                        e.addSuppressed(also);
                    }
                    throw e;
                }
                report(results, out);
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

    /** The pages of all runs that are there, made anew. */
    private static void report(Path results, PrintStream out) {
        try {
            List<String> wrong = Report.write(results);
            if (!wrong.isEmpty()) {
                throw new RunFailure(String.join("\n", wrong));
            }
            out.println("report: " + results.resolve("index.html"));
        } catch (IOException e) {
            throw new RunFailure("the report cannot be written: " + e.getMessage(), e);
        }
    }

    private static Wish wish(List<Experiment> known, String... args) {
        String expected = " (expected: --list, or NAME... [--quick|--full] [--cpus N] [--target URL --faults URL], of "
                + String.join(", ", known.stream().map(Experiment::name).toList()) + ")";
        List<Experiment> experiments = new ArrayList<>();
        boolean quick = true;
        boolean list = false;
        int cpus = 0;
        Map<String, String> urls = new TreeMap<>();
        for (int i = 0; i < args.length; i++) {
            String arg = args[i];
            switch (arg) {
                case "--list" -> list = true;
                case "--quick" -> quick = true;
                case "--full" -> quick = false;
                case "--cpus" -> {
                    i++;
                    cpus = i < args.length && args[i].matches("[1-9]\\d{0,3}") ? Integer.parseInt(args[i]) : 0;
                    if (cpus == 0) {
                        throw new IllegalArgumentException("--cpus " + (i < args.length ? args[i] : "")
                                + " (expected: a number of cores, from 1 on)");
                    }
                }
                case "--target", "--faults" -> {
                    i++;
                    if (i == args.length) {
                        throw new IllegalArgumentException(arg + " (expected: a URL)");
                    }
                    urls.put(arg, args[i]);
                }
                default ->
                    experiments.add(known.stream()
                            .filter(one -> one.name().equals(arg))
                            .findFirst()
                            .orElseThrow(() -> new IllegalArgumentException(arg + expected)));
            }
        }
        if (experiments.isEmpty() && !list) {
            throw new IllegalArgumentException("no experiment" + expected);
        }
        if (urls.size() == 1) {
            throw new IllegalArgumentException(
                    urls.keySet().iterator().next() + " alone (expected: both --target URL and --faults URL)");
        }
        if (cpus > 0 && !urls.isEmpty()) {
            throw new IllegalArgumentException(
                    "--cpus with --target (expected: one of them; what runs elsewhere is not limited)");
        }
        if (urls.isEmpty()) {
            return new Wish(List.copyOf(experiments), quick, cpus, list, Optional.empty());
        }
        return new Wish(
                experiments.stream().map(one -> elsewhere(one, known)).toList(),
                quick,
                cpus,
                list,
                Optional.of(Target.of(urls.getOrDefault("--target", ""), urls.getOrDefault("--faults", ""))));
    }

    private static Experiment elsewhere(Experiment experiment, List<Experiment> known) {
        return experiment
                .elsewhere()
                .orElseThrow(() -> new IllegalArgumentException(experiment.name()
                        + " has no --target (expected: "
                        + String.join(
                                ", ",
                                known.stream()
                                        .filter(one -> one.elsewhere().isPresent())
                                        .map(Experiment::name)
                                        .toList())
                        + ")"));
    }

    /** Those that were chosen; the others are free ones. */
    private static void checkPorts(Map<String, String> environment) {
        for (String variable : List.of("GATEWAY_PORT", "MANAGEMENT_PORT")) {
            String port = environment.get(variable);
            if (port == null) {
                continue;
            }
            if (!port.matches("[1-9]\\d{0,4}") || Integer.parseInt(port) > 65_535) {
                throw new IllegalArgumentException(variable + ": " + port + " (expected: a port from 1 to 65535)");
            }
            try {
                new ServerSocket(Integer.parseInt(port)).close();
            } catch (IOException e) {
                throw new IllegalArgumentException(
                        "port " + port + " is in use: stop what listens there, or choose another " + variable, e);
            }
        }
    }

    /**
     * What came of an experiment.
     *
     * @param failures what had to hold and does not
     * @param invalid why it is no result
     */
    public record Outcome(String experiment, Path raw, List<String> failures, List<String> invalid) {

        /** Whether all that had to hold does, and it is a result. */
        public boolean holds() {
            return failures.isEmpty() && invalid.isEmpty();
        }

        void tell(PrintStream out) {
            out.print(Tables.of(raw));
            failures.forEach(failure -> out.println("does not hold: " + failure));
            invalid.forEach(why -> out.println("not a result: " + why));
            out.printf(
                    Locale.ROOT,
                    "%s: %s; raw files in %s%n",
                    experiment,
                    word(),
                    Path.of("").toAbsolutePath().relativize(raw));
        }

        private String word() {
            if (!failures.isEmpty()) {
                return "FAILED";
            }
            return invalid.isEmpty() ? "holds" : "NOT A RESULT";
        }
    }

    /**
     * Measures one, and leaves nothing running.
     *
     * @param cpus cores for each process under test
     * @param target a gateway that runs elsewhere, if that is to be asked
     * @param root the project's folder
     * @param directory of the raw files; what is in it goes
     * @param behind how long what comes after it takes, about
     * @throws RunFailure if it could not be measured
     */
    public static Outcome measure(
            Experiment experiment,
            boolean quick,
            int cpus,
            Optional<Target> target,
            Path root,
            Path directory,
            Duration behind,
            PrintStream out)
            throws InterruptedException {
        checkJars(root);
        Raw raw = new Raw(directory);
        Cgroups cgroups = new Cgroups();
        Limits limits = target.isPresent()
                ? Limits.ofGenerator(Proc.cores())
                : Limits.divide(Proc.cores(), cpus, experiment.processes(), Host.has("taskset"), cgroups.available());
        describe(raw, experiment, quick, target, limits, root);
        Progress progress = new Progress(
                out,
                Boolean.getBoolean("weir.terminal"),
                experiment.name(),
                experiment.steps(quick),
                experiment.length(quick),
                behind);
        out.println(limits.sentence());
        Bench bench = new Bench(root, quick, target, experiment.jvm(), raw, limits, cgroups, progress);
        if (target.isPresent()) {
            bench.note(ELSEWHERE);
        }
        // So that Ctrl-C and SIGTERM leave nothing behind.
        Thread hook = new Thread(() -> abort(bench));
        Runtime.getRuntime().addShutdownHook(hook);
        try (bench) {
            run(experiment, bench);
        } finally {
            unhook(hook);
        }
        return new Outcome(
                experiment.name(),
                directory,
                bench.verdict().failures(),
                bench.verdict().invalid());
    }

    private static void run(Experiment experiment, Bench bench) throws InterruptedException {
        try {
            experiment.run(bench);
            bench.verdict().completed();
        } catch (RunFailure | UncheckedIOException e) {
            // For the run's page.
            bench.verdict().invalidate(String.valueOf(e.getMessage()));
            throw e;
        }
    }

    private static void abort(Bench bench) {
        try {
            bench.abort();
        } catch (RunFailure e) {
            System.err.println("perf/run: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void unhook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // It is at work: its end is the process's.
        }
    }

    private static void checkJars(Path root) {
        for (String jar : List.of(
                "gateway/target/weir-gateway.jar",
                "backends-sim/target/weir-backends-sim.jar",
                "perf/simulations/target/weir-perf-simulations.jar",
                "perf/thread-front/target/weir-perf-thread-front.jar")) {
            if (!Files.exists(root.resolve(jar))) {
                throw new RunFailure(jar + " is missing: mvn package -DskipTests");
            }
        }
    }

    private static void describe(
            Raw raw, Experiment experiment, boolean quick, Optional<Target> target, Limits limits, Path root) {
        raw.property("experiment", experiment.name());
        raw.property("question", experiment.question());
        raw.property("mode", quick ? "quick" : "full");
        raw.property("command", System.getProperty("weir.command", "perf/run " + experiment.name()));
        raw.property("began", Instant.ofEpochMilli(raw.began()));
        raw.property("java", System.getProperty("java.vendor.version", "") + " " + Runtime.version());
        if (target.isPresent()) {
            raw.property("gateway.url", target.orElseThrow().gateway());
        } else {
            raw.property("gateway.version", version(root.resolve("gateway/target/weir-gateway.jar")));
            raw.property("gateway.commit", System.getProperty("weir.commit", commit(root)));
        }
        raw.property("gatling", gatling(root));
        raw.property("host", host());
        raw.property("cpus.asked", limits.asked());
        raw.property("cpus.granted", limits.granted());
        raw.property("cpus.host", limits.host());
        raw.property("limit.how", limits.how().word());
        raw.property("limit.sentence", limits.sentence());
        raw.property("generator.own-cores", limits.generatorsOwn());
    }

    /** As Maven has written it into the jar. */
    private static String version(Path jar) {
        try (JarFile file = new JarFile(jar.toFile())) {
            ZipEntry entry = file.getEntry("META-INF/maven/io.weir/weir-gateway/pom.properties");
            Properties maven = new Properties();
            if (entry != null) {
                try (InputStream in = file.getInputStream(entry)) {
                    maven.load(in);
                }
            }
            return maven.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static String commit(Path root) {
        try {
            Process git = new ProcessBuilder("git", "describe", "--always", "--dirty")
                    .directory(root.toFile())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String said = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return said.isEmpty() ? "unknown" : said;
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static String gatling(Path root) {
        try (DirectoryStream<Path> jars =
                Files.newDirectoryStream(root.resolve("perf/simulations/target/lib"), "gatling-core-[0-9]*.jar")) {
            for (Path jar : jars) {
                String name = Objects.requireNonNull(jar.getFileName()).toString();
                return name.substring("gatling-core-".length(), name.length() - ".jar".length());
            }
        } catch (IOException e) {
            // The jars are there: that was checked.
        }
        return "unknown";
    }

    /** The kind of machine: processor, memory, kernel. */
    private static String host() {
        String kernel = System.getProperty("os.name", "") + " " + System.getProperty("os.version", "");
        try {
            String model = field(Path.of("/proc/cpuinfo"), "model name");
            long kilobytes =
                    Long.parseLong(field(Path.of("/proc/meminfo"), "MemTotal").replaceAll("\\D", ""));
            return model + ", " + Math.round(kilobytes / 1024.0 / 1024) + " GiB, " + kernel;
        } catch (IOException | NumberFormatException e) {
            return kernel;
        }
    }

    private static String field(Path file, String name) throws IOException {
        for (String line : Files.readAllLines(file)) {
            if (line.startsWith(name)) {
                return line.substring(line.indexOf(':') + 1).strip();
            }
        }
        return "";
    }
}
