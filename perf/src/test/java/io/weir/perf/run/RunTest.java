package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RunTest {

    /** Needs nothing, and measures nothing. */
    private static class Empty implements Experiment {

        @Override
        public String name() {
            return "empty";
        }

        @Override
        public String question() {
            return "is there anything?";
        }

        @Override
        public int steps(boolean quick) {
            return 1;
        }

        @Override
        public Duration length(boolean quick) {
            return Duration.ZERO;
        }

        @Override
        public int processes() {
            return 1;
        }

        @Override
        public void run(Bench bench) {
            throw new AssertionError("nobody asked for it");
        }
    }

    /** Begins some steps. */
    private static final class Failing extends Empty {

        private final int begun;

        Failing(int begun) {
            this.begun = begun;
        }

        @Override
        public String name() {
            return "failing";
        }

        @Override
        public void run(Bench bench) {
            IntStream.range(0, begun).forEach(step -> bench.step("step " + step));
            throw new RunFailure("nobody answers");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "unknown",
                "",
                "empty --cpus",
                "empty --cpus 0",
                "empty --loud",
                "empty --target",
                "empty --target http://127.0.0.1:1",
                "empty --target http://127.0.0.1:1 --faults http://127.0.0.1:1"
            })
    void saysWhatItExpectsInstead(String line) {
        assertThat(Run.run(List.of(new Empty()), line.isEmpty() ? new String[0] : line.split(" ", -1)))
                .isEqualTo(2);
    }

    @Test
    void saysInALineThatAPortIsInUse() throws Exception {
        PrintStream err = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        try (ServerSocket taken = new ServerSocket(0)) {
            System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
            String port = Integer.toString(taken.getLocalPort());

            assertThat(Run.run(List.of(new Empty()), Map.of("GATEWAY_PORT", port), Path.of(""), "empty"))
                    .isEqualTo(2);

            assertThat(said.toString(StandardCharsets.UTF_8).lines())
                    .containsExactly("perf/run: port " + port
                            + " is in use: stop what listens there, or choose another GATEWAY_PORT");
        } finally {
            System.setErr(err);
        }
    }

    /** Of a run before, there is a page, and one that links it. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void linksThePageOfARunThatEndsInAnErrorAndSaysItsLine(int begun, @TempDir Path root) throws Exception {
        for (String jar : List.of(
                "gateway/target/weir-gateway.jar",
                "backends-sim/target/weir-backends-sim.jar",
                "perf/simulations/target/weir-perf-simulations.jar",
                "perf/thread-front/target/weir-perf-thread-front.jar")) {
            Files.createDirectories(root.resolve(jar).getParent());
            Files.createFile(root.resolve(jar));
        }
        Path results = root.resolve("perf/results");
        Files.createDirectories(results.resolve("failing/quick"));
        Files.writeString(results.resolve("failing/quick/index.html"), "of before");
        Files.writeString(results.resolve("index.html"), "<a href=\"failing/quick/index.html\">");

        assertThat(Run.run(List.of(new Failing(begun)), Map.of(), root, "failing"))
                .isEqualTo(1);

        assertThat(results.resolve("index.html"))
                .content()
                .contains("failing/quick/index.html", "no result: it did not come to its end; nobody answers");
        assertThat(results.resolve("failing/quick/index.html"))
                .content()
                .contains("This run is no result:</strong> it did not come to its end; nobody answers")
                .doesNotContain("of before");
    }

    @Test
    void limitsNothingThatRunsElsewhere() {
        PrintStream err = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        try {
            System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
            String url = "http://127.0.0.1:1";

            assertThat(Run.run(List.of(new Empty()), "empty", "--cpus", "2", "--target", url, "--faults", url))
                    .isEqualTo(2);

            assertThat(said.toString(StandardCharsets.UTF_8).lines())
                    .containsExactly(
                            "perf/run: --cpus with --target (expected: one of them; what runs elsewhere is not limited)");
        } finally {
            System.setErr(err);
        }
    }

    @Test
    void lists() {
        assertThat(Run.run(List.of(new Empty()), "--list")).isZero();
    }

    @Test
    void writesWholeRowsOfSeveralThreads(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("one.csv");
        try (Csv csv = new Csv(file, "thread", "row");
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> written = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                int name = thread;
                written.add(threads.submit(() -> IntStream.range(0, 250).forEach(row -> csv.row(name, row))));
            }
            for (Future<?> one : written) {
                one.get();
            }
        }

        try (Stream<List<String>> rows = Csv.rows(file)) {
            assertThat(rows.skip(1))
                    .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 1000)
                            .mapToObj(i -> List.of(Integer.toString(i / 250), Integer.toString(i % 250)))
                            .toList());
        }
    }

    @Test
    void writesWhatIsReadAgain(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("one.csv");
        try (Csv csv = new Csv(file, "a", "b")) {
            csv.row("backend=\"mvc\",state=\"open\"", 1);
            csv.row("", "of no run");
        }

        assertThat(Files.readAllLines(file)).element(1).isEqualTo("\"backend=\"\"mvc\"\",state=\"\"open\"\"\",1");
        try (Stream<List<String>> rows = Csv.rows(file)) {
            assertThat(rows)
                    .containsExactly(
                            List.of("a", "b"),
                            List.of("backend=\"mvc\",state=\"open\"", "1"),
                            List.of("", "of no run"));
        }
    }
}
