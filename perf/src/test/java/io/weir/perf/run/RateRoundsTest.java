package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class RateRoundsTest {

    /** A machine that is slow for a round is slow for both. */
    @Test
    void comparesPeersWithinARound() {
        assertThat(RateRounds.ratio(List.of(100.0, 50.0, 110.0), List.of(200.0, 100.0, 100.0)))
                .isEqualTo(0.5);
    }

    @Test
    void busyPercentCountsOnlyTheTimeUnderLoad() {
        assertThat(RateRounds.busyPercent(Duration.ofSeconds(6), 3, 2)).isEqualTo(100);
        assertThat(RateRounds.busyPercent(Duration.ofMillis(1500), 3, 1)).isEqualTo(50);
    }
}
