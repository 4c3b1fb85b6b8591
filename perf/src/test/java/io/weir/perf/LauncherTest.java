package io.weir.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LauncherTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bench --rounds",
                "bench --rounds 0",
                "bench --rounds many",
                "bench --loud 1",
                "bench --seconds 3 fast",
                "reload soon",
                "reload 20 20",
                "dashboard-cost now",
                "all overload",
                "all --list --continue",
                "report nowhere",
                "report --keep",
                "report . more"
            })
    void refusesBeforeAnythingIsBuilt(String line) throws Exception {
        String name = line.substring(0, line.indexOf(' '));
        String arguments = line.substring(line.indexOf(' ') + 1);

        Launcher refused = Launcher.run(directory, name, arguments.split(" ", -1));

        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err().lines()).singleElement().asString().startsWith("perf/" + name + ": ");
        assertThat(refused.err()).contains(" (expected: ");
    }
}
