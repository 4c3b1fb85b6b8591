package io.weir.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchTest {

    @Test
    void takesTheMiddle() {
        assertThat(Bench.median(List.of(3.0, 1.0, 2.0))).isEqualTo(2);
        assertThat(Bench.median(List.of(4.0, 1.0, 2.0, 3.0))).isEqualTo(2.5);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a b c --rounds", "a b c --rounds 0", "a b c --rounds many", "a b c --loud 1"})
    void measuresNothingThatItDoesNotUnderstand(String line) throws Exception {
        assertThat(Bench.run(line.split(" ", -1))).isEqualTo(2);
    }
}
