package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import org.junit.jupiter.api.Test;

/** A gateway that starts while DNS has no answer. */
class ClusterStartIT {

    @Test
    void startsWithAShareOfTheInitialNumberAndTakesItsOwnWhenDnsAnswers() {
        try (FakeDns dns = new FakeDns(0);
                TestBackend backend = TestBackend.healthy();
                TestGateway gateway = TestGateway.setup()
                        .weir("cluster: { gateways: " + FakeDns.NAME + ", dns-server: \"" + dns.address()
                                + "\", refresh-interval: 100ms, initial-gateways: 4 }")
                        .backend("orders", backend.uri(), "bulkhead: { scope: cluster, max-concurrent-calls: 40 }")
                        .route("orders", "orders")
                        .start()) {
            assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls())
                    .isEqualTo(10);
            assertThat(gateway.bean(GatewayCount.class).gateways()).isZero();
            assertThat(gateway.bean(GatewayCount.class).failures()).isPositive();

            dns.gateways(2);
            await().until(() -> gateway.backend("orders").bulkhead().maxConcurrentCalls() == 20);
            assertThat(gateway.bean(GatewayCount.class).gateways()).isEqualTo(2);
        }
    }
}
