package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.simulation.LoadPlan.CallerRound;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class CallerRoundTest {

    @Test
    void parsesAllFields() {
        assertThat(CallerRound.parse("warm-up|/records|50|8|false"))
                .isEqualTo(new CallerRound("warm-up", "/records", 50, Duration.ofSeconds(8), false));
        assertThat(CallerRound.parse("block|/block?a=b&c=d|10|24|true"))
                .isEqualTo(new CallerRound("block", "/block?a=b&c=d", 10, Duration.ofSeconds(24), true));
    }

    @Test
    void leavesTimeForTheLastAnswers() {
        assertThat(new CallerRound("one", "/", 1, Duration.ofSeconds(7), false).requestPeriod())
                .isEqualTo(Duration.ofSeconds(5));
    }
}
