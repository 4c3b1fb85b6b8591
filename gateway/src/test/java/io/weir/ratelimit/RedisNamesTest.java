package io.weir.ratelimit;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.resource.DefaultEventLoopGroupProvider;
import io.lettuce.core.resource.Transports;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.netty.util.concurrent.EventExecutorGroup;
import io.weir.cluster.ClusterProperties;
import io.weir.testing.NameServer;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RedisNamesTest {

    private static final String OLD = "192.0.2.1";
    private static final String NEW = "192.0.2.2";

    private final NameServer dns = new NameServer(OLD);
    private final EventLoopGroup loops = eventLoops();
    private final AddressResolverGroup<InetSocketAddress> names =
            RedisNames.of(new SingletonDnsServerAddressStreamProvider(ClusterProperties.address(dns.address())));

    private static EventLoopGroup eventLoops() {
        EventExecutorGroup made =
                DefaultEventLoopGroupProvider.createEventLoopGroup(Transports.eventLoopGroupClass(), 1);
        return (EventLoopGroup) made;
    }

    @AfterEach
    void close() {
        names.close();
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
        dns.close();
    }

    private String address() throws Exception {
        return names.getResolver(loops.next())
                .resolve(InetSocketAddress.createUnresolved(NameServer.NAME, 6379))
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .getAddress()
                .getHostAddress();
    }

    /** An answer's time to live is a day. */
    @Test
    void asksAgainForEachConnection() throws Exception {
        assertThat(address()).isEqualTo(OLD);
        dns.resolveTo(NEW);
        assertThat(address()).isEqualTo(NEW);
    }

    @Test
    void asksAgainAfterAFailure() throws Exception {
        dns.fail(DnsResponseCode.NXDOMAIN);
        assertThatThrownBy(this::address)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(UnknownHostException.class);
        dns.resolveTo(NEW);
        assertThat(address()).isEqualTo(NEW);
    }

    /** An answer with many addresses does not fit into a datagram. */
    @Test
    void asksOverTcpForATruncatedAnswer() throws Exception {
        dns.truncate();
        assertThat(address()).isEqualTo(OLD);
    }
}
