package io.weir.sim.faults;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** Where a latency is drawn from. */
sealed interface Delays {

    Duration draw(RandomGenerator random);

    /** Always the same. */
    record Fixed(Duration delay) implements Delays {
        @Override
        public Duration draw(RandomGenerator random) {
            return delay;
        }
    }

    /** Anything between, alike. */
    record Uniform(Duration min, Duration max) implements Delays {
        @Override
        public Duration draw(RandomGenerator random) {
            return Duration.ofNanos(min.toNanos() + (long) ((max.toNanos() - min.toNanos()) * random.nextDouble()));
        }
    }

    /** What services that multiply small delays look like: e^(ln median + sigma z). */
    record LogNormal(Duration median, double sigma, Duration max) implements Delays {
        @Override
        public Duration draw(RandomGenerator random) {
            return atMost(max, median.toNanos() * Math.exp(sigma * random.nextGaussian()));
        }
    }

    /** A heavy tail: scale / u^(1/shape), u in (0, 1]. With a shape of 2 or less its variance has no bound. */
    record Pareto(Duration scale, double shape, Duration max) implements Delays {
        @Override
        public Duration draw(RandomGenerator random) {
            return atMost(max, scale.toNanos() / Math.pow(1 - random.nextDouble(), 1 / shape));
        }
    }

    private static Duration atMost(Duration max, double nanos) {
        return nanos >= max.toNanos() ? max : Duration.ofNanos((long) nanos);
    }
}
