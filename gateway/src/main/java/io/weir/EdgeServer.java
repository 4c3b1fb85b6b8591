package io.weir;

import io.weir.door.FrontDoor;
import io.weir.edge.ConnectionRegistry;
import io.weir.edge.EdgeServerCustomizer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/**
 * Puts the edge's guards, and the front door's second look, into the gateway's own server.
 *
 * <p>As a customizer of the factory, which the management port's context does not inherit; a bean that customizes servers would guard that port too.
 */
final class EdgeServer implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory> {

    private final EdgeServerCustomizer edge;
    private final ObjectProvider<FrontDoor> door;

    EdgeServer(EdgeServerCustomizer edge, ObjectProvider<FrontDoor> door) {
        this.edge = edge;
        this.door = door;
    }

    /** The callers' connections. */
    ConnectionRegistry connections() {
        return edge.connections();
    }

    @Override
    public void customize(NettyReactiveWebServerFactory factory) {
        factory.addServerCustomizers(
                edge,
                server -> server.mapHandle(
                        (handled, connection) -> door.getObject().refuseUnparsableTarget(handled, connection)));
    }
}
