package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RunTest {

    /** Needs nothing, and measures nothing. */
    private record Empty() implements Experiment {

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

    @ParameterizedTest
    @ValueSource(strings = {"unknown", "", "empty --cpus", "empty --cpus 0", "empty --loud"})
    void saysWhatItExpectsInstead(String line) {
        assertThat(Run.run(List.of(new Empty()), line.isEmpty() ? new String[0] : line.split(" ", -1)))
                .isEqualTo(2);
    }

    @Test
    void lists() {
        assertThat(Run.run(List.of(new Empty()), "--list")).isZero();
    }

    @Test
    void quotesWhatHasToBe(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("one.csv");
        try (Csv csv = new Csv(file, "a", "b")) {
            csv.row("backend=\"mvc\",state=\"open\"", 1);
        }

        List<String> lines = Files.readAllLines(file);
        assertThat(lines).containsExactly("a,b", "\"backend=\"\"mvc\"\",state=\"\"open\"\"\",1");
        assertThat(Csv.values(lines.getLast())).containsExactly("backend=\"mvc\",state=\"open\"", "1");
    }
}
