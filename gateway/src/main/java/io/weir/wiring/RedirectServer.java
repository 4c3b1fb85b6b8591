package io.weir.wiring;

import io.weir.door.HttpsRedirect;
import io.weir.edge.ConnectionRegistry;
import io.weir.edge.EdgeServerCustomizer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.context.SmartLifecycle;
import reactor.netty.ChannelBindException;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/**
 * The server at {@code weir.edge.redirect-port}. It speaks HTTP/1 only, and has the guards of the edge.
 *
 * <p>It starts after the gateway's own server, whose port it may have to name, and stops before it.
 */
final class RedirectServer implements SmartLifecycle {

    private static final Duration STOP_TIMEOUT = Duration.ofSeconds(2);

    private final EdgeServerCustomizer edge;
    private final LoopResources loops;
    private final @Nullable InetAddress address;
    private final int port;
    private final Supplier<HttpsRedirect> redirect;
    private volatile @Nullable DisposableServer server;

    /**
     * A server that is not started.
     *
     * @param edge its guards
     * @param loops the gateway's event loops
     * @param address the address to listen at; null: all addresses
     * @param port 0: any free port
     * @param redirect supplies the handler of requests, when the server starts
     */
    RedirectServer(
            EdgeServerCustomizer edge,
            LoopResources loops,
            @Nullable InetAddress address,
            int port,
            Supplier<HttpsRedirect> redirect) {
        this.edge = edge;
        this.loops = loops;
        this.address = address;
        this.port = port;
        this.redirect = redirect;
    }

    /** The callers' connections. */
    ConnectionRegistry connections() {
        return edge.connections();
    }

    /** The port in use; 0 before the start. */
    int port() {
        DisposableServer bound = server;
        return bound == null ? 0 : bound.port();
    }

    @Override
    public void start() {
        HttpServer plain = HttpServer.create()
                .runOn(loops)
                .bindAddress(() -> new InetSocketAddress(address, port))
                .protocol(HttpProtocol.HTTP11);
        try {
            server = edge.apply(plain).handle(redirect.get()).bindNow();
        } catch (ChannelBindException e) {
            throw new PortInUseException(port, e);
        }
    }

    @Override
    public void stop() {
        DisposableServer bound = server;
        server = null;
        if (bound != null) {
            bound.disposeNow(STOP_TIMEOUT);
        }
    }

    @Override
    public boolean isRunning() {
        return server != null;
    }

    @Override
    public int getPhase() {
        // The gateway's own server has DEFAULT_PHASE - 2048.
        return DEFAULT_PHASE - 1024;
    }
}
