package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestBackend;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HealthProberTest {

    /** An answer that never ends would keep its connection for ever, and each probe asks for another one. */
    @Test
    void holdsNoMoreConnectionsThanItMayHaveProbesUnderWay() {
        TestBackend server = TestBackend.start((request, conversation) -> {
            conversation.write("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n");
            conversation.in().read();
        });
        try (Wired wired = new Wired(server, Duration.ofMillis(50), "/health")) {
            HealthProber prober = new HealthProber(wired.backend, "/health", wired.loop(), System::nanoTime);
            wired.breaker.resilience4j().transitionToOpenState();
            prober.start();

            await().until(() -> server.requests() >= 20);
            // As many again may be closing.
            assertThat(wired.pool.acquired()).isLessThanOrEqualTo(10);
            assertThat(wired.breaker.state()).isEqualTo(State.OPEN);

            prober.close();
            await().until(() -> server.connections() == 0);
            await().until(() -> wired.breaker.probesUnderWay() == 0);
        } finally {
            server.close();
        }
    }
}
