package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The states that an operator sets, in virtual time. */
class OperatorHoldTest {

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);

    @Test
    void keepsAForcedStateWhateverTheCallsShow() {
        health.operator().forceClosed();
        Generation generation = Objects.requireNonNull(health.enter(now, true));
        for (int i = 0; i < 100; i++) {
            health.failed(generation, 1, new BackendFailure("status-500"), now);
        }
        assertThat(health.state()).isEqualTo(State.DISABLED);

        health.operator().release();
        assertThat(health.state()).isEqualTo(State.CLOSED);
        assertThat(health.why()).isEqualTo("released by an operator");
    }

    @Test
    void returnsADrainedInstanceWithARamp() {
        health.operator().drain();
        assertThat(health.permits(now)).isFalse();

        health.operator().restore();
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
        assertThat(health.caps().maxCalls()).isEqualTo(5);
    }

    @Test
    void restoresNothingThatIsNotDrained() {
        health.operator().forceOpen();
        health.operator().restore();
        assertThat(health.state()).isEqualTo(State.FORCED_OPEN);
    }
}
