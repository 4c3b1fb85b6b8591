package io.weir.fleet;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.ssl.SslContext;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.NetUtil;
import io.weir.management.ManagementCaller;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.ByteBufFlux;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/**
 * Sends one request to the management ports of other gateways. Their number at once, the time and the size of
 * each answer are bounded.
 *
 * <p>Each request has a connection of its own: requests are rare, and an unused fleet holds none. A request
 * is sent at most once, since a second injected fault would be another fault.
 */
public final class Peers {

    /** The longest time for a connection to another gateway. */
    static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);

    private static final int MAX_AT_ONCE = 64;
    private static final int MAX_BODY_BYTES = 1 << 20;

    private final HttpClient client;
    private final PeerTls tls;
    private final IntSupplier port;
    private final @Nullable String name;

    /**
     * A sender of requests.
     *
     * @param loops the event loops, shared with the server
     * @param tls TLS of the management ports
     * @param port the management port of this gateway, and so of all others
     * @param name the DNS name of the gateways, for which their certificates must be valid; null: there are
     *     no other gateways
     */
    public Peers(LoopResources loops, PeerTls tls, IntSupplier port, @Nullable String name) {
        this.client = HttpClient.create(ConnectionProvider.newConnection())
                .runOn(loops)
                // The addresses are those that the cluster has resolved.
                .resolver(NoopAddressResolverGroup.INSTANCE)
                .followRedirect(false)
                .disableRetry(true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, Math.toIntExact(CONNECT_TIMEOUT.toMillis()));
        this.tls = tls;
        this.port = port;
        this.name = name;
    }

    /**
     * Sends a request to each address, and collects the replies in the order of the addresses. Never fails.
     *
     * @param sender names this gateway to the others
     */
    Mono<List<PeerReply>> send(List<InetAddress> to, PeerRequest request, String sender) {
        if (to.isEmpty()) {
            return Mono.just(List.of());
        }
        return Mono.fromCallable(this::secured)
                .subscribeOn(Schedulers.boundedElastic())
                .flatMapMany(secured -> Flux.fromIterable(to)
                        .flatMapSequential(address -> send(secured, address, request, sender), MAX_AT_ONCE))
                .collectList()
                .onErrorResume(failure -> Mono.just(to.stream()
                        .map(address -> PeerReply.unasked(NetUtil.toAddressString(address), "not asked: " + failure))
                        .toList()));
    }

    private HttpClient secured() {
        SslContext context = tls.context();
        return context == null
                ? client
                : client.secure(spec -> spec.sslContext(context).handshakeTimeout(CONNECT_TIMEOUT));
    }

    private Mono<PeerReply> send(HttpClient secured, InetAddress address, PeerRequest request, String sender) {
        String shown = NetUtil.toAddressString(address);
        int peerPort = port.getAsInt();
        InetSocketAddress target = new InetSocketAddress(named(address), peerPort);
        HttpClient.RequestSender bodiless = secured.remoteAddress(() -> target)
                .headers(fields -> setFields(fields, request, sender, NetUtil.toSocketAddressString(shown, peerPort)))
                .request(HttpMethod.valueOf(request.method()))
                .uri(request.path());
        HttpClient.ResponseReceiver<?> whole = request.body().isEmpty()
                ? bodiless
                : bodiless.send(Mono.fromSupplier(() -> Unpooled.copiedBuffer(request.body(), StandardCharsets.UTF_8)));
        return whole.response((answer, content) -> body(content)
                        .map(body -> PeerReply.answered(shown, answer.status().code(), body)))
                .single()
                .timeout(request.timeout())
                .onErrorResume(failure -> Mono.just(PeerReply.failed(shown, failure, request.timeout())));
    }

    private static void setFields(HttpHeaders fields, PeerRequest request, String sender, String host) {
        // An IP address, which the guard of each management port permits.
        fields.set(HttpHeaderNames.HOST, host);
        fields.set(ManagementCaller.PASSED_ON_BY, sender);
        if (request.authorization() != null) {
            fields.set(HttpHeaderNames.AUTHORIZATION, request.authorization());
        }
        if (request.contentType() != null) {
            fields.set(HttpHeaderNames.CONTENT_TYPE, request.contentType());
        }
        if (!request.method().equals("GET")) {
            fields.set(HttpHeaderNames.CONTENT_LENGTH, request.body().getBytes(StandardCharsets.UTF_8).length);
        }
    }

    /** The address with the name of all gateways, by which their certificates are verified. */
    private InetAddress named(InetAddress address) {
        try {
            String verified = name == null ? null : name.replaceFirst("\\.$", "");
            return InetAddress.getByAddress(verified, address.getAddress());
        } catch (UnknownHostException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Mono<String> body(ByteBufFlux content) {
        return content.asByteArray()
                .collect(ByteArrayOutputStream::new, (whole, bytes) -> {
                    if (whole.size() + bytes.length > MAX_BODY_BYTES) {
                        throw new UncheckedIOException(
                                new IOException("the answer is longer than " + MAX_BODY_BYTES + " bytes"));
                    }
                    whole.writeBytes(bytes);
                })
                .map(whole -> whole.toString(StandardCharsets.UTF_8));
    }
}
