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
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many gateways there are, as DNS has them.
 *
 * <p>One thread of its own asks, and tells when the number is another one. What DNS does not know leaves it as it was.
 */
// Concurrency: all but the figures that are shown is confined to the thread.
public final class GatewayCount implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(GatewayCount.class);
    private static final Duration QUERY_TIMEOUT = Duration.ofSeconds(2);

    private final String name;
    private final Duration refreshInterval;
    private final IntConsumer changed;
    private final MultiThreadIoEventLoopGroup thread;
    private final DnsNameResolver resolver;
    private final CountDownLatch asked = new CountDownLatch(1);
    private final AtomicLong failures = new AtomicLong();
    private volatile int gateways;
    private boolean isFailing;

    /**
     * Starts to count, and waits for the first answer, or for DNS to have none.
     *
     * @param name what to ask DNS for
     * @param changed is told when the number is another one, on a thread of this object's
     */
    public GatewayCount(String name, ClusterProperties properties, IntConsumer changed) {
        this.name = name;
        this.refreshInterval = properties.refreshInterval();
        this.changed = changed;
        this.thread = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("weir-cluster", true), NioIoHandler.newFactory());
        EventLoop loop = thread.next();
        DnsNameResolverBuilder builder = new DnsNameResolverBuilder(loop)
                .datagramChannelType(NioDatagramChannel.class)
                // For answers that do not fit into a datagram.
                .socketChannelType(NioSocketChannel.class)
                // What is asked for is what is there now.
                .resolveCache(NoopDnsCache.INSTANCE)
                .queryTimeoutMillis(QUERY_TIMEOUT.toMillis());
        String server = properties.dnsServer();
        if (server != null) {
            builder.nameServerProvider(new SingletonDnsServerAddressStreamProvider(address(server)));
        }
        this.resolver = builder.build();
        loop.execute(this::ask);
        awaitFirst();
    }

    /** Gateways that DNS had when it last answered; 0: it has not yet. */
    public int gateways() {
        return gateways;
    }

    /** How often DNS did not answer, or had nobody. */
    public long failures() {
        return failures.get();
    }

    @Override
    public void close() {
        resolver.close();
        thread.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(1, TimeUnit.SECONDS);
    }

    private void awaitFirst() {
        try {
            if (!asked.await(QUERY_TIMEOUT.toMillis() * 2, TimeUnit.MILLISECONDS)) {
                log.warn("DNS has not answered for {} yet", name);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ask() {
        resolver.resolveAll(name).addListener((Future<List<InetAddress>> answer) -> {
            if (answer.isSuccess()) {
                found(count(answer.getNow()));
            } else {
                failed(answer.cause());
            }
            asked.countDown();
            if (!thread.isShuttingDown()) {
                var _ = thread.schedule(this::ask, refreshInterval.toMillis(), TimeUnit.MILLISECONDS);
            }
        });
    }

    private void found(int count) {
        isFailing = false;
        if (count != gateways) {
            log.info("{} gateways share the limits of scope cluster, after {}", count, gateways);
            gateways = count;
            changed.accept(count);
        }
    }

    private void failed(Throwable cause) {
        failures.incrementAndGet();
        if (!isFailing) {
            isFailing = true;
            log.warn("DNS does not tell how many gateways {} are: {}; {} stands", name, cause.getMessage(), gateways);
        }
    }

    /** Where each gateway has an address of both families, it is one gateway all the same. */
    private static int count(List<InetAddress> addresses) {
        Set<InetAddress> distinct = new HashSet<>(addresses);
        int ofFour =
                (int) distinct.stream().filter(Inet4Address.class::isInstance).count();
        return Math.max(ofFour, distinct.size() - ofFour);
    }

    private static InetSocketAddress address(String server) {
        int colon = server.lastIndexOf(':');
        return new InetSocketAddress(server.substring(0, colon), Integer.parseInt(server.substring(colon + 1)));
    }
}
