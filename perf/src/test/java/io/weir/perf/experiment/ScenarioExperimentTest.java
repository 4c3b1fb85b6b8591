package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.BriefRun;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.PerfRun;
import io.weir.perf.run.RunOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ScenarioExperimentTest {

    @TempDir
    private Path root;

    private static final class Promising extends ScenarioExperiment.Instances {

        @Override
        PromiseTable measure(ExperimentContext context) {
            PromiseTable promises = new PromiseTable();
            promises.atLeast("answered", 97, 98, "%");
            promises.atMost("refused", 0, 2, "%");
            promises.show("another proxy", "90 %");
            promises.fact("weir.answered", 98, "%");
            return promises;
        }
    }

    @Test
    void assertsEachPromiseOfItsScenario() throws Exception {
        BriefRun.createJars(root);
        RunOptions options = new RunOptions(List.of(), false, true, 1, Optional.empty());

        PerfRun.RunOutcome outcome =
                PerfRun.measure(new Promising(), options, root, root.resolve("raw"), Duration.ZERO);

        assertThat(outcome.invalid()).isEmpty();
        assertThat(outcome.failures()).containsExactly("refused: at most 0 % (measured: 2 %)");
        assertThat(Files.readAllLines(root.resolve("raw/assertions.csv")))
                .contains(",answered: at least 97 %,true,98 %", ",(another proxy),true,90 %");
        assertThat(Files.readAllLines(root.resolve("raw/facts.csv"))).contains("weir.answered,98.0,%");
    }

    @Test
    void isListedWithTheOtherExperiments() {
        assertThat(Experiments.all())
                .extracting(Experiment::name)
                .contains("overload-untuned", "instances", "own-overload", "priorities", "tenants");
    }
}
