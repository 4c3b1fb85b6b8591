package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class BenchTest {

    @TempDir
    private Path directory;

    private Bench bench() {
        return new Bench(
                directory,
                true,
                Optional.empty(),
                List.of(),
                new Raw(directory.resolve("raw")),
                Limits.divide(List.of(0), 1, 1, false, false),
                new Cgroups(),
                new Progress(System.out, false, "bench", 1, Duration.ZERO, Duration.ZERO));
    }

    @Test
    void saysWhoHasDiedAndItsLastWords() {
        try (Bench bench = bench()) {
            bench.launch("broken", List.of("sh", "-c", "echo out of order; exit 3"), Map.of());

            assertThatThrownBy(() -> bench.await("nothing", () -> false))
                    .isInstanceOf(RunFailure.class)
                    .hasMessageContaining("broken has ended by itself, with status 3")
                    .hasMessageContaining("out of order");
        }
    }

    @Test
    void leavesNothingBehind() {
        Child child;
        Path temporary;
        try (Bench bench = bench()) {
            child = bench.launch("sleeper", List.of("sleep", "600"), Map.of());
            temporary = bench.temporary();
            assertThat(child.alive()).isTrue();
        }

        assertThat(child.alive()).isFalse();
        assertThat(temporary).doesNotExist();
    }

    @Test
    void knowsInWhichStepARequestWasSent() throws Exception {
        try (Bench bench = bench()) {
            bench.stepAt(1000, "first", "");
            bench.span("fault", 1100, 1200);
            bench.stepAt(2000, "second", "4");
            bench.stepAt(3000, "third", "");

            assertThat(bench.stepAt(999)).as("warming up").isZero();
            assertThat(bench.stepAt(1000)).isEqualTo(1);
            assertThat(bench.stepAt(1999)).isEqualTo(1);
            assertThat(bench.stepAt(2000)).isEqualTo(2);
        }

        assertThat(Files.readAllLines(directory.resolve("raw/steps.csv")))
                .startsWith("step,label,x,began_ms,ended_ms", "1,first,,1000,2000", "2,second,4,2000,3000");
        assertThat(Files.readAllLines(directory.resolve("raw/spans.csv"))).endsWith("1,fault,1100,1200");
    }

    @Test
    void isNoResultUntilItHasComeToItsEnd() throws Exception {
        Bench bench = bench();
        assertThat(properties()).as("killed now").contains("valid=false", "invalid.why=it did not come to its end");
        bench.close();
        assertThat(properties()).as("failed").contains("valid=false", "invalid.why=it did not come to its end");

        Bench whole = bench();
        whole.verdict().completed();
        whole.close();
        assertThat(properties()).contains("valid=true", "invalid.why=");
    }

    @Test
    void leavesWholeFilesWhenItIsStopped() throws Exception {
        Bench bench = bench();
        bench.stepAt(1000, "first", "");
        Thread experiment = Thread.ofVirtual().start(() -> {
            try (bench) {
                assertThatThrownBy(() -> bench.await("nothing", () -> false)).hasMessage("stopped");
                bench.verdict().completed();
            }
        });

        bench.abort();

        assertThat(Files.readAllLines(directory.resolve("raw/steps.csv"))).hasSize(2);
        assertThat(properties()).contains("valid=false", "invalid.why=it did not come to its end");
        experiment.join();
    }

    @Test
    void isNoResultIfFewerWereSentThanPlanned() throws Exception {
        try (Bench bench = bench()) {
            bench.judgeGenerator("front", "gatling", new Gatling.Result(List.of(), List.of(), 3, 0));

            assertThat(bench.verdict().invalid())
                    .contains("front: the generator has sent 3 requests fewer than it had planned, and 0 in all");
            bench.verdict().completed();
        }

        assertThat(properties()).contains("valid=false");
    }

    @Test
    void isNoResultIfNobodyHasLookedAtTheGenerator() {
        try (Bench bench = bench()) {
            bench.step("first");
            bench.endStep();
            bench.judgeGenerator("front", "gatling", new Gatling.Result(List.of(), List.of(), 0, Double.NaN));

            assertThat(bench.verdict().invalid())
                    .containsExactly(
                            "front: whether the generator itself was saturated is not known, since nothing was sampled of it",
                            "front: whether the generator itself was late is not known, since it has written down no wake-up");
        }
    }

    @Test
    void saysInTheReportWhatMustHoldWhetherItDoesOrNot() throws Exception {
        try (Bench bench = bench()) {
            bench.mustHold("nothing is lost", true, "0");
            bench.mustHold("nobody waits", false, "2 callers, or 3");

            assertThat(bench.verdict().failures()).containsExactly("nobody waits (measured: 2 callers, or 3)");
        }

        assertThat(Files.readAllLines(directory.resolve("raw/assertions.csv")))
                .containsExactly(
                        "run,assertion,holds,actual",
                        "\"\",nothing is lost,true,0",
                        "\"\",nobody waits,false,\"2 callers, or 3\"");
    }

    @Test
    void hasNoFigureThatIsNoNumber() throws Exception {
        try (Bench bench = bench()) {
            bench.fact("waiting", Double.NaN, "%");
            bench.fact("served", 2, "%");
        }

        assertThat(Files.readAllLines(directory.resolve("raw/facts.csv")))
                .containsExactly("name,value,unit", "served,2.000,%");
        assertThat(properties()).contains("notes=waiting: no figure.");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void endsWhatAProcessHasStartedThatDiesInTheMiddle() throws Exception {
        long session;
        try (Bench bench = bench()) {
            Child child =
                    bench.launch("broken", List.of("sh", "-c", "sleep 600 & echo started; exec sleep 600"), Map.of());
            session = child.pid();
            bench.await("it has started another", () -> child.said().contains("started"));
            ProcessHandle.of(session).orElseThrow().destroyForcibly();

            assertThatThrownBy(() -> bench.await("nothing", () -> false))
                    .isInstanceOf(RunFailure.class)
                    .hasMessageContaining("broken has ended by itself, with status 137");
            assertThat(Proc.ofSession(session)).hasSize(1);
        }

        assertThat(Proc.ofSession(session)).isEmpty();
    }

    @Test
    void doesNotTakeWhatIsNotKnownForNothing() throws Exception {
        try (Bench bench = bench()) {
            Child child = bench.launch("brief", List.of("true"), Map.of());
            child.awaitExit();

            assertThatThrownBy(() -> bench.used(child))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("brief: its processor time is not known");
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void hasNoMeanOfWhatWasNotSampled() throws Exception {
        try (Bench bench = bench()) {
            bench.launch("sleeper", List.of("sleep", "600"), Map.of());
            bench.step("first");
            bench.await("a sample", () -> isSampled(bench, "sleeper", "threads", 1));

            assertThat(bench.sampled("sleeper", "threads", 1)).isEqualTo(1);
            assertThat(bench.sampled("sleeper", "rss", 1)).isPositive();
            assertThat(isSampled(bench, "sleeper", "threads", 2)).isFalse();
            assertThat(isSampled(bench, "sleeper", "handles", 1)).isFalse();
            assertThatThrownBy(() -> bench.sampled("gateway", "threads", 1))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("nothing was sampled of gateway in step 1 (expected: threads)");
        }
    }

    private static boolean isSampled(Bench bench, String process, String what, int ofStep) {
        try {
            bench.sampled(process, what, ofStep);
            return true;
        } catch (RunFailure e) {
            return false;
        }
    }

    private List<String> properties() throws IOException {
        return Files.readAllLines(directory.resolve("raw/run.properties"));
    }
}
