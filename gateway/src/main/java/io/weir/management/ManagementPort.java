package io.weir.management;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether the configured management port is safe, at the start and when a configuration is validated.
 */
public final class ManagementPort {

    private ManagementPort() {}

    /**
     * The problem of a configuration, in one sentence; null: none.
     *
     * @param hasToken whether {@code weir.management} has a token
     * @param address {@code management.server.address}; null: not set, which means every address of the
     *     machine
     * @param port {@code management.server.port}; null: not set, which means the gateway's own; below 0:
     *     no management port
     * @param serverPort {@code server.port}
     */
    public static @Nullable String problem(
            boolean hasToken, @Nullable InetAddress address, @Nullable Integer port, int serverPort) {
        if (port != null && port < 0) {
            return null;
        }
        if (port == null || (port == serverPort && port != 0)) {
            return "management.server.port: " + (port == null ? "not set" : port)
                    + " (expected: a port of its own, so that callers of the gateway cannot reach its management)";
        }
        if (!hasToken && (address == null || !address.isLoopbackAddress())) {
            return "management.server.address: "
                    + (address == null ? "not set, which is every address" : address.getHostAddress())
                    + " (expected: a loopback address as long as weir.management.token is not set)";
        }
        return null;
    }
}
