package io.weir.slowcaller;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MinimumRateTest {

    private static final long GRACE = TimeUnit.SECONDS.toNanos(15);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final MinimumRate rate = new MinimumRate(GRACE, 100);

    @Test
    void endsACallerThatMovesNothingAfterTheGrace() {
        rate.waited(GRACE - 1);
        assertThat(rate.leftNanos()).isEqualTo(1);
        rate.waited(1);
        assertThat(rate.leftNanos()).isZero();
    }

    @Test
    void neverEndsACallerAtTheMinimumRate() {
        for (int i = 0; i < 1_000; i++) {
            rate.waited(10 * SECOND);
            assertThat(rate.leftNanos()).isPositive();
            rate.moved(1_000);
        }
    }

    @Test
    void endsACallerThatMovesAByteNowAndThenSoonAfterTheGrace() {
        int seconds = 0;
        while (rate.leftNanos() > 0) {
            rate.waited(SECOND);
            rate.moved(1);
            seconds++;
        }
        assertThat(seconds).isEqualTo(16);
    }

    @Test
    void savesNoCreditAboveTheGrace() {
        rate.moved(1_000_000_000);
        rate.waited(GRACE);
        assertThat(rate.leftNanos()).isZero();
    }

    @Test
    void givesFullCreditAfterARestart() {
        rate.waited(2 * GRACE);
        rate.restart();
        assertThat(rate.leftNanos()).isEqualTo(GRACE);
    }

    @Test
    void endsNoCallerWithoutAMinimum() {
        MinimumRate any = new MinimumRate(GRACE, 0);
        any.waited(100 * GRACE);
        any.moved(1);
        assertThat(any.leftNanos()).isEqualTo(Long.MAX_VALUE);
    }
}
