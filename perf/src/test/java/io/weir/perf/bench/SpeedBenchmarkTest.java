package io.weir.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SpeedBenchmarkTest {

    @ParameterizedTest
    @ValueSource(strings = {"a", "a b c --rounds", "a b c --rounds 0", "a b c --rounds many", "a b c --loud 1"})
    void refusesInvalidArguments(String line) throws Exception {
        assertThat(SpeedBenchmark.run(line.split(" ", -1))).isEqualTo(2);
    }
}
