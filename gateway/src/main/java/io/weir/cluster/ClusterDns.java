package io.weir.cluster;

import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.resolver.dns.DnsNameResolver;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.resolver.dns.NoopDnsCache;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Queries DNS, on a thread of its own. */
final class ClusterDns implements GatewayCount.Dns {

    /** A query without an answer fails after this time. */
    static final Duration QUERY_TIMEOUT = Duration.ofSeconds(2);

    private final String name;
    private final MultiThreadIoEventLoopGroup group;
    private final EventLoop thread;
    private final DnsNameResolver resolver;

    /**
     * A resolver that has sent no query yet.
     *
     * @param name the name to resolve
     * @param server the DNS server, {@code address:port}; null: the machine's
     */
    ClusterDns(String name, @Nullable String server) {
        this.name = name;
        this.group = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("weir-cluster", true), NioIoHandler.newFactory());
        this.thread = group.next();
        DnsNameResolverBuilder builder = new DnsNameResolverBuilder(thread)
                .datagramChannelType(NioDatagramChannel.class)
                // TCP, for answers that do not fit into a datagram.
                .socketChannelType(NioSocketChannel.class)
                // Each query must return the current addresses.
                .resolveCache(NoopDnsCache.INSTANCE)
                .queryTimeoutMillis(QUERY_TIMEOUT.toMillis());
        if (server != null) {
            builder.nameServerProvider(new SingletonDnsServerAddressStreamProvider(ClusterProperties.address(server)));
        }
        this.resolver = builder.build();
    }

    @Override
    public EventLoop thread() {
        return thread;
    }

    @Override
    public Future<List<InetAddress>> addresses() {
        return resolver.resolveAll(name);
    }

    @Override
    public void close() {
        resolver.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(1, TimeUnit.SECONDS);
    }
}
