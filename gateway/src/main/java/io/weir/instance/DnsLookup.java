package io.weir.instance;

import io.netty.resolver.AddressResolver;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.NoopDnsCache;
import io.netty.resolver.dns.NoopDnsCnameCache;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.netty.resources.LoopResources;
import reactor.netty.transport.NameResolverProvider;

/**
 * Looks up all addresses of a host in DNS. Of a host with addresses of both families, those of the family
 * that the resolver prefers are used: IPv4, unless the JVM prefers IPv6. Otherwise a host with one address of
 * each family would count as two instances.
 *
 * @param uri the backend's URI with the host
 * @param resolver the resolver, without a cache: each look-up returns the present addresses
 */
public record DnsLookup(URI uri, AddressResolver<InetSocketAddress> resolver) implements PolledAddresses.Lookup {

    /** Whether the addresses of a host change with DNS: neither a literal address nor {@code localhost}. */
    public static boolean appliesTo(String host) {
        String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        return !bare.toLowerCase(Locale.ROOT).equals("localhost")
                && !NetUtil.isValidIpV4Address(bare)
                && !NetUtil.isValidIpV6Address(bare);
    }

    /**
     * Reactor Netty's own resolver, with its hosts file and search domains, but without a cache.
     *
     * @param loops has the event loop of the queries
     * @param server the DNS server; null: the machine's
     */
    public static AddressResolver<InetSocketAddress> resolver(LoopResources loops, @Nullable InetSocketAddress server) {
        DnsAddressResolverGroup group = NameResolverProvider.builder()
                .dnsAddressResolverGroupProvider(builder -> {
                    builder.resolveCache(NoopDnsCache.INSTANCE).cnameCache(NoopDnsCnameCache.INSTANCE);
                    if (server != null) {
                        builder.nameServerProvider(new SingletonDnsServerAddressStreamProvider(server));
                    }
                    return new DnsAddressResolverGroup(builder);
                })
                .build()
                .newNameResolverGroup(loops, true);
        return group.getResolver(loops.onClient(true).next());
    }

    @Override
    public Mono<List<InstanceAddress>> start() {
        return Mono.create(sink -> resolver.resolveAll(InetSocketAddress.createUnresolved(uri.getHost(), 0))
                .addListener((Future<List<InetSocketAddress>> answer) -> {
                    if (answer.isSuccess()) {
                        sink.success(ofOneFamily(answer.getNow()));
                    } else {
                        sink.error(answer.cause());
                    }
                }));
    }

    private List<InstanceAddress> ofOneFamily(List<InetSocketAddress> found) {
        return found.stream()
                .map(InetSocketAddress::getAddress)
                .filter(address ->
                        address.getClass() == found.getFirst().getAddress().getClass())
                .map(address -> InstanceAddress.resolved(uri, unnamed(address)))
                .toList();
    }

    /** Without the name, which says nothing about the instance. */
    private static InetAddress unnamed(InetAddress address) {
        try {
            return InetAddress.getByAddress(address.getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("address of a length that is neither IPv4's nor IPv6's", e);
        }
    }
}
