package io.weir.edge;

import io.netty.util.NetUtil;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The networks whose forwarded headers are believed.
 *
 * <p>By CIDR and not by pattern: a pattern over text that matches one address too many has been a vulnerability before.
 */
public final class TrustedProxies {

    private static final String EXPECTED = "an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8";

    private final int[] v4Networks;
    private final int[] v4Masks;
    private final List<V6> v6;

    /** A network of IPv6, in two halves. */
    private record V6(long high, long low, long highMask, long lowMask) {

        boolean contains(long addressHigh, long addressLow) {
            return (addressHigh & highMask) == high && (addressLow & lowMask) == low;
        }
    }

    private TrustedProxies(int[] v4Networks, int[] v4Masks, List<V6> v6) {
        this.v4Networks = v4Networks;
        this.v4Masks = v4Masks;
        this.v6 = v6;
    }

    /**
     * Reads networks; an address without a prefix stands for itself.
     *
     * @throws IllegalArgumentException if one is malformed; the message names it and what was expected
     */
    public static TrustedProxies of(List<String> cidrs) {
        List<int[]> v4 = new ArrayList<>();
        List<V6> v6 = new ArrayList<>();
        for (String cidr : cidrs) {
            int slash = cidr.indexOf('/');
            String text = slash < 0 ? cidr : cidr.substring(0, slash);
            byte[] address = text.indexOf('%') >= 0 ? null : NetUtil.createByteArrayFromIpAddressString(text);
            if (address == null) {
                throw refused(cidr, EXPECTED);
            }
            int bits = address.length * 8;
            int prefix = slash < 0 ? bits : prefix(cidr, cidr.substring(slash + 1), bits);
            if (bits == 32) {
                int mask = (int) highMask(prefix, 32);
                int network = (int) number(address, 0, 4);
                requireNoHostBits(cidr, network & ~mask);
                v4.add(new int[] {network, mask});
            } else {
                V6 network = new V6(
                        number(address, 0, 8),
                        number(address, 8, 8),
                        highMask(Math.min(prefix, 64), 64),
                        highMask(Math.max(prefix - 64, 0), 64));
                requireNoHostBits(cidr, (network.high & ~network.highMask) | (network.low & ~network.lowMask));
                v6.add(network);
            }
        }
        return new TrustedProxies(
                v4.stream().mapToInt(network -> network[0]).toArray(),
                v4.stream().mapToInt(network -> network[1]).toArray(),
                List.copyOf(v6));
    }

    /** Whether nobody is trusted. */
    public boolean isEmpty() {
        return v4Networks.length == 0 && v6.isEmpty();
    }

    /** Whether an address is in one of the networks; one that is not known is in none. */
    public boolean contains(@Nullable InetAddress address) {
        if (address == null || isEmpty()) {
            return false;
        }
        if (address instanceof Inet4Address v4) {
            int value = NetUtil.ipv4AddressToInt(v4);
            for (int i = 0; i < v4Networks.length; i++) {
                if ((value & v4Masks[i]) == v4Networks[i]) {
                    return true;
                }
            }
            return false;
        }
        byte[] bytes = address.getAddress();
        long high = number(bytes, 0, 8);
        long low = number(bytes, 8, 8);
        for (V6 network : v6) {
            if (network.contains(high, low)) {
                return true;
            }
        }
        return false;
    }

    private static int prefix(String cidr, String digits, int bits) {
        boolean number =
                !digits.isEmpty() && digits.length() <= 3 && digits.chars().allMatch(c -> c >= '0' && c <= '9');
        int prefix = number ? Integer.parseInt(digits) : -1;
        if (prefix < 0 || prefix > bits) {
            throw refused(cidr, "a prefix length from 0 to " + bits);
        }
        return prefix;
    }

    private static void requireNoHostBits(String cidr, long hostBits) {
        if (hostBits != 0) {
            throw refused(cidr, "a network, without bits beyond its prefix length, as in 10.0.0.0/8");
        }
    }

    /** Ones in the highest places of a number of so many bits. */
    private static long highMask(int ones, int bits) {
        return ones == 0 ? 0 : -1L << (bits - ones);
    }

    private static long number(byte[] bytes, int from, int length) {
        long value = 0;
        for (int i = from; i < from + length; i++) {
            value = value << 8 | (bytes[i] & 0xff);
        }
        return value;
    }

    private static IllegalArgumentException refused(String cidr, String expected) {
        return new IllegalArgumentException("trusted-proxies: " + cidr + " (expected: " + expected + ")");
    }
}
