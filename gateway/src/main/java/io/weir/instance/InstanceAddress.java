package io.weir.instance;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The address of an instance. Instances with equal addresses, weights and tiers are the same instance.
 *
 * @param uri scheme, host and port, as requests name them in {@code Host}, SNI and the check of the
 *     certificate
 * @param weight share of the traffic relative to the other weights; 1 or more
 * @param isBackup whether it gets calls only while no other instance can take them
 * @param resolved the network address of the host; null: each new connection resolves the host
 * @param isKnown whether connections can be opened; false: no address of the host is known yet
 */
public record InstanceAddress(
        URI uri, int weight, boolean isBackup, @Nullable InetAddress resolved, boolean isKnown) {

    /** An address whose host is resolved by each new connection; a literal address needs no resolution. */
    public static InstanceAddress of(URI uri, int weight) {
        return of(uri, weight, false);
    }

    /** An address of a primary or a backup, whose host is resolved by each new connection. */
    public static InstanceAddress of(URI uri, int weight, boolean isBackup) {
        return new InstanceAddress(uri, weight, isBackup, null, true);
    }

    /** One of the network addresses of the URI's host. */
    public static InstanceAddress resolved(URI uri, InetAddress address) {
        return new InstanceAddress(uri, 1, false, address, true);
    }

    /** Stands for the addresses of a host while none is known: each call fails at once. */
    public static InstanceAddress unknown(URI uri) {
        return new InstanceAddress(uri, 1, false, null, false);
    }

    /** Whether connections to this address lead to the same instance. */
    boolean isSameAs(InstanceAddress other) {
        return uri.equals(other.uri)
                && isKnown == other.isKnown
                && (resolved == null ? other.resolved == null : resolved.equals(other.resolved));
    }

    /** The same address with another weight, or in another tier. */
    InstanceAddress with(int otherWeight, boolean isOtherBackup) {
        return new InstanceAddress(uri, otherWeight, isOtherBackup, resolved, isKnown);
    }

    /** The address that connections lead to, for display; it tells the instances of a backend apart. */
    public URI shown() {
        InetAddress address = resolved;
        if (address == null) {
            return uri;
        }
        String host = NetUtil.toAddressString(address);
        try {
            return new URI(
                    uri.getScheme(),
                    null,
                    host.contains(":") ? '[' + host + ']' : host,
                    uri.getPort(),
                    uri.getRawPath(),
                    null,
                    null);
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("address: " + host + " (expected: the host of a URI)", e);
        }
    }

    /** Whether connections use TLS. */
    public boolean isSecure() {
        return "https".equals(uri.getScheme().toLowerCase(Locale.ROOT));
    }

    /** The socket address of connections. It has the name of the host, for SNI. */
    public InetSocketAddress socketAddress() {
        int port = uri.getPort() != -1 ? uri.getPort() : isSecure() ? 443 : 80;
        InetAddress address = resolved;
        if (address == null) {
            return InetSocketAddress.createUnresolved(uri.getHost(), port);
        }
        try {
            return new InetSocketAddress(InetAddress.getByAddress(uri.getHost(), address.getAddress()), port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("address of a length that is neither IPv4's nor IPv6's", e);
        }
    }
}
