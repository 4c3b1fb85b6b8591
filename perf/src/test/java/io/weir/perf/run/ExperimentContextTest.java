package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult.ProcessSample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class ExperimentContextTest {

    private static final Requests NONE = new Requests(List.of());

    @TempDir
    private Path directory;

    private ExperimentContext context() {
        return TestContext.create(directory, CpuAllocation.divide(List.of(0), 1, 1, false, false), Optional.empty());
    }

    @Test
    void reportsFailedProcessWithItsLastLines() {
        try (ExperimentContext context = context()) {
            context.start("broken", List.of("sh", "-c", "echo out of order; exit 3"));

            assertThatThrownBy(() -> context.processes().await("nothing", () -> false))
                    .isInstanceOf(RunFailure.class)
                    .hasMessageContaining("broken has ended by itself, with status 3")
                    .hasMessageContaining("out of order");
        }
    }

    @Test
    void stopsProcessesAndDeletesTemporaryFiles() {
        ManagedProcess process;
        Path temporary;
        try (ExperimentContext context = context()) {
            process = context.start("sleeper", List.of("sleep", "600"));
            temporary = context.processes().directory();
            assertThat(process.isAlive()).isTrue();
        }

        assertThat(process.isAlive()).isFalse();
        assertThat(temporary).doesNotExist();
    }

    @Test
    void assignsRequestsToSteps() throws Exception {
        try (ExperimentContext context = context()) {
            context.beginStep(1000, "first", "");
            context.span("fault", 1100, 1200);
            context.beginStep(2000, "second", "4");
            context.beginStep(3000, "third", "");

            assertThat(context.stepAt(999)).as("before the first step").isEmpty();
            assertThat(context.stepAt(1000)).isEqualTo("1");
            assertThat(context.stepAt(1999)).isEqualTo("1");
            assertThat(context.stepAt(2000)).isEqualTo("2");
        }

        assertThat(Files.readAllLines(directory.resolve("raw/steps.csv")))
                .startsWith("step,label,x,began_ms,ended_ms", "1,first,,1000,2000", "2,second,4,2000,3000");
        assertThat(Files.readAllLines(directory.resolve("raw/spans.csv"))).endsWith("1,fault,1100,1200");
    }

    @Test
    void isInvalidUntilItIsComplete() throws Exception {
        ExperimentContext context = context();
        assertThat(properties()).as("killed now").contains("valid=false", "invalid.why=the run was not completed");
        context.close();
        assertThat(properties()).as("failed").contains("valid=false", "invalid.why=the run was not completed");

        ExperimentContext complete = context();
        complete.validity.complete();
        complete.close();
        assertThat(properties()).contains("valid=true", "invalid.why=");
    }

    @Test
    void completesRawFilesWhenAborted() throws Exception {
        ExperimentContext context = context();
        context.beginStep(1000, "first", "");
        Thread experiment = Thread.ofVirtual().start(() -> {
            try (context) {
                assertThatThrownBy(() -> context.processes().await("nothing", () -> false))
                        .hasMessage("stopped");
                context.validity.complete();
            }
        });

        context.abort();

        assertThat(Files.readAllLines(directory.resolve("raw/steps.csv"))).hasSize(2);
        assertThat(properties()).contains("valid=false", "invalid.why=the run was not completed");
        experiment.join();
    }

    @Test
    void isInvalidIfTheGeneratorSendsFewerRequestsThanPlanned() throws Exception {
        try (ExperimentContext context = context()) {
            context.checkGenerator("front", "gatling", new GatlingLoad.Result(NONE, 0, 3, 0));

            assertThat(context.validity.reasons())
                    .contains("front: the generator sent 3 requests fewer than planned, and 0 in all");
            context.validity.complete();
        }

        assertThat(properties()).contains("valid=false");
    }

    @Test
    void isInvalidWithoutSamplesOfTheGenerator() {
        try (ExperimentContext context = context()) {
            context.beginStep("first");
            context.endStep();
            context.checkGenerator("front", "gatling", new GatlingLoad.Result(NONE, 0, 0, Double.NaN));

            assertThat(context.validity.reasons())
                    .containsExactly(
                            "front: no sample of the generator, so it is unknown whether it was saturated",
                            "front: no wake-up of the generator was recorded, so it is unknown whether it was late");
        }
    }

    @Test
    void recordsAssertionsThatHoldAndThoseThatFail() throws Exception {
        try (ExperimentContext context = context()) {
            context.require("nothing is lost", true, "0");
            context.require("no caller waits", false, "2 callers, or 3");

            assertThat(context.validity.failures()).containsExactly("no caller waits (measured: 2 callers, or 3)");
        }

        assertThat(Files.readAllLines(directory.resolve("raw/assertions.csv")))
                .containsExactly(
                        "run,assertion,holds,actual",
                        ",nothing is lost,true,0",
                        ",no caller waits,false,\"2 callers, or 3\"");
    }

    @Test
    void notesFigureThatIsNotANumber() throws Exception {
        try (ExperimentContext context = context()) {
            context.fact("waiting", Double.NaN, "%");
            context.fact("served", 2, "%");
        }

        assertThat(Files.readAllLines(directory.resolve("raw/facts.csv")))
                .containsExactly("name,value,unit", "served,2.0,%");
        assertThat(properties()).contains("notes=waiting: no figure.");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void endsDescendantsOfFailedProcess() throws Exception {
        long session;
        try (ExperimentContext context = context()) {
            ManagedProcess process =
                    context.start("broken", List.of("sh", "-c", "sleep 600 & echo started; exec sleep 600"));
            session = process.pid();
            context.processes()
                    .await("it has a descendant", () -> process.output().contains("started"));
            ProcessHandle.of(session).orElseThrow().destroyForcibly();

            assertThatThrownBy(() -> context.processes().await("nothing", () -> false))
                    .isInstanceOf(RunFailure.class)
                    .hasMessageContaining("broken has ended by itself, with status 137");
            assertThat(ProcessStats.ofSession(session)).hasSize(1);
        }

        assertThat(ProcessStats.ofSession(session)).isEmpty();
    }

    @Test
    void reportsUnknownCpuTime() throws Exception {
        try (ExperimentContext context = context()) {
            ManagedProcess process = context.start("brief", List.of("true"));
            process.awaitExit();

            assertThatThrownBy(() -> process.cpuTime())
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("brief: CPU time unknown, because it has ended");
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void reportsMissingSamples() throws Exception {
        try (ExperimentContext context = context()) {
            context.start("sleeper", List.of("sleep", "600"));
            context.beginStep("first");
            context.processes().await("a sample", () -> hasSamples(context, "sleeper", 1));

            assertThat(context.mean("sleeper", 1, ProcessSample::threads)).isEqualTo(1);
            assertThat(context.mean("sleeper", 1, ProcessSample::rssBytes)).isPositive();
            assertThat(hasSamples(context, "sleeper", 2)).isFalse();
            assertThat(hasSamples(context, "other", 1)).isFalse();
            assertThatThrownBy(() -> context.mean("gateway", 1, ProcessSample::threads))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("no samples of gateway in step 1");
        }
    }

    private static boolean hasSamples(ExperimentContext context, String process, int step) {
        try {
            context.mean(process, step, ProcessSample::threads);
            return true;
        } catch (RunFailure e) {
            return false;
        }
    }

    private List<String> properties() throws IOException {
        return Files.readAllLines(directory.resolve("raw/run.properties"));
    }
}
