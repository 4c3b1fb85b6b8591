package io.weir.fleet;

import io.netty.util.NetUtil;
import io.weir.cluster.GatewayAddresses;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The gateways of the fleet, according to DNS.
 *
 * @param own this gateway's address; null: not known
 * @param others the addresses to ask; this gateway's may be among them if it is not known
 * @param unasked gateways that are not asked, each with the reason
 */
public record Members(@Nullable String own, List<InetAddress> others, List<PeerReply> unasked) {

    /** The largest number of other gateways that are asked. */
    static final int MAX_OTHERS = 256;

    /** This gateway is the fleet. */
    public static final Members ALONE = new Members(null, List.of(), List.of());

    /** Copies the lists. */
    public Members {
        others = List.copyOf(others);
        unasked = List.copyOf(unasked);
    }

    /**
     * The gateways of a DNS name.
     *
     * @param name the name
     * @param known its addresses; null: DNS has not answered yet
     */
    public static Members of(String name, @Nullable GatewayAddresses known) {
        if (known == null) {
            return new Members(
                    null, List.of(), List.of(PeerReply.unasked(name, "DNS has not resolved " + name + " yet")));
        }
        List<InetAddress> others = known.others();
        List<PeerReply> unasked = new ArrayList<>();
        for (InetAddress beyond : others.subList(Math.min(MAX_OTHERS, others.size()), others.size())) {
            unasked.add(PeerReply.unasked(
                    NetUtil.toAddressString(beyond), "not asked: more than " + MAX_OTHERS + " gateways"));
        }
        InetAddress own = known.own();
        return new Members(
                own == null ? null : NetUtil.toAddressString(own),
                others.subList(0, others.size() - unasked.size()),
                unasked);
    }
}
