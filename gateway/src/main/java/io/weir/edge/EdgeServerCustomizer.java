package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.CleartextHttp2ServerUpgradeHandler;
import io.weir.drain.Drain;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

/**
 * Puts the gateway's limits and guards into the server that callers connect to. It must come after whatever else sets the decoder's or
 * HTTP/2's options, since Reactor Netty knows them as a whole only.
 */
public final class EdgeServerCustomizer implements NettyServerCustomizer {

    private final EdgeProperties properties;
    private final EdgeRules rules;
    private final ConnectionRegistry connections;

    /**
     * The guard of one server.
     *
     * @param drain tells when connections are to be closed
     * @param listener told of connections, and of what is refused before there is an exchange
     */
    public EdgeServerCustomizer(EdgeProperties properties, Drain drain, EdgeListener listener) {
        this.properties = properties;
        this.rules = EdgeRules.of(properties, drain, listener);
        this.connections = new ConnectionRegistry(properties.maxConnections());
    }

    /** The callers' connections. */
    public ConnectionRegistry connections() {
        return connections;
    }

    @Override
    public HttpServer apply(HttpServer server) {
        return server.httpRequestDecoder(spec -> spec.maxInitialLineLength(rules.maxUriLength())
                        .maxHeaderSize(rules.maxHeaderSize())
                        .validateHeaders(true)
                        .allowDuplicateContentLengths(false)
                        .h2cMaxContentLength(0))
                .http2Settings(settings -> settings.maxConcurrentStreams(properties.maxConcurrentStreams())
                        .maxHeaderListSize(rules.maxHeaderListSize()))
                .childOption(ChannelOption.TCP_NODELAY, true)
                .doOnChannelInit((observer, channel, remote) -> guard(channel));
    }

    private void guard(Channel channel) {
        CallerConnection connection = connections.enter(channel, rules);
        if (connection == null) {
            return;
        }
        connection.expireIn(rules.headNanos());
        ChannelPipeline pipeline = channel.pipeline();
        if (!Arrival.guard(pipeline, connection)) {
            pipeline.addBefore(NettyPipeline.ReactiveBridge, null, new Arrival(connection));
        }
        if (pipeline.get(CleartextHttp2ServerUpgradeHandler.class) != null) {
            pipeline.addFirst(new Http2Framer(connection));
        }
    }
}
