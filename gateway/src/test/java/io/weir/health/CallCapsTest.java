package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The limits on calls of a backend with one instance. */
class CallCapsTest {

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);

    @Test
    void setsNoLimitWhileClosed() {
        assertThat(health.caps().maxCalls()).isEqualTo(Integer.MAX_VALUE);
        assertThat(health.caps().limitShare()).isEqualTo(1);
        assertThat(health.caps().isRampFull()).isFalse();
    }

    @Test
    void limitsTheCallsOfARampAndCountsThem() {
        health.operator().openNow();
        health.operator().halfOpenNow();
        for (int i = 0; i < 5; i++) {
            assertThat(health.caps().isRampFull()).isFalse();
            Objects.requireNonNull(health.caps().enterBelowCap(now));
        }
        assertThat(health.caps().inFlight()).isEqualTo(5);
        assertThat(health.caps().isRampFull()).isTrue();
    }

    @Test
    void keepsTheLimitOfTheOnlyInstance() {
        health.role().becomeSingle(3);
        assertThat(health.caps().maxCalls()).isEqualTo(3);
    }

    @Test
    void entersNothingWhileOpen() {
        health.operator().openNow();
        assertThat(health.caps().enterBelowCap(now)).isNull();
        assertThat(health.caps().inFlight()).isZero();
    }
}
