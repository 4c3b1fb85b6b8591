package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The relation of a health to the others of its backend; {@link HealthGroupTest} has the groups' rules. */
class GroupRoleTest {

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final Health health = health();

    private Health health() {
        return TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);
    }

    @Test
    void takesOverTheStateOfAnotherHealthOfTheSameInstance() {
        Health open = health();
        open.operator().openNow();
        health.role().takeStateOf(open);
        assertThat(health.state()).isEqualTo(State.OPEN);

        Health ramping = health();
        ramping.operator().openNow();
        ramping.operator().halfOpenNow();
        Health next = health();
        next.role().takeStateOf(ramping);
        assertThat(next.state()).isEqualTo(State.HALF_OPEN);

        health.role().takeStateOf(next);
        assertThat(health.state()).as("only a closed one takes over").isEqualTo(State.OPEN);
    }

    @Test
    void isAloneWithItsOverloadWithoutPeers() {
        Generation generation = Objects.requireNonNull(health.enter(now, true));
        health.role().overloaded(generation, new BackendFailure("status-503"), now);
        assertThat(health.role().isOverloadShared(now)).isTrue();
        assertThat(health.role().coolDownFailures(now)).isZero();
    }

    @Test
    void ejectsAClosedInstanceAndOneInItsRampIfAsked() {
        health.operator().forceClosed();
        health.role().eject(false, "failing alone", now);
        assertThat(health.state()).isEqualTo(State.DISABLED);

        health.operator().release();
        health.role().eject(false, "failing alone", now);
        assertThat(health.state()).isEqualTo(State.OPEN);

        health.operator().halfOpenNow();
        health.role().eject(false, "failing alone", now);
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
        health.role().eject(true, "failing alone", now);
        assertThat(health.state()).isEqualTo(State.OPEN);
    }
}
