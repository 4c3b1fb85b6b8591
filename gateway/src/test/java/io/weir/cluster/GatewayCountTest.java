package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GatewayCountTest {

    private final List<Integer> told = new CopyOnWriteArrayList<>();

    @Test
    void isKnownFromTheStartAndFollowsDns() {
        try (FakeDns dns = new FakeDns(2);
                GatewayCount count = count(dns)) {
            assertThat(count.gateways()).isEqualTo(2);

            dns.gateways(5);
            await().until(() -> count.gateways() == 5);
            assertThat(told).containsExactly(2, 5);
        }
    }

    @Test
    void staysWhileDnsKnowsNobodyOrDoesNotAnswer() {
        try (FakeDns dns = new FakeDns(4);
                GatewayCount count = count(dns)) {
            dns.gateways(0);
            await().until(() -> count.failures() >= 2);
            dns.silent();
            long before = count.failures();
            await().until(() -> count.failures() > before);

            assertThat(count.gateways()).isEqualTo(4);
            assertThat(told).containsExactly(4);
        }
    }

    @Test
    void countsAGatewayWithAddressesOfBothFamiliesOnce() {
        try (FakeDns dns = new FakeDns(3)) {
            dns.dualStack();
            try (GatewayCount count = count(dns)) {
                assertThat(count.gateways()).isEqualTo(3);
            }
        }
    }

    @Test
    void isUnknownWhereTheNameIs() {
        try (FakeDns dns = new FakeDns(0);
                GatewayCount count = count(dns)) {
            assertThat(count.gateways()).isZero();
            assertThat(count.failures()).isPositive();
            assertThat(told).isEmpty();
        }
    }

    private GatewayCount count(FakeDns dns) {
        return new GatewayCount(
                FakeDns.NAME, new ClusterProperties(FakeDns.NAME, dns.address(), Duration.ofMillis(100)), told::add);
    }
}
