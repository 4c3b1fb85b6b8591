package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Checks each distribution by the quantiles of 20 000 draws from a fixed seed. */
class DelayDistributionTest {

    private static final int DRAWS = 20_000;

    private static double[] sortedMillis(DelayDistribution delays) {
        Random random = new Random(11);
        return IntStream.range(0, DRAWS)
                .mapToDouble(_ -> delays.draw(random).toNanos() / 1e6)
                .sorted()
                .toArray();
    }

    private static double quantile(double[] sorted, double q) {
        return sorted[(int) (q * (sorted.length - 1))];
    }

    @Test
    void fixedDelayIsConstant() {
        double[] drawn = sortedMillis(new DelayDistribution.Fixed(Duration.ofMillis(40)));

        assertThat(drawn).containsOnly(40.0);
    }

    @Test
    void uniformIsEvenBetweenItsBounds() {
        double[] drawn = sortedMillis(new DelayDistribution.Uniform(Duration.ofMillis(100), Duration.ofMillis(300)));

        assertThat(drawn[0]).isBetween(100.0, 101.0);
        assertThat(drawn[DRAWS - 1]).isBetween(299.0, 300.0);
        assertThat(quantile(drawn, 0.25)).isCloseTo(150, within(3.0));
        assertThat(quantile(drawn, 0.5)).isCloseTo(200, within(3.0));
    }

    @Test
    void logNormalHasItsMedianAndSpread() {
        double[] drawn =
                sortedMillis(new DelayDistribution.LogNormal(Duration.ofMillis(100), 0.5, Duration.ofSeconds(60)));

        assertThat(quantile(drawn, 0.5)).isCloseTo(100, within(2.0));
        // One standard deviation above the median: 100 e^0.5.
        assertThat(quantile(drawn, 0.8413)).isCloseTo(164.9, within(4.0));
    }

    @Test
    void paretoHasItsScaleAndTail() {
        double[] drawn = sortedMillis(new DelayDistribution.Pareto(Duration.ofMillis(10), 1.5, Duration.ofSeconds(60)));

        assertThat(drawn[0]).isBetween(10.0, 10.1);
        // x such that (10 / x)^1.5 = 1 - q.
        assertThat(quantile(drawn, 0.5)).isCloseTo(15.87, within(0.3));
        assertThat(quantile(drawn, 0.99)).isCloseTo(215.4, within(20.0));
    }

    @Test
    void delaysNeverExceedTheMaximum() {
        double[] drawn = sortedMillis(new DelayDistribution.Pareto(Duration.ofMillis(10), 0.5, Duration.ofMillis(500)));

        assertThat(drawn[DRAWS - 1]).isEqualTo(500);
    }

    @Test
    void sameSeedDrawsTheSameDelays() {
        DelayDistribution delays = new DelayDistribution.LogNormal(Duration.ofMillis(100), 0.5, Duration.ofSeconds(60));

        assertThat(sortedMillis(delays)).isEqualTo(sortedMillis(delays));
    }
}
