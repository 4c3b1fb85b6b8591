package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class GatewayAddressesTest {

    private static final InetAddress FIRST = address("10.0.0.1");
    private static final InetAddress SECOND = address("10.0.0.2");
    private static final InetAddress THIRD = address("10.0.0.3");

    @Test
    void separatesItsOwnAddressFromTheOthers() {
        assertThat(GatewayAddresses.of(List.of(FIRST, SECOND, THIRD), 1))
                .isEqualTo(new GatewayAddresses(SECOND, List.of(FIRST, THIRD)));
    }

    @Test
    void countsAllAddressesAsOthersIfTheRankIsUnknown() {
        assertThat(GatewayAddresses.of(List.of(FIRST, SECOND), Membership.UNKNOWN_RANK))
                .isEqualTo(new GatewayAddresses(null, List.of(FIRST, SECOND)));
    }

    private static InetAddress address(String text) {
        return Objects.requireNonNull(NetUtil.createInetAddressFromIpAddressString(text));
    }
}
