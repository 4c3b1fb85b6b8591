package io.weir.sim.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class UnitOfWorkTest {

    private static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    private static long cpuNanos(UnitOfWork work) throws InterruptedException {
        long before = threads.getCurrentThreadCpuTime();
        work.run();
        return threads.getCurrentThreadCpuTime() - before;
    }

    @Test
    void takesItsTimeAndComputes() throws InterruptedException {
        UnitOfWork work = new UnitOfWork(Duration.ofMillis(400), 0.5, 4);
        long startNanos = System.nanoTime();

        assertThat(work.run()).isPositive();

        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(400_000_000L);
    }

    @Test
    void onlyComputingUsesProcessorTime() throws InterruptedException {
        long waiting = cpuNanos(new UnitOfWork(Duration.ofMillis(400), 0, 4));

        assertThat(waiting).isLessThan(30_000_000L);
        // Repeated, since other processes may use the core for most of the time.
        await().untilAsserted(() -> assertThat(cpuNanos(new UnitOfWork(Duration.ofMillis(400), 0.9, 4)))
                .isGreaterThan(60_000_000L));
    }

    @Test
    void computesNothingWithAShareOfZero() throws InterruptedException {
        assertThat(new UnitOfWork(Duration.ofMillis(20), 0, 2).run()).isZero();
    }
}
