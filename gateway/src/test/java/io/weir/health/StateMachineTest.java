package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The transitions and their effects; {@link HealthTest} has the table of state and event. */
class StateMachineTest {

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final AtomicInteger opened = new AtomicInteger();
    private final HealthSettings settings = TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100));
    private final StateMachine machine = new StateMachine(
            TestHealth.of(settings, () -> now),
            "backend orders",
            settings,
            TestHealth.unlimited(),
            new GroupMembership(),
            null,
            () -> now,
            () -> 0.5);

    @Test
    void changesNothingIfTheStateHasChangedMeanwhile() {
        HealthState stale = machine.present();
        machine.renew();

        machine.whenOpened(opened::incrementAndGet);
        machine.open(stale, false, "failing", now);
        assertThat(machine.present().word()).isEqualTo(State.CLOSED);
        assertThat(opened).hasValue(0);

        machine.open(machine.present(), false, "failing", now);
        assertThat(machine.present().word()).isEqualTo(State.OPEN);
        assertThat(opened).hasValue(1);
    }

    @Test
    void closesARampThatHasSettled() {
        machine.open(machine.present(), false, "failing", now);
        machine.halfOpen((HealthState.Open) machine.present(), "a probe was answered", now);
        assertThat(machine.settle(now).word()).isEqualTo(State.HALF_OPEN);

        now += TimeUnit.SECONDS.toNanos(1);
        assertThat(machine.settle(now).word()).isEqualTo(State.CLOSED);
    }

    @Test
    void countsOpeningsSoonAfterARecovery() {
        machine.open(machine.present(), false, "failing", now);
        machine.halfOpen((HealthState.Open) machine.present(), "a probe was answered", now);
        machine.open(machine.present(), false, "failing", now);

        assertThat(((HealthState.Open) machine.present()).relapses()).isEqualTo(1);
        assertThat(machine.ejections()).isEqualTo(2);
    }
}
