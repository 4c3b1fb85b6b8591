package io.weir.edge;

import io.netty.util.internal.PlatformDependent;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * {@code weir.edge}: limits on callers, and the trust in their forwarded headers.
 *
 * @param maxConnections callers' connections at once; 1 to 10000000. Over it, new connections are closed at
 *     once. So are those beyond half of the files that the process may open ({@code ulimit -n}).
 * @param maxConnectionsPerClient connections of one client address at once; 1 to 10000000; default: half of
 *     all connections, at least 1000. Where the process may open few files, at most half of the connections
 *     that they permit. Over it, new connections of the address are closed at once. {@code max-connections}
 *     or more: no bound. An IPv6 address counts by its /64 network. Connections of {@code trusted-proxies}
 *     do not count.
 * @param maxRequestsPerClient requests and HTTP/2 streams of one client address at once; 1 to 10000000;
 *     default: half of all exchanges in flight, at least 1000. Over it: 429
 *     {@code rate-limited}. {@code overload.max-in-flight} or more: no bound. Behind
 *     {@code trusted-proxies}, the address that they forward counts.
 * @param maxUriLength length of the request line; 256B to 1MB; over it: 414.
 * @param maxHeaderSize size of the header section; 1KB to 1MB; over it: 431.
 * @param maxHeaderCount number of header fields, and of trailers; 1 to 10000; over it: 431.
 * @param maxBodySize size of a request's body; 0B to 1TB; over it: 413. Bodies are streamed, and at most
 *     {@code read-ahead} of each is in memory, so this limit protects the backends.
 * @param maxConcurrentStreams streams at once on an HTTP/2 connection; 1 to 10000.
 * @param headTimeout time for a request's head, from its first byte (the first head: from the connection);
 *     100ms to 5m; over it: 408. Protects against callers that send a byte at a time.
 * @param bodyIdleTimeout longest pause in a request's body, after which the exchange ends with
 *     {@code client-too-slow}; 100ms to 10m.
 * @param readAhead bytes of a request's body that are read before its exchange asks for a permit of the
 *     backend, so that a caller that uploads slowly holds no permit; 0B to 1MB. 0B: none is read. Streams,
 *     and gRPC to a backend with {@code protocol: h2}, get their permit first. A caller that sends
 *     {@code Expect: 100-continue} gets its 100 when the gateway begins to read; the backend is asked about a
 *     body of which only the beginning is read ahead.
 * @param readAheadTotal limit on the bytes that are read ahead for all exchanges together; 1MB to 1TB;
 *     default: a tenth of the direct memory. Above it, the slowest uploads end with {@code client-too-slow}.
 * @param minBodyRate lowest rate, per second, at which a caller must send its request's body and read its
 *     response while the gateway waits for it; 0B to 1MB; 0B: any rate. An exchange whose caller is slower
 *     ends with {@code client-too-slow}: during the body after {@code body-idle-timeout}, during the response
 *     after {@code read-idle-timeout}. Protects against callers that move a byte at a time. The default is
 *     that of Kestrel and IIS, and far below the slowest mobile networks. The rate does not apply to uploads
 *     of streams, and of gRPC to a backend with {@code protocol: h2}, which may send a message from time to
 *     time.
 * @param readIdleTimeout longest time for which the caller may read no byte of the response; then the
 *     exchange ends with {@code client-too-slow}; 100ms to 10m.
 * @param keepAliveTimeout longest idle time of a connection between requests, after which the gateway closes
 *     it; 100ms to 1h. Longer than the usual timeout of load balancers (60 s), so that they close first.
 * @param maxWebsocketFrameSize size of a WebSocket's frame in either direction; 125B to 64MB; over it, the
 *     WebSocket ends with 1009. A frame is held in memory until it is complete; the fragments of a message
 *     pass one by one.
 * @param trustedProxies CIDRs of proxies whose forwarded headers ({@code X-Forwarded-*}, {@code Forwarded})
 *     are trusted; default: none.
 * @param priorityHeader name of a header field in which trusted proxies set the priority of a request:
 *     {@code critical}, {@code normal} or {@code sheddable}, in any case; default: none. The field overrides
 *     the route's {@code priority}. It is ignored from any other peer. Another value, or more than one value,
 *     is ignored and counted ({@code weir_priority_ignored_total}). Backends receive the field with the
 *     priority that the gateway has used.
 * @param proxyProtocol whether {@code trusted-proxies} put a header of the PROXY protocol, version 1 or 2, in
 *     front of each connection. {@code required}: they do, and no other peer may connect. {@code optional}:
 *     they may; only for the change to {@code required}, because the callers of a balancer that sends no
 *     header can send one. {@code off}, and for other peers {@code optional}: a header is a malformed
 *     request. The address in the header becomes the caller's.
 * @param allowEncodedSlashes whether a path may contain {@code %2F} and {@code %5C}; they are refused
 *     otherwise, because gateway and backend may read them differently.
 * @param serverTiming whether responses carry {@code Server-Timing} with the time in the queue and in the
 *     backend.
 * @param securityHeaders whether responses get the header fields that make browsers careful, unless the
 *     backend has set them: {@code Strict-Transport-Security: max-age=31536000} (on https, also where a
 *     trusted proxy has ended TLS), {@code X-Content-Type-Options: nosniff},
 *     {@code X-Frame-Options: SAMEORIGIN} and {@code Referrer-Policy: strict-origin-when-cross-origin}.
 * @param redirectPort port without TLS whose requests are redirected to {@code https} with 308, which keeps
 *     the method; 0 to 65535; 0: any free port; default: none. Needs {@code server.ssl}. The redirect names
 *     the request's own {@code Host}; a request without one is refused with 400. A request for which a
 *     trusted proxy reports https is refused with 421, since its redirect would come back. Each answer is the
 *     last one of its connection. A tenth of {@code max-connections}, at least 100, may be open at once.
 * @param redirectToPort port of {@code https} that callers use, in the redirects; 1 to 65535; default: the
 *     server's port. Set it to 443 where a balancer or container maps the ports.
 * @param compressionMemory limit on the memory, outside the heap, of all answers that are being compressed
 *     ({@code weir.routes.<id>.compression}); 1MB to 1TB; each takes 272 KB. Above it, further answers are
 *     not compressed.
 * @param tlsEngine the implementation of TLS, for callers and for backends. {@code auto}: BoringSSL where its
 *     library loads (Linux on x86-64 and arm64, with glibc), else the JDK's. {@code openssl}: BoringSSL, or
 *     no start. {@code jdk}: the JDK's. With {@code auto}, the JDK's also serves a certificate whose rules
 *     BoringSSL cannot keep: some but not all cipher suites of TLS 1.3, a suite that it does not have, a
 *     version before TLS 1.2, a store with keys of several types, or a key that is neither RSA nor EC, or in
 *     a PKCS#11 device. The log names the engine at the start.
 * @param tlsTicketSecret the secret from which BoringSSL's keys of session tickets are derived, 32 to 4096
 *     characters, the same one for all gateways at which callers shall resume their TLS sessions; default:
 *     none. Without it each gateway has keys of its own. The keys change every twelve hours. The JDK's engine
 *     ignores it. Whoever has the secret can pose as the gateway to callers with a ticket. Over TLS 1.2 the
 *     secret also reveals recorded connections.
 */
public record EdgeProperties(
        @DefaultValue("20000") @Min(1) @Max(10_000_000) int maxConnections,
        @Nullable @Min(1) @Max(10_000_000) Integer maxConnectionsPerClient,
        @Nullable @Min(1) @Max(10_000_000) Integer maxRequestsPerClient,
        @DefaultValue("8KB") @Min(256) @Max(1 << 20) DataSize maxUriLength,
        @DefaultValue("16KB") @Min(1 << 10) @Max(1 << 20) DataSize maxHeaderSize,
        @DefaultValue("100") @Min(1) @Max(10_000) int maxHeaderCount,
        @DefaultValue("10GB") @Min(0) @Max(1L << 40) DataSize maxBodySize,
        @DefaultValue("100") @Min(1) @Max(10_000) int maxConcurrentStreams,

        @DefaultValue("10s") @DurationMin(millis = 100) @DurationMax(minutes = 5)
        Duration headTimeout,

        @DefaultValue("15s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration bodyIdleTimeout,

        @DefaultValue("15s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration readIdleTimeout,

        @DefaultValue("64KB") @Min(0) @Max(1 << 20) DataSize readAhead,
        @Nullable @Min(1 << 20) @Max(1L << 40) DataSize readAheadTotal,
        @DefaultValue("240B") @Min(0) @Max(1 << 20) DataSize minBodyRate,

        @DefaultValue("75s") @DurationMin(millis = 100) @DurationMax(hours = 1)
        Duration keepAliveTimeout,

        @DefaultValue("1MB") @Min(125) @Max(64 << 20) DataSize maxWebsocketFrameSize,
        @DefaultValue List<String> trustedProxies,

        @Nullable @Pattern(regexp = "[!#$%&'*+.^_`|~0-9A-Za-z-]+", message = "the name of a header field")
        String priorityHeader,

        @DefaultValue("off") ProxyProtocol proxyProtocol,
        @DefaultValue("false") boolean allowEncodedSlashes,
        @DefaultValue("false") boolean serverTiming,
        @DefaultValue("false") boolean securityHeaders,
        @Nullable @Min(0) @Max(65_535) Integer redirectPort,
        @Nullable @Min(1) @Max(65_535) Integer redirectToPort,
        @DefaultValue("64MB") @Min(1 << 20) @Max(1L << 40) DataSize compressionMemory,
        @DefaultValue("auto") TlsEngine tlsEngine,
        @Nullable @Size(min = 32, max = 4096) String tlsTicketSecret) {

    private static final int REDIRECT_DIVISOR = 10;

    /** The lowest limit of connections to {@code redirectPort}. */
    private static final int MIN_REDIRECT_CONNECTIONS = 100;

    private static final int DIRECT_MEMORY_DIVISOR = 10;

    /** The lowest default of a limit per client: below it, the users behind one NAT could need the whole. */
    private static final int MIN_DEFAULT_PER_CLIENT = 1000;

    /** Copies the list of proxies. */
    public EdgeProperties {
        trustedProxies = List.copyOf(trustedProxies);
    }

    /** The configured {@code readAheadTotal}, or its default. */
    public long readAheadTotalBytes() {
        return readAheadTotal == null
                ? Math.max(readAhead.toBytes(), PlatformDependent.maxDirectMemory() / DIRECT_MEMORY_DIVISOR)
                : readAheadTotal.toBytes();
    }

    /** The largest number of open connections to {@code redirectPort}. */
    public int maxRedirectConnections() {
        return Math.max(maxConnections / REDIRECT_DIVISOR, MIN_REDIRECT_CONNECTIONS);
    }

    /** The configured {@code maxConnectionsPerClient}, or its default. */
    public int connectionsPerClient() {
        return maxConnectionsPerClient == null ? defaultPerClient(maxConnections) : maxConnectionsPerClient;
    }

    /**
     * The configured {@code maxRequestsPerClient}, or its default.
     *
     * @param maxInFlight the limit on all exchanges in flight
     */
    public int requestsPerClient(int maxInFlight) {
        return maxRequestsPerClient == null ? defaultPerClient(maxInFlight) : maxRequestsPerClient;
    }

    private static int defaultPerClient(int limitOfAll) {
        return Math.max(limitOfAll / 2, MIN_DEFAULT_PER_CLIENT);
    }
}
