package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import org.junit.jupiter.api.Test;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.http.client.ReactorResourceFactory;

class BackendLifecycleIT {

    /** Spring stops higher phases first. */
    @Test
    void endsTheHealthChecksAfterTheServerAndBeforeTheEventLoops() {
        try (TestBackend backend = TestBackend.healthy();
                TestGateway gateway = TestGateway.setup()
                        .backend("orders", backend.uri())
                        .route("orders", "orders")
                        .start()) {
            int phase = gateway.bean(BackendLifecycle.class).getPhase();

            assertThat(phase)
                    .isLessThan(WebServerApplicationContext.START_STOP_LIFECYCLE_PHASE)
                    .isGreaterThan(gateway.bean(ReactorResourceFactory.class).getPhase());
            assertThat(gateway.bean(BackendLifecycle.class).isRunning()).isTrue();
        }
    }
}
