package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.Experiment.Measures;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PerfRunTest {

    /** Must not be run. */
    @Measures(name = "empty", question = "does nothing?", quickMinutes = 1, fullMinutes = 1)
    private static class Empty extends Experiment {

        @Override
        public void run(ExperimentContext context) {
            throw new AssertionError("must not be run");
        }
    }

    /** Fails after some steps. */
    @Measures(name = "failing", question = "fails?", quickMinutes = 1, fullMinutes = 1)
    private static final class Failing extends Empty {

        private final int steps;

        Failing(int steps) {
            this.steps = steps;
        }

        @Override
        public void run(ExperimentContext context) {
            IntStream.range(0, steps).forEach(step -> context.beginStep("step " + step));
            throw new RunFailure("no answer");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "unknown",
                "empty --target somewhere --faults http://127.0.0.1:1",
                "empty --target http://127.0.0.1:1 --faults http://127.0.0.1:1"
            })
    void refusesArgumentsThatTheLauncherCannotCheck(String line) {
        assertThat(PerfRun.run(List.of(new Empty()), line.split(" ", -1))).isEqualTo(2);
    }

    @Test
    void reportsPortInUse() throws Exception {
        PrintStream err = System.err;
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        try (ServerSocket taken = new ServerSocket(0)) {
            System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
            String port = Integer.toString(taken.getLocalPort());

            assertThat(PerfRun.run(List.of(new Empty()), Map.of("GATEWAY_PORT", port), Path.of(""), "empty"))
                    .isEqualTo(2);

            assertThat(errors.toString(StandardCharsets.UTF_8).lines())
                    .containsExactly("perf/run: port " + port
                            + " is in use: stop the process that listens there, or choose another GATEWAY_PORT");
        } finally {
            System.setErr(err);
        }
    }

    /** The previous run left a page and an index. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void linksThePageOfFailedRun(int steps, @TempDir Path root) throws Exception {
        BriefRun.createJars(root);
        Path results = root.resolve("perf/results");
        Files.createDirectories(results.resolve("failing/quick"));
        Files.writeString(results.resolve("failing/quick/index.html"), "of the previous run");
        Files.writeString(results.resolve("index.html"), "<a href=\"failing/quick/index.html\">");

        assertThat(PerfRun.run(List.of(new Failing(steps)), Map.of(), root, "failing"))
                .isEqualTo(1);

        assertThat(results.resolve("index.html"))
                .content()
                .contains("failing/quick/index.html", "not a valid result: the run was not completed; no answer");
        assertThat(results.resolve("failing/quick/index.html"))
                .content()
                .contains("This run is not a valid result:</strong> the run was not completed; no answer")
                .doesNotContain("of the previous run");
    }

    @Test
    void listsExperiments() {
        assertThat(PerfRun.run(List.of(new Empty()), "--list")).isZero();
    }
}
