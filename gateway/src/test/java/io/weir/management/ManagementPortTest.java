package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ManagementPortTest {

    private static final boolean OPEN = false;
    private static final boolean GUARDED = true;

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "127.0.0.2", "::1"})
    void requiresNoTokenOnLoopback(String address) {
        assertThat(problem(OPEN, address, 9090)).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "::", "192.0.2.7"})
    void requiresATokenOnOtherAddresses(String address) throws UnknownHostException {
        assertThat(problem(OPEN, address, 9090))
                .isEqualTo("management.server.address: "
                        + InetAddress.getByName(address).getHostAddress()
                        + " (expected: a loopback address as long as weir.management.token is not set)");
        assertThat(problem(GUARDED, address, 9090)).isNull();
    }

    @Test
    void requiresATokenIfNoAddressIsSet() {
        assertThat(problem(OPEN, null, 9090))
                .startsWith("management.server.address: not set, which is every address (expected: a loopback");
        assertThat(problem(GUARDED, null, 9090)).isNull();
    }

    @Test
    void requiresAPortOfItsOwnEvenWithAToken() {
        assertThat(problem(GUARDED, "127.0.0.1", null))
                .startsWith("management.server.port: not set (expected: a port of its own");
        assertThat(problem(GUARDED, "127.0.0.1", 8080))
                .startsWith("management.server.port: 8080 (expected: a port of its own");
    }

    @Test
    void acceptsTwoPortsChosenByTheSystem() {
        assertThat(ManagementPort.problem(OPEN, InetAddress.getLoopbackAddress(), 0, 0))
                .isNull();
    }

    @Test
    void acceptsADisabledPort() {
        assertThat(problem(OPEN, null, -1)).isNull();
    }

    private static @Nullable String problem(boolean hasToken, @Nullable String address, @Nullable Integer port) {
        try {
            InetAddress parsed = address == null ? null : InetAddress.getByName(address);
            return ManagementPort.problem(hasToken, parsed, port, 8080);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }
}
