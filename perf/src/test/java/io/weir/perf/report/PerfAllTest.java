package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code perf/all}, in a repository of its own, where no step measures anything. */
@Tag("full")
class PerfAllTest {

    private static final String SOURCES = "perf/src/main/java/io/weir/perf/";
    private static final int STEPS = 34;

    @TempDir
    private Path repository;

    private Path set;

    /** What a command printed, and its exit code. */
    private record Ended(int code, List<String> lines) {}

    @BeforeEach
    void makeRepository() throws Exception {
        Path all = write("perf/all", Files.readString(Path.of("all")));
        assertThat(all.toFile().setExecutable(true)).isTrue();
        write("ops/tools.sh", "find_jdk25() { JDK25=$PWD; }; need_jars() { :; }; find_maven() { MVN=(true); }");
        for (String tool : List.of("bench", "bulkhead", "conformance", "dashboard-cost", "reload", "report", "run")) {
            executable("perf/" + tool, "echo measured");
        }
        executable("perf/scenario", "echo \"measured $1\"; [[ $1 != overload ]]");
        for (String program : List.of("curl", "envoy", "go", "h2load", "haproxy", "taskset", "wrk")) {
            executable("bin/" + program, "exit 0");
        }
        for (String server : List.of("java", "nginx")) {
            executable("bin/" + server, "exec sleep 60");
        }
        write(".gitignore", "bin/\nperf/results/*\n!perf/results/*-cores/\n");
        write("gateway/src/main/java/Gateway.java", "class Gateway {}");
        write(SOURCES + "scenario/HangScenario.java", "class HangScenario {}");
        write(SOURCES + "scenario/FaultsScenario.java", "class FaultsScenario {}");
        write(SOURCES + "experiment/Soak.java", "        name = \"soak\",");
        write(SOURCES + "experiment/PoolSize.java", "        name = \"pool-size\",");
        run("git", "init", "-q");
        commit();
        int cores = Integer.parseInt(run("nproc").lines().getFirst());
        set = repository.resolve("perf/results/" + cores + "-cores");
    }

    @Test
    void measuresWhatFitsAndKeepsEachStep() throws Exception {
        Ended measured = run("perf/all", "--minutes", "4");

        assertThat(measured.lines())
                .containsSequence("== perf/scenario faults", "== perf/scenario faults: exit code 0 after 0 s")
                .noneMatch(line -> line.contains("perf/scenario hang"));
        assertThat(measured.code()).as("%s", measured.lines()).isZero();
        assertThat(set.resolve("measured.csv"))
                .content()
                .startsWith("step,fingerprint,commit,date,seconds,code\n")
                .containsPattern("\nperf/scenario faults,\\p{XDigit}{16},\\p{XDigit}{7,},\\d{4}-\\d\\d-\\d\\d,0,0\n");
        assertThat(repository.resolve("perf/results/all/perf_scenario_faults.log"))
                .hasContent("measured faults");
        assertThat(stale())
                .noneMatch(step -> step.contains("perf/scenario faults"))
                .contains("  5 perf/scenario hang (never)");
    }

    /** A promise that does not hold is a result. */
    @Test
    void keepsAStepThatFails() throws Exception {
        Ended measured = run("perf/all", "--minutes", "11");

        assertThat(measured.lines()).contains("== perf/scenario overload: exit code 1 after 0 s");
        assertThat(measured.code()).isOne();
        assertThat(set.resolve("measured.csv")).content().containsPattern("\nperf/scenario overload,.*,1\n");
        assertThat(stale()).noneMatch(step -> step.contains("scenario overload"));
    }

    @Test
    void aStepIsStaleOnceWhatItMeasuresHasChangedAndTheStalestComesFirst() throws Exception {
        assertThat(run("perf/all", "--minutes", "400").lines()).hasSize(2 * STEPS);
        assertThat(stale()).isEmpty();

        write(SOURCES + "scenario/HangScenario.java", "class HangScenario { int seconds; }");
        write(SOURCES + "experiment/Soak.java", "        name = \"soak\", // for longer");
        String date = run("date", "-u", "+%F").lines().getFirst();
        String commit = run("git", "rev-parse", "--short", "HEAD").lines().getFirst();
        commit();

        assertThat(stale())
                .as("and those whose page shows a scenario")
                .contains("  5 perf/scenario hang (%s, commit %s)".formatted(date, commit))
                .anyMatch(step -> step.contains("perf/run soak"))
                .noneMatch(step -> step.contains("scenario faults") || step.contains("perf/bench"));

        write("gateway/src/main/java/Gateway.java", "class Gateway { int changed; }");
        commit();

        assertThat(stale()).hasSize(STEPS);

        Path measured = set.resolve("measured.csv");
        Files.writeString(
                measured,
                Files.readString(measured)
                        .replaceAll("(?m)^(perf/scenario callers,\\w+,\\w+),[^,]*", "$1,2020-01-01")
                        .replaceAll("(?m)^perf/reload,.*\n", ""));

        assertThat(stale()).first().isEqualTo("  4 perf/reload (never)");
        assertThat(stale().get(1)).startsWith("  8 perf/scenario callers (2020-01-01, commit ");
    }

    @Test
    void measuresNoUncommittedChange() throws Exception {
        write("gateway/src/main/java/Gateway.java", "class Gateway { int changed; }");

        assertThat(run("perf/all"))
                .isEqualTo(
                        new Ended(
                                2,
                                List.of(
                                        "perf/all: the work tree has changes (expected: none, so that each step is of a commit)")));
    }

    @Test
    void refusesWrongArguments() throws Exception {
        assertThat(run("perf/all", "--minutes", "0"))
                .isEqualTo(new Ended(2, List.of("perf/all: --minutes 0 (expected: --minutes N, from 1 to 9999)")));
        assertThat(run("perf/all", "--continue"))
                .isEqualTo(new Ended(
                        2, List.of("perf/all: --continue (expected: [--minutes N | --stale | --list | --again])")));
    }

    private List<String> stale() throws Exception {
        return run("perf/all", "--stale").lines();
    }

    private void commit() throws Exception {
        run("git", "add", "-A");
        assertThat(run(
                                "git",
                                "-c",
                                "user.name=Weir",
                                "-c",
                                "user.email=weir@localhost",
                                "commit",
                                "-q",
                                "-m",
                                "a change")
                        .code())
                .isZero();
    }

    private void executable(String path, String command) throws IOException {
        assertThat(write(path, "#!/bin/bash\n" + command + "\n").toFile().setExecutable(true))
                .isTrue();
    }

    private Path write(String path, String text) throws IOException {
        Path file = repository.resolve(path);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private Ended run(String... command) throws IOException, InterruptedException {
        Path output = repository.resolve("bin/output");
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(List.of(command)))
                .directory(repository.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        if (command[0].startsWith("perf/")) {
            builder.command().set(0, repository.resolve(command[0]).toString());
        }
        builder.environment().merge("PATH", repository.resolve("bin").toString(), (path, own) -> own + ':' + path);
        Process process = builder.start();
        return new Ended(process.waitFor(), Files.readAllLines(output));
    }
}
