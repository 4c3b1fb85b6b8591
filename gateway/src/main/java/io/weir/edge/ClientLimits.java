package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.NetUtil;
import io.weir.edge.ClientUsage.Result;
import io.weir.edge.ClientUsage.Unit;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import io.weir.outcome.ThrottledLog;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Limits the connections and the requests of each client address, so that one client cannot take all of
 * {@code max-connections} or of {@code overload.max-in-flight}.
 *
 * <h2>Clients</h2>
 *
 * An IPv4 address is one client. An IPv6 address counts by its /64 network: a network gives each customer at
 * least a /64, so that one machine has 2<sup>64</sup> addresses. The peers of {@code trusted-proxies} are no
 * clients: their connections do not count, and their requests count for the address that they forward. A
 * trusted proxy that forwards no address is not limited.
 *
 * <h2>Defaults</h2>
 *
 * Half of the limit of all clients: it refuses nothing until one address holds half of the gateway, and
 * leaves the other half to all others. A NAT of a thousand browsers with six connections each stays below 10
 * 000. The default is at least 1000: a gateway with a lower limit of all clients may have one NAT as its only
 * caller. Where the process may open too few files for {@code max-connections}, half of what is possible is
 * the default. A balancer in front of the gateway must be in {@code trusted-proxies}; otherwise all its
 * callers are one client.
 *
 * <h2>Refusals</h2>
 *
 * A connection is closed when it is accepted, as over {@code max-connections}. A request is refused with
 * {@code rate-limited}: the client has used up its own share, and the gateway has room for others.
 *
 * <p>Concurrency: thread-safe. A client has an entry while it has a connection or a request, so the entries
 * are at most as many as those. Counting is one CAS on the client's entry. A connection keeps its entry, so
 * that a request without a trusted proxy needs no look-up. When a limit is off, nothing is counted for it.
 */
public final class ClientLimits {

    private static final ThrottledLog connectionLog = ThrottledLog.of(ClientLimits.class);
    private static final ThrottledLog requestLog = ThrottledLog.of(ClientLimits.class);

    private static final int IPV4_IN_IPV6 = 12;
    private static final int NETWORK_BYTES = 8;

    private final Networks trusted;
    private final int connectionLimit;
    private final int requestLimit;
    private final boolean limitsConnections;
    private final boolean limitsRequests;
    /** What the log expects of a client's connections. */
    private final String connectionRule;

    private final ConcurrentHashMap<Long, ClientUsage> usages = new ConcurrentHashMap<>();
    private final LongAdder rejectedConnections = new LongAdder();
    private final LongAdder refusedRequests = new LongAdder();

    /**
     * Limits without clients.
     *
     * @param properties the edge's properties
     * @param maxInFlight the limit on all exchanges in flight
     * @param files bounds the connections of all clients
     */
    public ClientLimits(EdgeProperties properties, int maxInFlight, OpenFiles files) {
        int ofAll = files.callers(properties.maxConnections());
        boolean isShort = properties.maxConnectionsPerClient() == null && ofAll < properties.maxConnections();
        this.trusted = Networks.of("trusted-proxies", properties.trustedProxies());
        this.connectionLimit = isShort ? ofAll / 2 : properties.connectionsPerClient();
        this.requestLimit = properties.requestsPerClient(maxInFlight);
        this.limitsConnections = connectionLimit < ofAll;
        this.limitsRequests = requestLimit < maxInFlight;
        this.connectionRule = isShort
                ? "at most half of the " + ofAll + " for which the process may open files (ulimit -n)"
                : "at most weir.edge.max-connections-per-client";
    }

    private ClientLimits(int connectionLimit, String connectionRule) {
        this.trusted = Networks.of("trusted-proxies", List.of());
        this.connectionLimit = connectionLimit;
        this.requestLimit = Integer.MAX_VALUE;
        this.limitsConnections = true;
        this.limitsRequests = false;
        this.connectionRule = connectionRule;
    }

    /**
     * A limit on the connections of each client, and none on its requests.
     *
     * @param rule the limit's name in the log
     */
    static ClientLimits ofConnections(int limit, String rule) {
        return new ClientLimits(limit, rule);
    }

    /** The largest number of connections of one client. */
    public int connectionLimit() {
        return connectionLimit;
    }

    /** The largest number of requests of one client. */
    public int requestLimit() {
        return requestLimit;
    }

    /** The number of clients that have a connection or a request; 0 if both limits are off. */
    public int clients() {
        return usages.size();
    }

    /** The number of connections that were rejected over a client's limit since the start. */
    public long rejectedConnections() {
        return rejectedConnections.sum();
    }

    /** The number of requests that were refused over a client's limit since the start. */
    public long refusedRequests() {
        return refusedRequests.sum();
    }

    /** Whether requests are limited. */
    public boolean limitsRequests() {
        return limitsRequests;
    }

    /** Whether connections of this address count: a limit is on, and the address is no trusted proxy's. */
    boolean counts(@Nullable InetAddress address) {
        return (limitsConnections || limitsRequests) && !trusted.contains(address);
    }

    /** Adds a connection; returns its client's entry, null: the client has too many connections. */
    @Nullable
    ClientUsage addConnection(@Nullable InetAddress address, long nowNanos) {
        ClientUsage usage = add(address, Unit.CONNECTION, limitsConnections ? connectionLimit : Integer.MAX_VALUE);
        if (usage == null) {
            rejectedConnections.increment();
            connectionLog.warn(
                    nowNanos,
                    () -> "Connection of " + text(address) + " closed: it has " + connectionLimit + " open (expected: "
                            + connectionRule + ")");
        }
        return usage;
    }

    /** Removes what was added. */
    void remove(ClientUsage usage, Unit unit) {
        if (usage.removeAndTryRetire(unit)) {
            usages.remove(usage.client(), usage);
        }
    }

    /**
     * Counts a request until its HTTP/2 stream is closed, or its HTTP/1 response is written. On the event
     * loop of the channel.
     *
     * @param channel the channel of the request
     * @param forwarded the client's address as a trusted proxy forwards it; null: the connection's
     * @return the refusal of a request over the client's limit, which is not counted; null: the request may
     *     proceed
     */
    public @Nullable Refusal begin(Channel channel, @Nullable InetAddress forwarded) {
        if (!limitsRequests || trusted.contains(forwarded)) {
            return null;
        }
        CallerConnection connection = CallerConnection.of(channel);
        ClientUsage usage;
        if (forwarded != null) {
            usage = add(forwarded, Unit.REQUEST, requestLimit);
        } else {
            ClientUsage own = connection == null ? null : connection.client();
            if (own == null) {
                return null;
            }
            // The connection itself keeps the entry from being retired.
            usage = own.tryAdd(Unit.REQUEST, requestLimit) == Result.ADDED ? own : null;
        }
        if (usage == null) {
            return refuse(channel, forwarded);
        }
        if (channel instanceof Http2StreamChannel || connection == null) {
            channel.closeFuture().addListener(closed -> remove(usage, Unit.REQUEST));
        } else {
            connection.requestBegins(usage);
        }
        return null;
    }

    private static @Nullable InetAddress peerOf(Channel channel) {
        return CallerConnection.remote(channel) instanceof InetSocketAddress peer ? peer.getAddress() : null;
    }

    private Refusal refuse(Channel channel, @Nullable InetAddress forwarded) {
        refusedRequests.increment();
        requestLog.warn(
                channel.eventLoop().ticker().nanoTime(),
                () -> "Request of " + text(forwarded == null ? peerOf(channel) : forwarded)
                        + " refused: the client has " + requestLimit
                        + " under way (expected: at most weir.edge.max-requests-per-client)");
        return new Refusal(
                Reason.RATE_LIMITED,
                "the client has too many requests under way",
                RetryAfter.millis(0, ThreadLocalRandom.current().nextDouble()));
    }

    private @Nullable ClientUsage add(@Nullable InetAddress address, Unit unit, int limit) {
        Long client = keyOf(address);
        while (true) {
            ClientUsage usage = usages.get(client);
            if (usage == null) {
                ClientUsage first = new ClientUsage(client, unit);
                usage = usages.putIfAbsent(client, first);
                if (usage == null) {
                    return first;
                }
            }
            switch (usage.tryAdd(unit, limit)) {
                case ADDED -> {
                    return usage;
                }
                case FULL -> {
                    return null;
                }
                case RETIRED -> usages.remove(client, usage);
            }
        }
    }

    /**
     * The key of a client: the first 64 bits of an IPv6 address, or the bits of an IPv4 address, which no
     * network of callers has as its first 64 bits (RFC 4291, 2.4). Clients without an address share 0.
     */
    static long keyOf(@Nullable InetAddress address) {
        if (address == null) {
            return 0;
        }
        byte[] bytes = address.getAddress();
        if (bytes.length < IPV4_IN_IPV6) {
            return bits(bytes, 0, bytes.length);
        }
        return address instanceof Inet6Address && isMappedIpv4(bytes)
                ? bits(bytes, IPV4_IN_IPV6, bytes.length)
                : bits(bytes, 0, NETWORK_BYTES);
    }

    /** Whether this is {@code ::ffff:a.b.c.d}, as some transports present callers over IPv4. */
    private static boolean isMappedIpv4(byte[] bytes) {
        return bits(bytes, 0, NETWORK_BYTES) == 0 && bits(bytes, NETWORK_BYTES, IPV4_IN_IPV6) == 0xffff;
    }

    private static long bits(byte[] bytes, int from, int to) {
        long value = 0;
        for (int i = from; i < to; i++) {
            value = value << 8 | (bytes[i] & 0xff);
        }
        return value;
    }

    private static String text(@Nullable InetAddress address) {
        return address == null ? "an unknown client" : NetUtil.toAddressString(address);
    }
}
