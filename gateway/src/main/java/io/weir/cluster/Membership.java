package io.weir.cluster;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.function.Predicate;

/**
 * The number of gateways, and this gateway's rank among them.
 *
 * @param gateways the number of gateways; at least 1
 * @param rank this gateway's place in the order of all gateways' addresses, from 0; {@link #UNKNOWN_RANK}:
 *     not known
 */
public record Membership(int gateways, int rank) {

    /** The rank of a gateway whose own address is not known to be among the gateways' addresses. */
    public static final int UNKNOWN_RANK = -1;

    /** The only gateway. */
    public static final Membership ALONE = new Membership(1, 0);

    private static final Comparator<InetAddress> BY_ADDRESS =
            (one, other) -> Arrays.compareUnsigned(one.getAddress(), other.getAddress());

    /** One gateway of several, of unknown rank. */
    public static Membership ofUnknownRank(int gateways) {
        return new Membership(gateways, UNKNOWN_RANK);
    }

    public Membership {
        if (gateways < 1 || rank < UNKNOWN_RANK || rank >= gateways) {
            throw new IllegalArgumentException(
                    "rank: " + rank + " of " + gateways + " (expected: -1 to one less than the gateways, at least 1)");
        }
    }

    /**
     * The membership according to DNS. A gateway with addresses of both families counts once: the family with
     * more addresses counts, IPv4 if both have as many.
     *
     * @param addresses the addresses of all gateways; at least one, in any order
     * @param isOwn whether an address is this gateway's
     */
    static Membership of(Collection<InetAddress> addresses, Predicate<InetAddress> isOwn) {
        List<InetAddress> gateways = ordered(addresses);
        List<InetAddress> own = gateways.stream().filter(isOwn).toList();
        // If several of the addresses are this machine's, it is not known which of them is this gateway's.
        return new Membership(gateways.size(), own.size() == 1 ? gateways.indexOf(own.getFirst()) : UNKNOWN_RANK);
    }

    /** One address for each gateway, of one family, in the order of their ranks. */
    static List<InetAddress> ordered(Collection<InetAddress> addresses) {
        List<InetAddress> ipv4 = new ArrayList<>();
        List<InetAddress> ipv6 = new ArrayList<>();
        new LinkedHashSet<>(addresses).forEach(address -> (address instanceof Inet4Address ? ipv4 : ipv6).add(address));
        List<InetAddress> gateways = ipv4.size() >= ipv6.size() ? ipv4 : ipv6;
        gateways.sort(BY_ADDRESS);
        return gateways;
    }
}
