package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class AskingTest {

    @Test
    void plansWhatGatlingMakesHoweverItRounds() {
        assertThat(Asking.requests(100, Duration.ofSeconds(10))).isEqualTo(999);
        assertThat(Asking.requests(40.5, Duration.ofMillis(1500))).isEqualTo(59);
        assertThat(Asking.requests(0, Duration.ofSeconds(10))).isZero();
    }
}
