package io.weir.ratelimit;

import io.lettuce.core.resource.Transports;
import io.netty.channel.socket.SocketChannel;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.resolver.dns.DnsServerAddressStreamProvider;
import io.netty.resolver.dns.DnsServerAddressStreamProviders;
import io.netty.resolver.dns.NoopDnsCache;
import io.netty.resolver.dns.NoopDnsCnameCache;
import java.net.InetSocketAddress;

/**
 * Looks up Redis' name for each new connection. Lettuce's own resolver keeps an answer for its time to live,
 * so that a new connection could lead to the old primary again.
 */
final class RedisNames {

    private RedisNames() {}

    /** A resolver that asks the machine's DNS servers. */
    static AddressResolverGroup<InetSocketAddress> ofMachine() {
        return of(DnsServerAddressStreamProviders.platformDefault());
    }

    /** A resolver that asks these DNS servers. */
    static AddressResolverGroup<InetSocketAddress> of(DnsServerAddressStreamProvider servers) {
        return new DnsAddressResolverGroup(new DnsNameResolverBuilder()
                .datagramChannelType(Transports.datagramChannelClass())
                // TCP, for answers that do not fit into a datagram.
                .socketChannelType(Transports.socketChannelClass().asSubclass(SocketChannel.class))
                .nameServerProvider(servers)
                .resolveCache(NoopDnsCache.INSTANCE)
                .cnameCache(NoopDnsCnameCache.INSTANCE));
    }
}
