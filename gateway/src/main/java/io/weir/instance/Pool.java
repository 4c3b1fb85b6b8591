package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http2.DefaultHttp2WindowUpdateFrame;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.ssl.SslContext;
import io.netty.resolver.AddressResolverGroup;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.netty.NettyPipeline;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpConnectionPoolMetrics;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/** A backend's own connections, and the HTTP client that uses them. Thread-safe. */
public final class Pool {

    /** The name of the handler that drops informational answers. */
    static final String INFORMATIONAL_FILTER = "weir.informational";

    private static final String REFUSED_STREAM = "weir.refused-stream";
    private static final String FIELDS_LIMIT = "weir.fields-limit";
    private static final String MISSING_BODY = "weir.missing-body";
    private static final String UNSENT_BODY = "weir.unsent-body";

    private static final AttributeKey<Boolean> IS_WIDE = AttributeKey.valueOf(Pool.class, "isWide");

    /**
     * The size of a buffer of an answer: what a TLS record and an HTTP/2 frame to the caller can hold. With
     * Netty's default, 8 KiB, an answer of 50 MB over TLS takes more processor time: a tenth over HTTP/1.1, a
     * quarter over HTTP/2.
     */
    private static final int BUFFER_BYTES = 16_384;

    private static final HttpDecoderConfig DECODER =
            new HttpDecoderConfig().setMaxHeaderSize(FieldsLimit.MAX_BYTES).setMaxChunkSize(BUFFER_BYTES);
    /**
     * The time for a TLS handshake, unless the connect time-out is longer: a handshake takes processor time
     * at both ends. A call gives up earlier if its deadline is shorter. The handshake then continues for the
     * pool, and holds a connection, so it must not take much longer than the calls.
     */
    private static final Duration MIN_TLS_TIMEOUT = Duration.ofSeconds(1);

    private static final Duration EVICTION_INTERVAL = Duration.ofSeconds(1);

    private final ConnectionProvider provider;
    private final HttpClient client;
    private final Violations violations;
    private final ConnectionFiles files;
    private final int headroom;
    private final AtomicInteger maxConnections;
    private final AtomicBoolean isClosed = new AtomicBoolean();
    private final AtomicReference<@Nullable ConnectionPoolMetrics> metrics = new AtomicReference<>();

    /**
     * A pool without connections yet.
     *
     * @param name the backend's name
     * @param uri the backend's address
     * @param permits the calls and streams that may be under way at once
     * @param tls with the protocol {@linkplain UpstreamProtocol#offeredBy offered}; null: without TLS
     * @param loops the event loops, shared with the server
     */
    public Pool(
            String name,
            URI uri,
            UpstreamProtocol protocol,
            ConnectionProperties properties,
            int permits,
            @Nullable SslContext tls,
            LoopResources loops) {
        this(
                name,
                InstanceAddress.of(uri, 1),
                protocol,
                properties,
                permits,
                tls,
                loops,
                null,
                new Violations(name),
                ConnectionFiles.unbounded());
    }

    /**
     * A pool without connections yet.
     *
     * @param target the instance's address
     * @param resolver resolves the target's host; null: Reactor Netty's
     * @param violations counts what the instance sends against HTTP/1.1
     * @param files the files for the connections of all pools
     */
    public Pool(
            String name,
            InstanceAddress target,
            UpstreamProtocol protocol,
            ConnectionProperties properties,
            int permits,
            @Nullable SslContext tls,
            LoopResources loops,
            @Nullable AddressResolverGroup<InetSocketAddress> resolver,
            Violations violations,
            ConnectionFiles files) {
        this.violations = violations;
        this.files = files;
        this.headroom = properties.headroom();
        this.maxConnections = new AtomicInteger(permits + headroom);
        ConnectionProvider.Builder connections = ConnectionProvider.builder("weir-" + name)
                .maxConnections(maxConnections.get())
                .allocationStrategy(new BoundedAllocation(maxConnections, files.share(protocol)))
                // Requests wait for permits, not for connections. This bound covers the moment between the
                // release of a permit and the release of its connection.
                .pendingAcquireMaxCount(headroom)
                .pendingAcquireTimeout(properties.connectTimeout())
                .maxIdleTime(properties.maxIdle())
                .maxLifeTime(properties.maxLife())
                .evictInBackground(EVICTION_INTERVAL)
                .lifo()
                .metrics(true, () -> new MetricsReceiver(metrics));
        if (protocol == UpstreamProtocol.H2) {
            // It replaces the builder's own limits of time.
            connections.evictionPredicate((connection, use) -> SilentConnection.isSilent(connection.channel())
                    || use.idleTime() >= properties.maxIdle().toMillis()
                    || use.lifeTime() >= properties.maxLife().toMillis());
        }
        this.provider = connections.build();
        files.poolOpened();
        InetSocketAddress address = target.socketAddress();
        int connectMillis = Math.toIntExact(properties.connectTimeout().toMillis());
        HttpClient configured = HttpClient.create(provider)
                .remoteAddress(() -> address)
                .runOn(loops)
                .disableRetry(true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMillis)
                .option(ChannelOption.TCP_NODELAY, true)
                .protocol(protocol(protocol, tls != null))
                .doOnChannelInit((observer, channel, remote) -> {
                    if (protocol == UpstreamProtocol.HTTP1) {
                        AnswerDecoder.install(channel, DECODER.clone(), violations);
                        dropInformational(channel);
                    } else {
                        SilentConnection.watch(channel, properties.connectTimeout());
                    }
                });
        if (protocol == UpstreamProtocol.H2) {
            // Each request has a channel of its own, through which its answer passes.
            configured = configured
                    .http2Settings(settings -> settings.maxHeaderListSize(FieldsLimit.DECODED_BYTES))
                    .doOnRequest((request, stream) -> correct(stream.channel()));
        }
        if (!target.isKnown()) {
            configured = configured.resolver(NoAddressResolver.INSTANCE);
        } else if (resolver != null) {
            configured = configured.resolver(resolver);
        }
        this.client = tls == null ? configured : secured(configured, tls, properties);
    }

    /** Installs the corrections of the answer on the channel of an HTTP/2 request. */
    private void correct(Channel stream) {
        dropInformational(stream);
        stream.pipeline()
                .addBefore(NettyPipeline.ReactiveBridge, REFUSED_STREAM, new RefusedStream())
                .addBefore(NettyPipeline.ReactiveBridge, FIELDS_LIMIT, FieldsLimit.INSTANCE)
                .addBefore(NettyPipeline.ReactiveBridge, MISSING_BODY, new MissingBody())
                .addBefore(NettyPipeline.ReactiveBridge, UNSENT_BODY, new UnsentBody());
        widen(stream.parent());
    }

    private static void dropInformational(Channel channel) {
        channel.pipeline().addBefore(NettyPipeline.ReactiveBridge, INFORMATIONAL_FILTER, new InformationalFilter());
    }

    /**
     * Widens the window of an HTTP/2 connection, once, so that all its streams can fill their own windows.
     * Otherwise one answer that its caller does not read uses up the connection's window, and all other
     * answers of the connection wait for it.
     */
    @SuppressWarnings("FutureReturnValueIgnored") // A connection that has just failed needs no window.
    private void widen(@Nullable Channel connection) {
        if (connection != null && connection.attr(IS_WIDE).setIfAbsent(true) == null) {
            long streams = (long) maxConnections.get() * Http2CodecUtil.DEFAULT_WINDOW_SIZE;
            int more = (int) Math.min(streams, Http2CodecUtil.MAX_INITIAL_WINDOW_SIZE)
                    - Http2CodecUtil.DEFAULT_WINDOW_SIZE;
            connection.writeAndFlush(new DefaultHttp2WindowUpdateFrame(more));
        }
    }

    private static HttpClient secured(HttpClient client, SslContext tls, ConnectionProperties properties) {
        Duration longer = properties.connectTimeout().compareTo(MIN_TLS_TIMEOUT) > 0
                ? properties.connectTimeout()
                : MIN_TLS_TIMEOUT;
        return client.secure(spec -> spec.sslContext(tls).handshakeTimeout(longer));
    }

    /** The client. Each request through it uses one connection of this pool. */
    public HttpClient client() {
        return client;
    }

    /** What the backend has sent against HTTP/1.1. */
    public Violations violations() {
        return violations;
    }

    /** The limit on open connections. */
    public int maxConnections() {
        return maxConnections.get();
    }

    /**
     * Raises the limit on connections for more permits. The limit never shrinks: fewer permits alone reduce
     * the number of calls, and calls that were already admitted may still need a connection.
     */
    public void makeRoom(int permits) {
        maxConnections.accumulateAndGet(permits + headroom, Math::max);
    }

    /**
     * Connections in use. Over HTTP/2, where calls share connections: all open connections while any call is
     * under way.
     */
    public int acquired() {
        return switch (metrics.get()) {
            case null -> 0;
            case HttpConnectionPoolMetrics shared -> shared.activeStreamSize() == 0 ? 0 : shared.allocatedSize();
            case ConnectionPoolMetrics current -> current.acquiredSize();
        };
    }

    /** Open connections that are not in use. */
    public int idle() {
        return switch (metrics.get()) {
            case null -> 0;
            case HttpConnectionPoolMetrics shared -> shared.activeStreamSize() == 0 ? shared.allocatedSize() : 0;
            case ConnectionPoolMetrics current -> current.idleSize();
        };
    }

    /** Requests that wait for a connection. Waiting for more than a moment is a defect. */
    public int pending() {
        ConnectionPoolMetrics current = metrics.get();
        return current == null ? 0 : current.pendingAcquireSize();
    }

    /** Whether the gateway lacks files for further connections. */
    public boolean isShortOfFiles() {
        return files.isShort();
    }

    /** Closes idle connections now, and each connection in use after its request. */
    public Mono<Void> close() {
        return provider.disposeLater().doFirst(() -> {
            if (isClosed.compareAndSet(false, true)) {
                files.poolClosed();
            }
        });
    }

    private static HttpProtocol protocol(UpstreamProtocol protocol, boolean secure) {
        if (protocol == UpstreamProtocol.HTTP1) {
            return HttpProtocol.HTTP11;
        }
        return secure ? HttpProtocol.H2 : HttpProtocol.H2C;
    }

    /** Receives the pool's metrics from Reactor Netty. */
    private record MetricsReceiver(AtomicReference<@Nullable ConnectionPoolMetrics> metrics)
            implements ConnectionProvider.MeterRegistrar {

        @Override
        public void registerMetrics(
                String poolName, String id, java.net.SocketAddress remoteAddress, ConnectionPoolMetrics registered) {
            // Two pools register: first that of HTTP/2, then the pool from which HTTP/2 takes its
            // connections. The second one is ignored, since HTTP/2 never returns connections to it.
            metrics.updateAndGet(first -> first instanceof HttpConnectionPoolMetrics ? first : registered);
        }

        @Override
        public void deRegisterMetrics(String poolName, String id, java.net.SocketAddress remoteAddress) {
            metrics.set(null);
        }
    }
}
