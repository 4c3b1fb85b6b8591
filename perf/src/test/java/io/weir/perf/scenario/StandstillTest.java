package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class StandstillTest {

    private final AtomicLong now = new AtomicLong();
    private final AtomicLong lateNanos = new AtomicLong();
    private final Standstill standstill =
            new Standstill(now::get, nanos -> now.addAndGet(nanos + lateNanos.getAndSet(0)));

    @Test
    void isTheLongestDelayOfAWakeUp() {
        standstill.wakeUp();
        assertThat(standstill.longest()).isZero();

        lateNanos.set(2_000_000_000);
        standstill.wakeUp();
        lateNanos.set(1_000_000);
        standstill.wakeUp();

        assertThat(standstill.longest()).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void isZeroAfterEarlyWakeUp() {
        lateNanos.set(-5_000_000);
        standstill.wakeUp();

        assertThat(standstill.longest()).isZero();
    }
}
