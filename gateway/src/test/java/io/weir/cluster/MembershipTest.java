package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class MembershipTest {

    @Test
    void ranksAddressesByTheirBytesInAnyOrderOfTheAnswer() {
        assertThat(of(List.of("10.0.0.200", "10.0.0.3", "9.0.0.1"), "10.0.0.200"))
                .isEqualTo(new Membership(3, 2));
        assertThat(of(List.of("10.0.0.3", "9.0.0.1", "10.0.0.200"), "10.0.0.3")).isEqualTo(new Membership(3, 1));
        assertThat(of(List.of("9.0.0.1", "10.0.0.3", "10.0.0.200"), "9.0.0.1")).isEqualTo(new Membership(3, 0));
    }

    @Test
    void countsARepeatedAddressOnce() {
        assertThat(of(List.of("10.0.0.1", "10.0.0.1", "10.0.0.2"), "10.0.0.2")).isEqualTo(new Membership(2, 1));
    }

    @Test
    void ranksByTheFamilyWithMoreAddresses() {
        assertThat(of(List.of("10.0.0.1", "fd00::2", "fd00::1"), "fd00::2")).isEqualTo(new Membership(2, 1));
        assertThat(of(List.of("10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"), "10.0.0.2", "fd00::1"))
                .isEqualTo(new Membership(2, 1));
    }

    @Test
    void hasNoRankIfNoAddressIsItsOwn() {
        assertThat(of(List.of("10.0.0.1", "10.0.0.2"))).isEqualTo(Membership.ofUnknownRank(2));
    }

    @Test
    void hasNoRankIfSeveralAddressesAreItsOwn() {
        assertThat(of(List.of("10.0.0.1", "10.0.0.2", "10.0.0.3"), "10.0.0.1", "10.0.0.2"))
                .isEqualTo(Membership.ofUnknownRank(3));
    }

    @Test
    void refusesARankOutsideTheGateways() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Membership(2, 2))
                .withMessage("rank: 2 of 2 (expected: -1 to one less than the gateways, at least 1)");
        assertThatIllegalArgumentException().isThrownBy(() -> Membership.ofUnknownRank(0));
    }

    private static Membership of(List<String> addresses, String... own) {
        List<InetAddress> owned = Stream.of(own).map(MembershipTest::address).toList();
        return Membership.of(addresses.stream().map(MembershipTest::address).toList(), owned::contains);
    }

    private static InetAddress address(String text) {
        return Objects.requireNonNull(NetUtil.createInetAddressFromIpAddressString(text));
    }
}
