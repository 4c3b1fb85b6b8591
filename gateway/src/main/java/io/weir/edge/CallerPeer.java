package io.weir.edge;

import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** The other end of a caller's connection. */
public final class CallerPeer {

    private CallerPeer() {}

    /**
     * The address of a request's peer: the one in the PROXY protocol's header, or the connection's. An
     * address without {@link InetSocketAddress#getAddress} is that of a caller that the header does not name.
     * Null if the connection was closed before its address was known.
     */
    public static @Nullable InetSocketAddress of(Channel channel) {
        return CallerConnection.remote(channel) instanceof InetSocketAddress peer ? peer : null;
    }
}
