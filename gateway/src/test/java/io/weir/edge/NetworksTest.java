package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NetworksTest {

    @ParameterizedTest
    @CsvSource({
        "10.0.0.0/8,        10.255.0.1,         true",
        "10.0.0.0/8,        11.0.0.1,           false",
        "192.0.2.128/25,    192.0.2.128,        true",
        "192.0.2.128/25,    192.0.2.127,        false",
        "192.0.2.1,         192.0.2.1,          true",
        "192.0.2.1/32,      192.0.2.2,          false",
        "0.0.0.0/0,         203.0.113.9,        true",
        "0.0.0.0/0,         2001:db8::1,        false",
        "2001:db8::/32,     2001:db8:ffff::1,   true",
        "2001:db8::/32,     2001:db9::1,        false",
        "2001:db8::/64,     2001:db8::ffff:1,   true",
        "2001:db8::/64,     2001:db8:0:1::1,    false",
        "2001:db8::8/125,   2001:db8::f,        true",
        "2001:db8::8/125,   2001:db8::10,       false",
        "::1,               ::1,                true",
        "::1,               ::2,                false",
        "::/0,              2001:db8::1,        true",
        "::/0,              192.0.2.1,          false",
        "10.0.0.0/8,        ::ffff:10.0.0.1,    true",
        "::ffff:10.0.0.0/104, 10.255.0.1,       true",
        "::ffff:10.0.0.0/104, 11.0.0.1,         false",
        "::ffff:a00:0/104,  10.255.0.1,         true",
        "::ffff:10.0.0.1,   10.0.0.1,           true",
        "::ffff:10.0.0.1,   10.0.0.2,           false",
        "::ffff:0:0/96,     203.0.113.9,        true",
        "::ffff:0:0/96,     2001:db8::1,        false",
        "fd00::/8,          ff02::1,            false",
        "2001:db8::/32,     ffff:ffff::1,       false",
        "fe80::/10,         febf::1,            true",
        "fe80::/10,         fec0::1,            false",
    })
    void containsAddressesOfItsNetworks(String cidr, String address, boolean contained) throws UnknownHostException {
        assertThat(Networks.of("networks", List.of("198.51.100.0/24", cidr)).contains(InetAddress.getByName(address)))
                .isEqualTo(contained);
    }

    @Test
    void containsNoAddressIfEmpty() {
        Networks none = Networks.of("networks", List.of());

        assertThat(none.isEmpty()).isTrue();
        assertThat(none.contains(InetAddress.getLoopbackAddress())).isFalse();
    }

    @Test
    void doesNotContainAnUnknownAddress() {
        assertThat(Networks.of("networks", List.of("0.0.0.0/0")).contains(null)).isFalse();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '#',
            value = {
                "proxy.example/8# an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8",
                "10.0.0/8# an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8",
                "fe80::1%eth0/64# an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8",
                "10\\.0\\..*# an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8",
                "10.0.0.0/33# a prefix length from 0 to 32",
                "10.0.0.0/# a prefix length from 0 to 32",
                "10.0.0.0/-1# a prefix length from 0 to 32",
                "10.0.0.0/8/8# a prefix length from 0 to 32",
                "fd00::/129# a prefix length from 0 to 128",
                "10.0.0.1/8# a network, without bits beyond its prefix length, as in 10.0.0.0/8",
                "fd00::1/8# a network, without bits beyond its prefix length, as in 10.0.0.0/8",
            })
    void rejectsAMalformedNetworkWithTheExpectedForm(String cidr, String expected) {
        assertThatThrownBy(() -> Networks.of("networks", List.of(cidr)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("networks: " + cidr + " (expected: " + expected.strip() + ")");
    }
}
