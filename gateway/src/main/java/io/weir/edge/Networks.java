package io.weir.edge;

import io.netty.util.NetUtil;
import java.math.BigInteger;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A list of networks as CIDRs: the proxies whose forwarded headers are trusted, or the callers that may use a
 * route. Text patterns are not accepted: in other proxies, patterns that matched more addresses than intended
 * were vulnerabilities. Immutable.
 */
public final class Networks {

    private static final String EXPECTED = "an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8";

    /** The first bytes of an IPv4-mapped IPv6 address, such as {@code ::ffff:10.0.0.1}. */
    private static final byte[] MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};

    private final List<Network> networks;

    private static final class Network {

        private final byte[] address;
        private final int prefixBits;

        Network(byte[] address, int prefixBits) {
            this.address = address;
            this.prefixBits = prefixBits;
        }

        boolean contains(byte[] other) {
            if (other.length != address.length) {
                return false;
            }
            for (int bit = 0; bit < prefixBits; bit += 8) {
                int difference = (address[bit / 8] ^ other[bit / 8]) & 0xff;
                if (difference >> Math.max(0, bit + 8 - prefixBits) != 0) {
                    return false;
                }
            }
            return true;
        }
    }

    private Networks(List<Network> networks) {
        this.networks = networks;
    }

    /**
     * Parses networks. An address without a prefix length is a network of one address.
     *
     * @param property the name of the list, for the error
     * @throws IllegalArgumentException if a network is malformed; the message has its text and the expected
     *     form
     */
    public static Networks of(String property, List<String> cidrs) {
        return new Networks(cidrs.stream().map(cidr -> parse(property, cidr)).toList());
    }

    private static Network parse(String property, String cidr) {
        int slash = cidr.indexOf('/');
        String text = slash < 0 ? cidr : cidr.substring(0, slash);
        byte[] address = text.indexOf('%') >= 0 ? null : NetUtil.createByteArrayFromIpAddressString(text);
        if (address == null) {
            throw malformed(property, cidr, EXPECTED);
        }
        int bits = address.length * 8;
        int prefixBits = slash < 0 ? bits : parsePrefix(property, cidr, slash, bits);
        BigInteger value = new BigInteger(1, address);
        if (value.signum() != 0 && value.getLowestSetBit() < bits - prefixBits) {
            throw malformed(property, cidr, "a network, without bits beyond its prefix length, as in 10.0.0.0/8");
        }
        // Java reads an IPv4-mapped address as the IPv4 address.
        return prefixBits >= MAPPED.length * 8 && Arrays.mismatch(address, MAPPED) == MAPPED.length
                ? new Network(
                        Arrays.copyOfRange(address, MAPPED.length, address.length), prefixBits - MAPPED.length * 8)
                : new Network(address, prefixBits);
    }

    private static int parsePrefix(String property, String cidr, int slash, int maxBits) {
        String digits = cidr.substring(slash + 1);
        int prefixBits = digits.matches("[0-9]{1,3}") ? Integer.parseInt(digits) : maxBits + 1;
        if (prefixBits > maxBits) {
            throw malformed(property, cidr, "a prefix length from 0 to " + maxBits);
        }
        return prefixBits;
    }

    private static IllegalArgumentException malformed(String property, String cidr, String expected) {
        return new IllegalArgumentException(property + ": " + cidr + " (expected: " + expected + ")");
    }

    /** Whether the list has no network. */
    public boolean isEmpty() {
        return networks.isEmpty();
    }

    /** Whether an address belongs to one of the networks; false for null. */
    public boolean contains(@Nullable InetAddress address) {
        if (address == null || networks.isEmpty()) {
            return false;
        }
        byte[] bytes = address.getAddress();
        for (Network network : networks) {
            if (network.contains(bytes)) {
                return true;
            }
        }
        return false;
    }
}
