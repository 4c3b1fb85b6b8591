package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InstanceAddressTest {

    @ParameterizedTest
    @CsvSource({
        "http://orders:8080,  10.0.0.1,  http://10.0.0.1:8080,   8080",
        "https://orders,      10.0.0.1,  https://10.0.0.1,       443",
        "http://orders/,      10.0.0.1,  http://10.0.0.1/,       80",
        "http://orders:8080,  fd00::1,   'http://[fd00::1]:8080', 8080",
    })
    void connectsToTheAddressWithTheNameOfTheHost(String uri, String address, String shown, int port)
            throws UnknownHostException {
        InstanceAddress resolved = InstanceAddress.resolved(URI.create(uri), InetAddress.getByName(address));
        assertThat(resolved.shown()).isEqualTo(URI.create(shown));
        InetSocketAddress socket = resolved.socketAddress();
        assertThat(socket.isUnresolved()).isFalse();
        assertThat(socket.getHostString()).isEqualTo("orders");
        assertThat(socket.getAddress()).isEqualTo(InetAddress.getByName(address));
        assertThat(socket.getPort()).isEqualTo(port);
    }

    @Test
    void leavesTheResolutionToTheConnectionWithoutAnAddress() {
        InstanceAddress listed = InstanceAddress.of(URI.create("http://orders-1:8080"), 2);
        assertThat(listed.shown()).isEqualTo(URI.create("http://orders-1:8080"));
        assertThat(listed.socketAddress().isUnresolved()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "orders,        true",
        "orders.test,   true",
        "LOCALHOST,     false",
        "localhost,     false",
        "127.0.0.1,     false",
        "[::1],         false",
        "10.0.0.1.nip.io, true",
    })
    void asksDnsForNamesOnly(String host, boolean isAsked) {
        assertThat(DnsLookup.appliesTo(host)).isEqualTo(isAsked);
    }
}
