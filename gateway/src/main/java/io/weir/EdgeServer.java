package io.weir;

import io.weir.door.FrontDoor;
import io.weir.edge.ConnectionRegistry;
import io.weir.edge.EdgeServerCustomizer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.web.server.Http2;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/**
 * Adds the edge's guards and the front door's screening to the gateway's own server.
 *
 * <p>This class customizes the server's factory, which the management port's context does not inherit. A bean
 * of type {@code NettyServerCustomizer} would guard the management port too.
 */
final class EdgeServer implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory> {

    private final EdgeServerCustomizer edge;
    private final SslBundles sslBundles;
    private final ObjectProvider<FrontDoor> door;

    EdgeServer(EdgeServerCustomizer edge, SslBundles sslBundles, ObjectProvider<FrontDoor> door) {
        this.edge = edge;
        this.sslBundles = sslBundles;
        this.door = door;
    }

    /** The callers' connections. */
    ConnectionRegistry connections() {
        return edge.connections();
    }

    @Override
    public void customize(NettyReactiveWebServerFactory factory) {
        Ssl ssl = factory.getSsl();
        if (Ssl.isEnabled(ssl)) {
            if (ssl.getBundle() == null && ssl.getCiphers() == null) {
                ssl.setCiphers(CipherSuites.DEFAULT.toArray(String[]::new));
            }
            factory.setSslBundles(CipherSuites.byDefault(sslBundles));
            Http2 http2 = factory.getHttp2();
            if (http2 == null || !http2.isEnabled()) {
                edge.refuseHttp2();
            }
        }
        factory.addServerCustomizers(edge);
        // Before Spring Boot's own handler. The door needs beans that need the server.
        factory.addRouteProviders(routes -> {
            FrontDoor first = door.getObject();
            return routes.route(request -> true, first::serve);
        });
    }
}
