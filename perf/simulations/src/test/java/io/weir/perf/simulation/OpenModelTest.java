package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class OpenModelTest {

    @Test
    void plansALowerBoundOfTheRequestsThatGatlingSends() {
        assertThat(OpenModel.plannedRequests(100, Duration.ofSeconds(10), false))
                .isEqualTo(999);
        assertThat(OpenModel.plannedRequests(40.5, Duration.ofMillis(1500), false))
                .isEqualTo(59);
        assertThat(OpenModel.plannedRequests(0, Duration.ofSeconds(10), true)).isZero();
    }

    @Test
    void expectsFewerRequestsWhoseArrivalsAreRandom() {
        assertThat(OpenModel.plannedRequests(100, Duration.ofSeconds(100), true))
                .isEqualTo(9499);
    }
}
