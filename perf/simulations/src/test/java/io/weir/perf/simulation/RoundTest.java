package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RoundTest {

    @Test
    void areReadOneAfterTheOther() {
        assertThat(Round.parse("warm-up|/records|50|8|false;block|/block?a=b&c=d|10|24|true"))
                .containsExactly(
                        new Round("warm-up", "/records", 50, Duration.ofSeconds(8), false),
                        new Round("block", "/block?a=b&c=d", 10, Duration.ofSeconds(24), true));
    }

    @Test
    void leaveTimeForTheLastAnswers() {
        assertThat(new Round("one", "/", 1, Duration.ofSeconds(7), false).asking())
                .isEqualTo(Duration.ofSeconds(5));
    }
}
