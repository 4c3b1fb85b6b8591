package io.weir.sim.faults;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** A distribution of delays. */
sealed interface DelayDistribution {

    Duration draw(RandomGenerator random);

    /** The same delay each time. */
    record Fixed(Duration delay) implements DelayDistribution {
        @Override
        public Duration draw(RandomGenerator random) {
            return delay;
        }
    }

    /** Uniform between {@code min} and {@code max}. */
    record Uniform(Duration min, Duration max) implements DelayDistribution {
        @Override
        public Duration draw(RandomGenerator random) {
            return Duration.ofNanos(min.toNanos() + (long) ((max.toNanos() - min.toNanos()) * random.nextDouble()));
        }
    }

    /** Log-normal, typical for services that multiply small delays: e^(ln median + sigma z). */
    record LogNormal(Duration median, double sigma, Duration max) implements DelayDistribution {
        @Override
        public Duration draw(RandomGenerator random) {
            return atMost(max, median.toNanos() * Math.exp(sigma * random.nextGaussian()));
        }
    }

    /** Heavy-tailed: scale / u^(1/shape), u in (0, 1]. With a shape of 2 or less the variance is infinite. */
    record Pareto(Duration scale, double shape, Duration max) implements DelayDistribution {
        @Override
        public Duration draw(RandomGenerator random) {
            return atMost(max, scale.toNanos() / Math.pow(1 - random.nextDouble(), 1 / shape));
        }
    }

    private static Duration atMost(Duration max, double nanos) {
        return nanos >= max.toNanos() ? max : Duration.ofNanos((long) nanos);
    }
}
