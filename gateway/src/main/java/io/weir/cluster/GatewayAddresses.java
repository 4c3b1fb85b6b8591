package io.weir.cluster;

import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The addresses of all gateways according to DNS, in the order of their ranks.
 *
 * @param own this gateway's address; null: this gateway's rank is unknown
 * @param others the addresses of the other gateways; if this gateway's rank is unknown, all addresses
 */
public record GatewayAddresses(@Nullable InetAddress own, List<InetAddress> others) {

    /** Copies the list. */
    public GatewayAddresses {
        others = List.copyOf(others);
    }

    /**
     * Splits the addresses.
     *
     * @param ordered the addresses of all gateways, {@linkplain Membership#ordered in order}
     * @param rank this gateway's rank, or {@link Membership#UNKNOWN_RANK}
     */
    static GatewayAddresses of(List<InetAddress> ordered, int rank) {
        if (rank == Membership.UNKNOWN_RANK) {
            return new GatewayAddresses(null, ordered);
        }
        InetAddress own = ordered.get(rank);
        return new GatewayAddresses(
                own, ordered.stream().filter(address -> !address.equals(own)).toList());
    }
}
