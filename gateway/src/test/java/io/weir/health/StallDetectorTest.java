package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The stall of a backend with one instance; {@link GenerationTest} has the count of its calls. */
class StallDetectorTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private long now = SECOND;
    private final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);

    @Test
    void opensWhenFiveCallsWaitSinceTheLastAnswer() {
        Generation generation = enter(5);
        long sentAt = now;
        now += SECOND;
        for (int i = 0; i < 4; i++) {
            health.stalled(generation, sentAt, sentAt, sentAt - 1, now);
        }
        assertThat(health.state()).isEqualTo(State.CLOSED);

        health.stalled(generation, sentAt, sentAt, sentAt - 1, now);
        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).isEqualTo("stalled, no answer for 1.0 s, 5 calls unanswered");
    }

    @Test
    void ignoresCallsOfAnEarlierGenerationAndOfAForcedState() {
        Generation before = enter(5);
        health.operator().forceClosed();
        Generation forced = enter(5);
        for (int i = 0; i < 5; i++) {
            health.stalled(before, now, now, now - 1, now);
            health.stalled(forced, now, now, now - 1, now);
            health.stalled(null, now, now, now - 1, now);
        }
        assertThat(health.state()).isEqualTo(State.DISABLED);
    }

    @Test
    void countsTheCallsThatAreOverdue() {
        health.overdueBegan();
        assertThat(health.overdue()).isEqualTo(1);
        health.overdueEnded();
        assertThat(health.overdue()).isZero();
    }

    private Generation enter(int calls) {
        Generation generation = Objects.requireNonNull(health.enter(now, true));
        for (int i = 1; i < calls; i++) {
            health.enter(now, true);
        }
        return generation;
    }
}
