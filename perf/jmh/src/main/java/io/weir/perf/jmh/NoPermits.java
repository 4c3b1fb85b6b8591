package io.weir.perf.jmh;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.weir.health.CircuitBreakerProperties;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.RecoveryProperties;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** No permits, and the settings of a breaker that asks for none. */
final class NoPermits implements Health.Permits {

    static HealthSettings settings() {
        CircuitBreakerProperties breaker = new CircuitBreakerProperties(
                50, 100, null, SlidingWindowType.COUNT_BASED, 100, 20, 5, null, 5, Set.of(500), Set.of(), true);
        RecoveryProperties recovery =
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null);
        return new HealthSettings(breaker, recovery, TimeUnit.SECONDS.toNanos(2));
    }

    @Override
    public int limit() {
        return 1;
    }

    @Override
    public void limitChanged() {}

    @Override
    public void giveBack(int calls) {}
}
