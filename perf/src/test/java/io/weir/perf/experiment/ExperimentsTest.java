package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.Launcher;
import io.weir.perf.run.PerfRun;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The launcher reads the experiments from the sources; its output is the same as the program's. */
class ExperimentsTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "unknown",
                "containment unknown --quick",
                "containment --loud",
                "containment --cpus",
                "containment --cpus 0",
                "containment --target",
                "containment --target http://127.0.0.1:1",
                "containment --faults http://127.0.0.1:1",
                "containment --cpus 2 --target http://127.0.0.1:1 --faults http://127.0.0.1:1"
            })
    void refusesBeforeAnythingIsBuilt(String line) throws Exception {
        String[] arguments = line.isEmpty() ? new String[0] : line.split(" ", -1);

        Launcher refused = Launcher.run(directory, "run", arguments);

        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused).isEqualTo(Launcher.program(() -> PerfRun.run(Experiments.all(), arguments)));
    }

    /** The program also lists missing tools. */
    @Test
    void listsBeforeAnythingIsBuilt() throws Exception {
        Launcher program = Launcher.program(() -> PerfRun.run(Experiments.all(), "--list"));

        Launcher list = Launcher.run(directory, "run", "--list");

        assertThat(list.exitCode()).isZero();
        assertThat(list.out().lines())
                .containsExactlyElementsOf(program.out()
                        .lines()
                        .filter(line -> !line.startsWith(" "))
                        .toList());
    }
}
