package io.weir.sim.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardSocketOptions;
import java.util.Optional;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;

/**
 * Tomcat's protocol handler with access to its connections. The servlet API cannot reset a connection: it
 * ends every exchange with a complete answer or an orderly close. Public because Tomcat instantiates it by
 * its class name.
 */
public final class BreakableHttp11Protocol extends Http11NioProtocol {

    /**
     * Closes the caller's connection with RST. Bytes still in transit may be lost, and the caller sees the
     * reset.
     */
    void reset(String remoteAddress, int remotePort) {
        connection(remoteAddress, remotePort).ifPresent(connection -> {
            try {
                // A linger time of 0 turns the close into a reset.
                connection.getSocket().getIOChannel().setOption(StandardSocketOptions.SO_LINGER, 0);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            connection.close();
        });
    }

    /** Closes the caller's connection with FIN, even in the middle of an answer. */
    void close(String remoteAddress, int remotePort) {
        connection(remoteAddress, remotePort).ifPresent(SocketWrapperBase::close);
    }

    private Optional<SocketWrapperBase<NioChannel>> connection(String remoteAddress, int remotePort) {
        return getEndpoint().getConnections().stream()
                .filter(connection ->
                        connection.getRemotePort() == remotePort && remoteAddress.equals(connection.getRemoteAddr()))
                .findFirst();
    }
}
