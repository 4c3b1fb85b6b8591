package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.netty.NettyPipeline;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpConnectionPoolMetrics;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/** A backend's own connections, and the client that uses them. Thread-safe. */
public final class Pool {

    private static final int MAX_ANSWER_HEAD_BYTES = 65_536;
    private static final Duration EVICTION_INTERVAL = Duration.ofSeconds(1);

    private final ConnectionProvider provider;
    private final HttpClient client;
    private final int headroom;
    private final AtomicInteger maxConnections;
    private final AtomicReference<@Nullable ConnectionPoolMetrics> metrics = new AtomicReference<>();

    /**
     * A pool without connections yet.
     *
     * @param name the backend's name
     * @param uri where the backend is
     * @param permits calls and streams that may be under way at once
     * @param tls for an {@code https} backend, with the protocol {@linkplain UpstreamProtocol#offeredBy offered}; null: the JVM's trust store
     * @param loops the event loops, those of the server
     */
    public Pool(
            String name,
            URI uri,
            UpstreamProtocol protocol,
            ConnectionProperties properties,
            int permits,
            @Nullable SslContext tls,
            LoopResources loops) {
        this.headroom = properties.headroom();
        this.maxConnections = new AtomicInteger(permits + headroom);
        this.provider = ConnectionProvider.builder("weir-" + name)
                .maxConnections(maxConnections.get())
                .allocationStrategy(new Room(maxConnections))
                // Requests wait for permits, not here; room for the moment between a permit's return and its
                // connection's.
                .pendingAcquireMaxCount(headroom)
                .pendingAcquireTimeout(properties.connectTimeout())
                .maxIdleTime(properties.maxIdle())
                .maxLifeTime(properties.maxLife())
                .evictInBackground(EVICTION_INTERVAL)
                .lifo()
                .metrics(true, () -> new Registrar(metrics))
                .build();
        boolean secure = "https".equals(uri.getScheme().toLowerCase(Locale.ROOT));
        InetSocketAddress address = InetSocketAddress.createUnresolved(uri.getHost(), port(uri, secure));
        int connectMillis = Math.toIntExact(properties.connectTimeout().toMillis());
        HttpClient configured = HttpClient.create(provider)
                .remoteAddress(() -> address)
                .runOn(loops)
                .disableRetry(true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMillis)
                .option(ChannelOption.TCP_NODELAY, true)
                .httpResponseDecoder(spec -> spec.maxHeaderSize(MAX_ANSWER_HEAD_BYTES))
                .protocol(protocol(protocol, secure))
                .doOnChannelInit((observer, channel, remote) -> {
                    if (protocol == UpstreamProtocol.HTTP1) {
                        dropInformational(channel);
                    }
                });
        if (protocol == UpstreamProtocol.H2) {
            // Each request has a channel of its own, and that is where its answer passes.
            configured = configured.doOnRequest((request, stream) -> dropInformational(stream.channel()));
        }
        this.client = secure ? secured(configured, tls == null ? tls(protocol) : tls, properties) : configured;
    }

    private static void dropInformational(Channel channel) {
        channel.pipeline().addBefore(NettyPipeline.ReactiveBridge, "weir.informational", new InformationalFilter());
    }

    private static HttpClient secured(HttpClient client, SslContext tls, ConnectionProperties properties) {
        return client.secure(spec -> spec.sslContext(tls).handshakeTimeout(properties.connectTimeout()));
    }

    /** With the JVM's trust store. */
    private static SslContext tls(UpstreamProtocol protocol) {
        try {
            return protocol == UpstreamProtocol.HTTP1
                    ? reactor.netty.tcp.SslProvider.defaultClientProvider().getSslContext()
                    : protocol.offeredBy(SslContextBuilder.forClient()).build();
        } catch (SSLException e) {
            throw new IllegalStateException("the JVM's TLS cannot be used: " + e.getMessage(), e);
        }
    }

    /** The client; a request through it uses one connection of this pool. */
    public HttpClient client() {
        return client;
    }

    /** Connections that may be open at once. */
    public int maxConnections() {
        return maxConnections.get();
    }

    /**
     * Makes room for the connections of more calls and streams at once. It never shrinks: fewer permits let fewer in
     * by themselves, and the calls that are in may still need a connection.
     */
    public void makeRoom(int permits) {
        maxConnections.accumulateAndGet(permits + headroom, Math::max);
    }

    /** Connections in use. Over HTTP/2, where calls share them: all that are open, while any call is under way. */
    public int acquired() {
        return switch (metrics.get()) {
            case null -> 0;
            case HttpConnectionPoolMetrics shared -> shared.activeStreamSize() == 0 ? 0 : shared.allocatedSize();
            case ConnectionPoolMetrics current -> current.acquiredSize();
        };
    }

    /** Connections open and not in use. */
    public int idle() {
        return switch (metrics.get()) {
            case null -> 0;
            case HttpConnectionPoolMetrics shared -> shared.activeStreamSize() == 0 ? shared.allocatedSize() : 0;
            case ConnectionPoolMetrics current -> current.idleSize();
        };
    }

    /** Requests that wait for a connection. More than a moment's is a defect. */
    public int pending() {
        ConnectionPoolMetrics current = metrics.get();
        return current == null ? 0 : current.pendingAcquireSize();
    }

    /** Closes the idle connections now, and those in use when they are given back. */
    public Mono<Void> close() {
        return provider.disposeLater();
    }

    private static int port(URI uri, boolean secure) {
        if (uri.getPort() != -1) {
            return uri.getPort();
        }
        return secure ? 443 : 80;
    }

    private static HttpProtocol protocol(UpstreamProtocol protocol, boolean secure) {
        if (protocol == UpstreamProtocol.HTTP1) {
            return HttpProtocol.HTTP11;
        }
        return secure ? HttpProtocol.H2 : HttpProtocol.H2C;
    }

    /**
     * The room for connections, which can change while they are open; Reactor Netty's own cannot. One for each address
     * that a name resolves to, as it is with Reactor Netty's own.
     */
    // Concurrency: `granted` is the only state. Who reads a limit that has just grown came before it did.
    private static final class Room implements ConnectionProvider.AllocationStrategy<Room> {

        private final AtomicInteger limit;
        private final AtomicInteger granted = new AtomicInteger();

        Room(AtomicInteger limit) {
            this.limit = limit;
        }

        @Override
        public Room copy() {
            return new Room(limit);
        }

        @Override
        public int estimatePermitCount() {
            return Math.max(0, limit.get() - granted.get());
        }

        @Override
        public int getPermits(int desired) {
            int inForce = limit.get();
            int before = granted.getAndUpdate(now -> now + room(inForce, now, desired));
            return room(inForce, before, desired);
        }

        private static int room(int limit, int granted, int desired) {
            return Math.clamp((long) limit - granted, 0, desired);
        }

        @Override
        public int permitGranted() {
            return granted.get();
        }

        @Override
        public int permitMinimum() {
            return 0;
        }

        @Override
        public int permitMaximum() {
            return limit.get();
        }

        @Override
        public void returnPermits(int returned) {
            granted.addAndGet(-returned);
        }
    }

    /** Takes the pool's figures from where Reactor Netty publishes them. */
    private record Registrar(AtomicReference<@Nullable ConnectionPoolMetrics> metrics)
            implements ConnectionProvider.MeterRegistrar {

        @Override
        public void registerMetrics(
                String poolName, String id, java.net.SocketAddress remoteAddress, ConnectionPoolMetrics registered) {
            // HTTP/2's pool registers first, and then the one that it takes its connections from, and never gives them
            // back to.
            metrics.updateAndGet(first -> first instanceof HttpConnectionPoolMetrics ? first : registered);
        }

        @Override
        public void deRegisterMetrics(String poolName, String id, java.net.SocketAddress remoteAddress) {
            metrics.set(null);
        }
    }
}
