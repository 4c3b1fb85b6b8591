package io.weir.wiring;

import io.weir.door.FrontDoor;
import io.weir.edge.ConnectionRegistry;
import io.weir.edge.EdgeProperties;
import io.weir.edge.EdgeServerCustomizer;
import io.weir.edge.ServerTls;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.web.server.Http2;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import reactor.netty.resources.LoopResources;

/**
 * Adds the edge's guards and the front door's screening to the gateway's own server.
 *
 * <p>This class customizes the server's factory, which the management port's context does not inherit. A bean
 * of type {@code NettyServerCustomizer} would guard the management port too.
 */
final class EdgeServer implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory>, AutoCloseable {

    private final EdgeServerCustomizer edge;
    private final SslBundles sslBundles;
    private final EdgeProperties properties;
    private final LoopResources loops;
    private final ObjectProvider<FrontDoor> door;
    private @Nullable ServerTls tls;

    EdgeServer(
            EdgeServerCustomizer edge,
            SslBundles sslBundles,
            EdgeProperties properties,
            LoopResources loops,
            ObjectProvider<FrontDoor> door) {
        this.edge = edge;
        this.properties = properties;
        this.loops = loops;
        this.sslBundles = sslBundles;
        this.door = door;
    }

    /** The callers' connections. */
    ConnectionRegistry connections() {
        return edge.connections();
    }

    /** The TLS of the server; null: it has none, or has not started. */
    @Nullable
    ServerTls tls() {
        return tls;
    }

    /** Releases the certificates. Spring calls it after the server has stopped. */
    @Override
    public void close() {
        if (tls != null) {
            tls.close();
        }
    }

    @Override
    public void customize(NettyReactiveWebServerFactory factory) {
        Ssl ssl = factory.getSsl();
        if (Ssl.isEnabled(ssl)) {
            if (ssl.getBundle() == null && ssl.getCiphers() == null) {
                ssl.setCiphers(CipherSuites.DEFAULT.toArray(String[]::new));
            }
            Http2 http2 = factory.getHttp2();
            boolean speaksHttp2 = http2 != null && http2.isEnabled();
            if (!speaksHttp2) {
                edge.refuseHttp2();
            }
            ServerTls own = ServerTls.of(
                    properties.tlsEngine(),
                    properties.tlsTicketSecret(),
                    ssl,
                    CipherSuites.byDefault(sslBundles),
                    speaksHttp2,
                    loops);
            tls = own;
            factory.addServerCustomizers(own);
            // In place of Spring Boot's TLS.
            factory.setSsl(null);
        }
        factory.addServerCustomizers(edge);
        // Before Spring Boot's own handler. The door needs beans that need the server.
        factory.addRouteProviders(routes -> {
            FrontDoor first = door.getObject();
            return routes.route(request -> true, first::serve);
        });
    }
}
