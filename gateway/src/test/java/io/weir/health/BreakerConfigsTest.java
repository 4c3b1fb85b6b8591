package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class BreakerConfigsTest {

    private static CircuitBreakerProperties properties(
            SlidingWindowType type, @Nullable Integer window, @Nullable Integer minimum, @Nullable Duration slow) {
        return new CircuitBreakerProperties(
                50,
                60,
                slow,
                type,
                window,
                minimum,
                7,
                Duration.ofSeconds(9),
                Duration.ofSeconds(3),
                Set.of(),
                Set.of(),
                true);
    }

    private static CircuitBreakerConfig config(CircuitBreakerProperties properties, int maxConcurrentCalls) {
        return BreakerConfigs.of(properties, Duration.ofMillis(800), maxConcurrentCalls);
    }

    @Test
    void derivesTheSlowThresholdFromTheDeadlineAndTheWindowFromTheLimit() {
        CircuitBreakerConfig config = config(properties(SlidingWindowType.COUNT_BASED, null, null, null), 64);

        assertThat(config.getSlowCallDurationThreshold()).isEqualTo(Duration.ofMillis(400));
        assertThat(config.getSlidingWindowSize()).isEqualTo(64);
        assertThat(config.getMinimumNumberOfCalls()).isEqualTo(10);
    }

    @Test
    void derivesAWindowOfAtLeastTwentyCalls() {
        assertThat(config(properties(SlidingWindowType.COUNT_BASED, null, null, null), 2)
                        .getSlidingWindowSize())
                .isEqualTo(20);
    }

    @Test
    void minimumNumberOfCallsDoesNotExceedASmallWindow() {
        assertThat(config(properties(SlidingWindowType.COUNT_BASED, 5, null, null), 64)
                        .getMinimumNumberOfCalls())
                .isEqualTo(5);
        assertThat(config(properties(SlidingWindowType.TIME_BASED, 5, null, null), 64)
                        .getMinimumNumberOfCalls())
                .isEqualTo(10);
    }

    @Test
    void appliesConfiguredValues() {
        CircuitBreakerConfig config =
                config(properties(SlidingWindowType.TIME_BASED, 30, 11, Duration.ofMillis(250)), 64);

        assertThat(config.getSlidingWindowType()).isEqualTo(SlidingWindowType.TIME_BASED);
        assertThat(config.getSlidingWindowSize()).isEqualTo(30);
        assertThat(config.getMinimumNumberOfCalls()).isEqualTo(11);
        assertThat(config.getSlowCallDurationThreshold()).isEqualTo(Duration.ofMillis(250));
        assertThat(config.getFailureRateThreshold()).isEqualTo(50);
        assertThat(config.getSlowCallRateThreshold()).isEqualTo(60);
        assertThat(config.getPermittedNumberOfCallsInHalfOpenState()).isEqualTo(7);
        assertThat(config.getMaxWaitDurationInHalfOpenState()).isEqualTo(Duration.ofSeconds(3));
        assertThat(config.getWaitIntervalFunctionInOpenState().apply(1)).isEqualTo(9_000);
    }
}
