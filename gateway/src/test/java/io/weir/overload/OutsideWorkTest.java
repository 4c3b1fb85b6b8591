package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class OutsideWorkTest {

    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int PROCESSORS = 2;
    private static final int PERIOD = OverloadSampler.PERIOD_MILLIS;

    private final OutsideWork work = new OutsideWork(() -> this.usedNanos, PROCESSORS);
    private long usedNanos;
    private long now = Long.MAX_VALUE - 100 * MS;

    @Test
    void takesNothingAtFirst() {
        usedNanos = 60_000 * MS;

        assertThat(work.sample(now)).isFalse();
    }

    @Test
    void takesTheProcessorsFromAQuarterOn() {
        assertThat(run(5_000, 0.24)).as("less").isFalse();
        assertThat(run(1_000, 0.26)).as("more").isTrue();
    }

    @Test
    void isForgottenTwoSecondsAfterItsEnd() {
        run(1_000, 1);

        assertThat(run(1_500, 0)).isTrue();
        assertThat(run(1_500, 0)).isFalse();
    }

    @Test
    void isAPartOfTheLoadAfterAMinute() {
        assertThat(run(59_000, 0.5)).as("within the minute").isTrue();
        assertThat(run(2_000, 0.5)).as("after it").isFalse();
        assertThat(run(120_000, 0.5)).as("as long as it goes on").isFalse();

        run(3_000, 0);
        assertThat(run(1_000, 0.5)).as("after a rest").isTrue();
    }

    /** Two measurements at slightly different times can seem to go backwards. */
    @Test
    void acceptsATimeThatGoesBackwards() {
        assertThat(run(1_000, -0.1)).isFalse();
    }

    private boolean run(long millis, double share) {
        boolean result = false;
        for (long i = 0; i < millis; i += PERIOD) {
            now += PERIOD * MS;
            usedNanos += Math.round(share * PROCESSORS * PERIOD * MS);
            result = work.sample(now);
        }
        return result;
    }
}
