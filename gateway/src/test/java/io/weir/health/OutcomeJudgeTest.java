package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The judgement of results; {@link HealthTest} has the thresholds. */
class OutcomeJudgeTest {

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);
    private final BackendFailure failure = new BackendFailure("status-500");

    @Test
    void ignoresResultsOfAnEarlierGeneration() {
        Generation before = Objects.requireNonNull(health.enter(now, true));
        health.operator().openNow();
        health.operator().halfOpenNow();
        for (int i = 0; i < 100; i++) {
            health.failed(before, 1, failure, now);
        }
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void judgesPooledResultsLikeThoseOfOneInstance() {
        for (int i = 0; i < 20; i++) {
            health.pool(1, i % 2 == 0 ? failure : null, now);
        }
        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).startsWith("failing, 10 of 20 calls failed");
    }

    @Test
    void writesSecondsWithOneDigit() {
        assertThat(OutcomeJudge.seconds(TimeUnit.MILLISECONDS.toNanos(1_250))).isEqualTo("1.3 s");
    }
}
