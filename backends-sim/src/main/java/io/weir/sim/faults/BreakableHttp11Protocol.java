package io.weir.sim.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardSocketOptions;
import java.util.Optional;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;

/**
 * Tomcat's own protocol, with a way to its connections. A servlet has none: whatever it does ends in an orderly answer
 * or an orderly close, and never in a reset. Tomcat makes it by its name, so it is public.
 */
public final class BreakableHttp11Protocol extends Http11NioProtocol {

    /** Closes the connection of that caller with RST: what was sent may be lost, and the caller is told so. */
    void reset(String remoteAddress, int remotePort) {
        connection(remoteAddress, remotePort).ifPresent(connection -> {
            try {
                // Lingering for no time makes the close a reset.
                connection.getSocket().getIOChannel().setOption(StandardSocketOptions.SO_LINGER, 0);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            connection.close();
        });
    }

    /** Closes the connection of that caller with FIN, wherever its answer is. */
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
