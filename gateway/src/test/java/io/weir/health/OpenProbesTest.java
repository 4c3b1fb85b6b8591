package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The probes of an open breaker; {@link ProbeScheduleTest} has their times. */
class OpenProbesTest {

    private static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);

    private long now = TimeUnit.SECONDS.toNanos(1);
    private final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)), () -> now);

    @Test
    void startsNoProbeWhileClosed() {
        assertThat(health.probes().tryStart(now, 0, false)).isNull();
        assertThat(health.probes().tryStartLastResort(now, 0)).isNull();
        assertThat(health.probes().tryStartRare(now, 0)).isNull();
        assertThat(health.probes().nanosToNext()).isZero();
        assertThat(health.probes().underWay()).isZero();
    }

    @Test
    void startsAProbeAnIntervalAfterTheOpening() {
        health.operator().openNow();
        assertThat(health.probes().nanosToNext()).isEqualTo(100 * MILLIS);

        now += 100 * MILLIS;
        Probe probe = Objects.requireNonNull(health.probes().tryStart(now, 0, true));
        assertThat(health.probes().underWay()).isEqualTo(1);

        health.probes().failed(probe);
        assertThat(health.probes().underWay()).isZero();
        assertThat(health.isIn()).as("a failed probe changes nothing").isFalse();
    }

    @Test
    void countsTheEndOfAProbeOnce() {
        health.operator().openNow();
        now += 100 * MILLIS;
        Probe probe = Objects.requireNonNull(health.probes().tryStart(now, 0, true));
        health.probes().failed(probe);

        health.probes().answered(probe, now);
        assertThat(health.isIn()).isFalse();
        assertThat(health.probes().underWay()).isZero();
    }
}
