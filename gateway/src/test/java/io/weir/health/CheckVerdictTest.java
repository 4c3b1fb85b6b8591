package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The effect of a health check on one instance; {@link HealthChecksTest} has the rules of the checks. */
class CheckVerdictTest {

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);

    @Test
    void takesAnInstanceOutUntilTheCheckPasses() {
        health.verdict().failed("its health check fails", false, now);
        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.isHeldByCheck()).isTrue();

        health.verdict().passed(now);
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void leavesAnInstanceOutThatItsCallsHaveEjected() {
        health.operator().openNow();
        health.verdict().failed("its health check fails", false, now);
        assertThat(health.isHeldByCheck()).isTrue();

        health.verdict().passed(now);
        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.isHeldByCheck()).isFalse();
    }

    @Test
    void hasNoEffectOnAStateThatAnOperatorForces() {
        health.operator().forceClosed();
        health.verdict().failed("its health check fails", false, now);
        assertThat(health.state()).isEqualTo(State.DISABLED);
    }
}
