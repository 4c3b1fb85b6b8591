package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestBackend;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HealthProberTest {

    /** An answer that never ends would occupy its connection forever, and each probe needs a connection. */
    @Test
    void holdsAtMostOneConnectionForEachProbeInFlight() {
        TestBackend server = TestBackend.start((request, conversation) -> {
            conversation.write("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n");
            conversation.in().read();
        });
        try (SocketBackend backend = new SocketBackend(server, Duration.ofMillis(50), "/health")) {
            HealthProber prober = HealthProber.ofPath(backend.backend, "/health", backend.loop(), System::nanoTime);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();

            await().until(() -> server.requests() >= 20);
            // Five probes, and as many connections that are closing.
            assertThat(backend.pool.acquired()).isLessThanOrEqualTo(10);
            assertThat(backend.health.state()).isEqualTo(State.OPEN);

            prober.close();
            await().until(() -> server.connections() == 0);
            await().until(() -> backend.health.probesUnderWay() == 0);
        } finally {
            server.close();
        }
    }

    /** The next probe is due all the time then; an attempt without a delay would keep an event loop busy. */
    @Test
    void waitsForAnIntervalBetweenAttemptsWhileAllProbesHang() {
        AtomicInteger attempts = new AtomicInteger();
        LongSupplier countingClock = () -> {
            attempts.incrementAndGet();
            return System.nanoTime();
        };
        TestBackend server =
                TestBackend.start((request, conversation) -> conversation.in().read());
        try (SocketBackend backend = new SocketBackend(server, Duration.ofMinutes(1), "/health")) {
            HealthProber prober = HealthProber.ofPath(backend.backend, "/health", backend.loop(), countingClock);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();
            await().until(() -> backend.health.probesUnderWay() == 5);

            long startedAt = System.nanoTime();
            int before = attempts.get();
            await().until(() -> attempts.get() >= before + 10);
            int made = attempts.get() - before;

            assertThat(Duration.ofNanos(System.nanoTime() - startedAt))
                    .isGreaterThanOrEqualTo(
                            Duration.ofMillis(10).multipliedBy(made - 1).dividedBy(2));
            prober.close();
        } finally {
            server.close();
        }
    }
}
