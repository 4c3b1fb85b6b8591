package io.weir.instance;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.dns.DefaultDnsQuestion;
import io.netty.handler.codec.dns.DefaultDnsRecordDecoder;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.dns.DnsErrorCauseException;
import io.netty.resolver.dns.DnsNameResolver;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.resolver.dns.NoopDnsCache;
import io.netty.resolver.dns.NoopDnsCnameCache;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.resources.LoopResources;

/**
 * Looks up the SRV records of a service in DNS (RFC 2782). Each address of each record's target is an
 * instance, with the record's port and weight. The records of the lowest priority number are primaries, all
 * others are backups. The service {@code _https} has TLS, any other one has none.
 *
 * <p>A target that has no address, as DNS answers, is left out. If the look-up of a target fails, so does the
 * whole: an instance does not leave because DNS is silent.
 *
 * @param name {@code _service._tcp.name}; no search domain is added
 * @param records the resolver of records, without a cache
 * @param addresses the resolver of the targets' addresses, without a cache
 */
public record SrvLookup(String name, DnsNameResolver records, AddressResolver<InetSocketAddress> addresses)
        implements PolledAddresses.Lookup {

    private static final Pattern NAME =
            Pattern.compile("_[a-z0-9-]{1,62}\\._tcp(\\.[a-z0-9_-]{1,63})+\\.?", Pattern.CASE_INSENSITIVE);
    private static final Pattern HTTPS = Pattern.compile("_https\\..*", Pattern.CASE_INSENSITIVE);
    /** "The service is decidedly not available at this domain" (RFC 2782). */
    private static final String NONE = ".";

    private static final int MAX_WEIGHT = 1000;

    /**
     * A record of a service.
     *
     * @param priority the lowest number comes first
     * @param weight share of the calls among records of the same priority; 0: the smallest
     */
    private record Service(int priority, int weight, int port, String target) {

        static Service of(ByteBuf data) {
            return new Service(
                    data.readUnsignedShort(),
                    data.readUnsignedShort(),
                    data.readUnsignedShort(),
                    DefaultDnsRecordDecoder.decodeName(data));
        }
    }

    /** Whether a name of a service is one in DNS; others are names in Spring Cloud's discovery. */
    public static boolean appliesTo(String service) {
        return NAME.matcher(service).matches();
    }

    /**
     * A resolver of records, without a cache.
     *
     * @param loops has the event loop of the queries
     * @param server the DNS server; null: the machine's
     */
    public static DnsNameResolver resolver(LoopResources loops, @Nullable InetSocketAddress server) {
        EventLoopGroup group = loops.onClient(true);
        DnsNameResolverBuilder builder = new DnsNameResolverBuilder(group.next())
                .datagramChannelType(loops.onChannelClass(DatagramChannel.class, group))
                // TCP, for answers that do not fit into a datagram.
                .socketChannelType(loops.onChannelClass(SocketChannel.class, group))
                .resolveCache(NoopDnsCache.INSTANCE)
                .cnameCache(NoopDnsCnameCache.INSTANCE);
        if (server != null) {
            builder.nameServerProvider(new SingletonDnsServerAddressStreamProvider(server));
        }
        return builder.build();
    }

    @Override
    public Mono<List<InstanceAddress>> start() {
        return services().flatMap(this::instances);
    }

    private Mono<List<Service>> services() {
        return Mono.create(sink -> records.resolveAll(new DefaultDnsQuestion(name, DnsRecordType.SRV))
                .addListener((Future<List<DnsRecord>> answer) -> {
                    if (!answer.isSuccess()) {
                        sink.error(answer.cause());
                        return;
                    }
                    List<DnsRecord> found = answer.getNow();
                    try {
                        sink.success(read(found));
                    } catch (RuntimeException e) {
                        sink.error(e);
                    } finally {
                        found.forEach(ReferenceCountUtil::release);
                    }
                }));
    }

    private static List<Service> read(List<DnsRecord> found) {
        return found.stream()
                .filter(one -> one.type().equals(DnsRecordType.SRV))
                .map(one -> Service.of(((DnsRawRecord) one).content()))
                .filter(service -> !service.target().equals(NONE))
                .toList();
    }

    private Mono<List<InstanceAddress>> instances(List<Service> services) {
        int first = services.stream().mapToInt(Service::priority).min().orElse(0);
        int largest = services.stream().mapToInt(Service::weight).max().orElse(0);
        return Flux.fromIterable(services)
                .flatMap(service -> new DnsLookup(uri(service), addresses)
                        .start()
                        .onErrorResume(SrvLookup::isWithoutAddress, unknown -> Mono.just(List.of()))
                        .flatMapIterable(found -> found)
                        .map(address -> address.with(weight(service, largest), service.priority() > first)))
                .collectList();
    }

    /** Whether DNS has answered that a name has no address; otherwise the look-up has failed. */
    private static boolean isWithoutAddress(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure instanceof UnknownHostException
                && (cause == null
                        || (cause instanceof DnsErrorCauseException answer
                                && answer.getCode().equals(DnsResponseCode.NXDOMAIN)));
    }

    /** A weight of an instance in proportion to the record's. */
    private static int weight(Service service, int largest) {
        return Math.max(1, largest <= MAX_WEIGHT ? service.weight() : service.weight() * MAX_WEIGHT / largest);
    }

    private URI uri(Service service) {
        String target = service.target();
        String text = (HTTPS.matcher(name).matches() ? "https://" : "http://")
                + (target.endsWith(".") ? target.substring(0, target.length() - 1) : target)
                + ':'
                + service.port();
        URI uri = URI.create(text);
        if (uri.getHost() == null || service.port() == 0) {
            throw new IllegalArgumentException(
                    "SRV record of " + name + ": " + text + " (expected: a host name, and a port from 1 to 65535)");
        }
        return uri;
    }
}
