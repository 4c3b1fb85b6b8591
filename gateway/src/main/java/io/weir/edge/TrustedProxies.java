package io.weir.edge;

import io.netty.util.NetUtil;
import java.math.BigInteger;
import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The networks of proxies whose forwarded headers are trusted, as CIDRs. Text patterns are not accepted: in
 * other proxies, patterns that matched more addresses than intended were vulnerabilities. Immutable.
 */
public final class TrustedProxies {

    private static final String EXPECTED = "an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8";

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

    private TrustedProxies(List<Network> networks) {
        this.networks = networks;
    }

    /**
     * Parses networks. An address without a prefix length is a network of one address.
     *
     * @throws IllegalArgumentException if a network is malformed; the message has its text and the expected
     *     form
     */
    public static TrustedProxies of(List<String> cidrs) {
        return new TrustedProxies(cidrs.stream().map(TrustedProxies::parse).toList());
    }

    private static Network parse(String cidr) {
        int slash = cidr.indexOf('/');
        String text = slash < 0 ? cidr : cidr.substring(0, slash);
        byte[] address = text.indexOf('%') >= 0 ? null : NetUtil.createByteArrayFromIpAddressString(text);
        if (address == null) {
            throw malformed(cidr, EXPECTED);
        }
        int bits = address.length * 8;
        int prefixBits = slash < 0 ? bits : parsePrefix(cidr, cidr.substring(slash + 1), bits);
        BigInteger value = new BigInteger(1, address);
        if (value.signum() != 0 && value.getLowestSetBit() < bits - prefixBits) {
            throw malformed(cidr, "a network, without bits beyond its prefix length, as in 10.0.0.0/8");
        }
        return new Network(address, prefixBits);
    }

    private static int parsePrefix(String cidr, String digits, int maxBits) {
        int prefixBits = digits.matches("[0-9]{1,3}") ? Integer.parseInt(digits) : maxBits + 1;
        if (prefixBits > maxBits) {
            throw malformed(cidr, "a prefix length from 0 to " + maxBits);
        }
        return prefixBits;
    }

    private static IllegalArgumentException malformed(String cidr, String expected) {
        return new IllegalArgumentException("trusted-proxies: " + cidr + " (expected: " + expected + ")");
    }

    /** Whether no proxy is trusted. */
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
