package io.weir.outcome;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RetryAfterTest {

    @Test
    void isOneToThirtySeconds() {
        assertThat(RetryAfter.millis(0, 0)).isEqualTo(1_000);
        assertThat(RetryAfter.millis(TimeUnit.HOURS.toNanos(1), 0.9)).isEqualTo(30_000);
        assertThat(RetryAfter.seconds(30_000)).isEqualTo(30);
    }

    @Test
    void isJitteredUpwardsByHalf() {
        assertThat(RetryAfter.millis(TimeUnit.SECONDS.toNanos(4), 0)).isEqualTo(4_000);
        assertThat(RetryAfter.millis(TimeUnit.SECONDS.toNanos(4), 0.5)).isEqualTo(5_000);
    }

    @Test
    void isRoundedUpToWholeSeconds() {
        assertThat(RetryAfter.seconds(1_000)).isEqualTo(1);
        assertThat(RetryAfter.seconds(1_001)).isEqualTo(2);
    }
}
