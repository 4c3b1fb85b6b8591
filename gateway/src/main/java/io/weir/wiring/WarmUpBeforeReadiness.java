package io.weir.wiring;

import io.weir.drain.Drain;
import io.weir.warmup.Exercise;
import io.weir.warmup.WarmUp;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;

/**
 * Runs the warm-up after the start of the servers. Spring Boot announces readiness once its runners have
 * returned.
 */
final class WarmUpBeforeReadiness implements ApplicationRunner, AutoCloseable {

    private final WarmUp warmUp;
    private final Drain drain;
    private final Supplier<? extends Exercise> exercise;
    private final CountDownLatch closed = new CountDownLatch(1);

    WarmUpBeforeReadiness(WarmUp warmUp, Drain drain, Supplier<? extends Exercise> exercise) {
        this.warmUp = warmUp;
        this.drain = drain;
        this.exercise = exercise;
    }

    @Override
    public void run(ApplicationArguments arguments) throws InterruptedException {
        warmUp.run(exercise);
        if (drain.isClosingConnections()) {
            // The gateway stops. Spring Boot would announce readiness as long as the context is open.
            closed.await();
        }
    }

    /** The context closes: its start may end. */
    @Override
    public void close() {
        warmUp.stop();
        closed.countDown();
    }
}
