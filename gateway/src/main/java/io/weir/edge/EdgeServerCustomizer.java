package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.CleartextHttp2ServerUpgradeHandler;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.weir.drain.Drain;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

/**
 * Adds the gateway's limits and guards to the server for callers. It must run after every other customizer
 * that sets options of the decoder or of HTTP/2, because Reactor Netty replaces those options as a whole.
 */
public final class EdgeServerCustomizer implements NettyServerCustomizer {

    private static final Logger log = LoggerFactory.getLogger(EdgeServerCustomizer.class);

    private static final Set<String> HTTP_1 = Set.of("http/1.1", "http/1.0");
    private static final Set<String> HTTP_1_AND_2 = Set.of("h2", "http/1.1", "http/1.0");

    private final EdgeRules rules;
    private final ConnectionRegistry connections;
    private final ProxyProtocol proxyProtocol;
    private final Networks balancers;
    private volatile Set<String> alpnProtocols = HTTP_1_AND_2;

    /**
     * Creates the customizer of one server.
     *
     * @param properties the limits
     * @param drain decides when connections close
     * @param clients limits the connections of each client
     * @param listener receives connections, and refusals of requests that have no exchange
     * @param shedding refuses requests, and delays new connections, while an event loop is overloaded
     * @param files bounds the connections
     */
    public EdgeServerCustomizer(
            EdgeProperties properties,
            Drain drain,
            ClientLimits clients,
            EdgeListener listener,
            EdgeShedding shedding,
            OpenFiles files) {
        this(
                properties,
                registry(
                        properties.maxConnections(),
                        files.callers(properties.maxConnections()),
                        files,
                        "weir.edge.max-connections",
                        clients),
                drain,
                listener,
                shedding);
    }

    private EdgeServerCustomizer(
            EdgeProperties properties,
            ConnectionRegistry connections,
            Drain drain,
            EdgeListener listener,
            EdgeShedding shedding) {
        this(
                EdgeRules.of(properties, drain, listener, shedding),
                connections,
                properties.proxyProtocol(),
                Networks.of("trusted-proxies", properties.trustedProxies()));
    }

    private EdgeServerCustomizer(
            EdgeRules rules, ConnectionRegistry connections, ProxyProtocol proxyProtocol, Networks balancers) {
        this.rules = rules;
        this.connections = connections;
        this.proxyProtocol = proxyProtocol;
        this.balancers = balancers;
    }

    /** The customizer of the server at {@code redirect-port}: the same rules, and its own connections. */
    public static EdgeServerCustomizer ofRedirects(
            EdgeProperties properties,
            Drain drain,
            ClientLimits clients,
            EdgeListener listener,
            EdgeShedding shedding,
            OpenFiles files) {
        return new EdgeServerCustomizer(
                properties,
                registry(
                        properties.maxRedirectConnections(),
                        files.redirects(properties.maxRedirectConnections()),
                        files,
                        "a tenth of weir.edge.max-connections",
                        clients),
                drain,
                listener,
                shedding);
    }

    /**
     * The customizer of the management port: the same guards, with fixed limits and its own connections. It
     * serves on during the gateway's shutdown.
     */
    public static EdgeServerCustomizer ofManagement() {
        int connections = OpenFiles.ofProcess().management();
        int perClient = connections / 2;
        return new EdgeServerCustomizer(
                EdgeRules.ofManagement(),
                new ConnectionRegistry(
                        connections,
                        connections + " to the management port",
                        ClientLimits.ofConnections(perClient, "at most " + perClient + " to the management port")),
                ProxyProtocol.OFF,
                Networks.of("trusted-proxies", List.of()));
    }

    /**
     * The registry of a port for callers.
     *
     * @param configured the limit in the configuration, and {@code rule} its name
     * @param possible the limit for which there are files
     */
    private static ConnectionRegistry registry(
            int configured, int possible, OpenFiles files, String rule, ClientLimits clients) {
        if (configured == possible) {
            return new ConnectionRegistry(configured, rule, clients);
        }
        log.warn(
                "At most {} connections, not {} ({}): the process may open {} files (ulimit -n)",
                possible,
                configured,
                rule,
                files.limit());
        return new ConnectionRegistry(possible, "their share of ulimit -n " + files.limit(), clients);
    }

    /** The callers' connections. */
    public ConnectionRegistry connections() {
        return connections;
    }

    /** Refuses TLS clients that offer HTTP/2 only: the server does not speak it. Called before the start. */
    public void refuseHttp2() {
        alpnProtocols = HTTP_1;
    }

    @Override
    public HttpServer apply(HttpServer server) {
        return server.httpRequestDecoder(spec -> spec.maxInitialLineLength(rules.maxUriLength())
                        .maxHeaderSize(rules.maxHeaderSize())
                        .validateHeaders(true)
                        .allowDuplicateContentLengths(false)
                        .h2cMaxContentLength(0))
                .http2Settings(settings -> settings.maxConcurrentStreams(rules.maxConcurrentStreams())
                        .maxHeaderListSize(rules.maxHeaderListSize())
                        // Http2FrameBudget limits resets.
                        .maxDecodedRstFramesPerWindow(0, 0)
                        .maxEncodedRstFramesPerWindow(0, 0))
                .option(ChannelOption.RECVBUF_ALLOCATOR, AcceptLimiter.allocator())
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childObserve(new UncaughtErrors())
                .doOnBound(bound -> bound.channel().pipeline().addFirst(new AcceptLimiter(rules.shedding())))
                .doOnChannelInit((observer, channel, remote) -> guard(channel));
    }

    private void guard(Channel channel) {
        CallerConnection connection = connections.register(channel, rules);
        if (connection == null) {
            return;
        }
        connection.setTimeout(rules.headTimeoutNanos());
        ChannelPipeline pipeline = channel.pipeline();
        if (pipeline.get(NettyPipeline.SslHandler) != null) {
            pipeline.addBefore(NettyPipeline.SslHandler, null, new HandshakeGate(rules.shedding()));
            pipeline.addBefore(NettyPipeline.SslHandler, null, new AlpnCheck(connection, alpnProtocols));
            pipeline.addAfter(NettyPipeline.SslHandler, null, flushOncePerIteration());
            pipeline.addAfter(NettyPipeline.SslHandler, null, new HandshakeEvents(connection));
        }
        if (!GuardInstaller.install(pipeline, connection)) {
            pipeline.addBefore(NettyPipeline.ReactiveBridge, null, new GuardInstaller(connection));
        }
        if (pipeline.get(CleartextHttp2ServerUpgradeHandler.class) != null) {
            pipeline.addFirst(new Http2Scanner(connection));
        }
        if (proxyProtocol != ProxyProtocol.OFF) {
            expectProxyHeader(pipeline, connection);
        }
    }

    /**
     * The buffers of one read from a backend become full TLS records, and one write to the socket: Reactor
     * Netty flushes each of them. An answer of 50 MB over HTTP/1.1 takes a tenth less processor time.
     */
    private static ChannelHandler flushOncePerIteration() {
        boolean alsoOutsideReads = true;
        return new FlushConsolidationHandler(
                FlushConsolidationHandler.DEFAULT_EXPLICIT_FLUSH_AFTER_FLUSHES, alsoOutsideReads);
    }

    private void expectProxyHeader(ChannelPipeline pipeline, CallerConnection connection) {
        boolean isRequired = proxyProtocol == ProxyProtocol.REQUIRED;
        if (connection.remote() instanceof InetSocketAddress peer && balancers.contains(peer.getAddress())) {
            ProxyHeaderHandler.install(pipeline, connection, isRequired);
        } else if (isRequired) {
            ProxyHeaderHandler.refuseOtherPeer(connection);
        }
    }
}
