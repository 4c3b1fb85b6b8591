package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.NetUtil;
import io.weir.cluster.GatewayAddresses;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MembersTest {

    @Test
    void asksTheAddressesBesidesItsOwn() {
        Members members = Members.of(
                "gateways",
                new GatewayAddresses(address("10.0.0.1"), List.of(address("10.0.0.2"), address("fd00::3"))));

        assertThat(members.own()).isEqualTo("10.0.0.1");
        assertThat(members.others()).containsExactly(address("10.0.0.2"), address("fd00::3"));
        assertThat(members.unasked()).isEmpty();
    }

    @Test
    void namesTheClusterWhileDnsHasNotAnswered() {
        Members members = Members.of("gateways", null);

        assertThat(members.others()).isEmpty();
        assertThat(members.unasked())
                .containsExactly(PeerReply.unasked("gateways", "DNS has not resolved gateways yet"));
    }

    @Test
    void namesTheGatewaysBeyondTheBound() {
        List<InetAddress> addresses = IntStream.range(0, Members.MAX_OTHERS + 1)
                .mapToObj(number -> address("10.0." + number / 256 + '.' + number % 256))
                .toList();

        Members members = Members.of("gateways", new GatewayAddresses(null, addresses));

        assertThat(members.own()).isNull();
        assertThat(members.others()).isEqualTo(addresses.subList(0, Members.MAX_OTHERS));
        assertThat(members.unasked())
                .containsExactly(PeerReply.unasked("10.0.1.0", "not asked: more than 256 gateways"));
    }

    private static InetAddress address(String text) {
        return Objects.requireNonNull(NetUtil.createInetAddressFromIpAddressString(text));
    }
}
