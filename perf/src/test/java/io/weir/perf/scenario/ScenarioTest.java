package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.Launcher;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The launcher's output is the same as the program's. */
class ScenarioTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "unknown",
                "unknown --quick",
                "hang --loud",
                "hang --quick --without",
                "overload --without bulkhead --without retries --quick"
            })
    void refusesBeforeAnythingIsBuilt(String line) throws Exception {
        List<String> arguments = List.of(line.split(" ", -1));
        List<String> ofProgram = new ArrayList<>(arguments);
        ofProgram.addAll(1, List.of("a.jar", "a.yml"));

        Launcher refused = Launcher.run(directory, "scenario", arguments.toArray(String[]::new));

        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused)
                .isEqualTo(Launcher.program(() -> Scenario.run(System.out, ofProgram.toArray(String[]::new))));
    }
}
