package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.authentication.ClientCertificate;
import io.weir.authentication.ReservedFields;
import io.weir.compression.CompressionRule;
import io.weir.cors.CorsRule;
import io.weir.deadline.CallerTimeout;
import io.weir.edge.CallerPeer;
import io.weir.edge.Forwarding;
import io.weir.edge.HopByHop;
import io.weir.edge.LastResponseHandler;
import io.weir.edge.RequestId;
import io.weir.edge.RequestTarget;
import io.weir.edge.RequestTrailers;
import io.weir.edge.StreamEndHandler;
import io.weir.edge.TraceParent;
import io.weir.edge.Via;
import io.weir.engine.Engine;
import io.weir.engine.Exchange;
import io.weir.engine.Route;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import reactor.netty.http.server.WebsocketServerSpec;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * One request of a caller with its response, and the operations that both doors share: writing the head for
 * the backend, writing the gateway's own response, resetting the connection, and detecting the flush.
 *
 * <p>Concurrency: confined to the event loop of its connection. The class stays whole: its parts share the
 * head.
 */
final class InboundRequest implements RequestFacts {

    /** Replaces a target that cannot be parsed. */
    static final RequestTarget UNREADABLE = RequestTarget.parse("/", false);

    private static final AsciiString WEBSOCKET_VERSION = AsciiString.cached("13");

    private static final Pattern SLASHES = Pattern.compile("/{2,}");

    /** The received path has no dot segments; a filter can make one, such as of {@code /a../b} without /a. */
    private static final Pattern DOT_SEGMENT = Pattern.compile("/\\.{1,2}(?:[;/]|%2F|%5C|$)");

    /** The fields of an answer that opens a WebSocket, which the gateway writes itself. */
    private static final AsciiString[] HANDSHAKE = {
        HttpHeaderNames.CONTENT_LENGTH,
        HttpHeaderNames.SEC_WEBSOCKET_ACCEPT,
        HttpHeaderNames.SEC_WEBSOCKET_EXTENSIONS,
        HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL,
        HttpHeaderNames.SEC_WEBSOCKET_VERSION,
    };

    private static final AsciiString SERVER_TIMING = AsciiString.cached("server-timing");

    private final HttpServerRequest request;
    private final HttpServerResponse response;
    private final Channel channel;
    private final RequestTarget target;
    private final Forwarding forwarding;
    private final @Nullable PriorityHeader priorityHeader;
    private final String door;
    private final long readIdleNanos;
    private final boolean hasSecurityHeaders;
    private AnswerRules answerRules = AnswerRules.NONE;
    private boolean isRefused;

    /** The fields that only the gateway may set; null: none. */
    private @Nullable ReservedFields reserved;

    private boolean hasTunnel;
    private boolean isPriorityRead;
    private @Nullable Priority requestedPriority;
    private @Nullable String requestId;

    InboundRequest(
            HttpServerRequest request,
            HttpServerResponse response,
            RequestTarget target,
            Forwarding forwarding,
            @Nullable PriorityHeader priorityHeader,
            String door,
            long readIdleNanos,
            boolean hasSecurityHeaders) {
        this.request = request;
        this.response = response;
        this.channel = ((ChannelOperations<?, ?>) response).channel();
        this.target = target;
        this.forwarding = forwarding;
        this.priorityHeader = priorityHeader;
        this.door = door;
        this.readIdleNanos = readIdleNanos;
        this.hasSecurityHeaders = hasSecurityHeaders;
        if (channel instanceof Http2StreamChannel) {
            StreamEndHandler.install(channel, request.requestHeaders());
        }
    }

    HttpServerRequest request() {
        return request;
    }

    HttpServerResponse response() {
        return response;
    }

    Channel channel() {
        return channel;
    }

    RequestTarget target() {
        return target;
    }

    /** Applies the rules of the request's route to its response. */
    void use(AnswerRules rules) {
        answerRules = rules;
    }

    /** Removes the fields that only the gateway may set from the trailers, too; the head has none of them. */
    void reserve(@Nullable ReservedFields fields) {
        reserved = fields;
    }

    /** The request's trailers; read after the end of the body. */
    HttpHeaders requestTrailers() {
        HttpHeaders trailers = RequestTrailers.of(channel);
        if (trailers.isEmpty()) {
            return trailers;
        }
        if (reserved != null) {
            reserved.removeFrom(trailers);
        }
        if (priorityHeader != null) {
            priorityHeader.removeFrom(trailers);
        }
        return trailers;
    }

    /** The certificate that the caller has shown in its TLS handshake; null: none. */
    @Nullable
    ClientCertificate clientCertificate() {
        return ConnectionCertificate.of(channel);
    }

    /** The priority that a trusted proxy has set; null: none, or it is ignored. */
    @Nullable
    Priority requestedPriority() {
        if (priorityHeader != null && !isPriorityRead) {
            isPriorityRead = true;
            requestedPriority = priorityHeader.read(request.requestHeaders(), CallerPeer.of(channel));
        }
        return requestedPriority;
    }

    /** The refusal because of the event loop's delay, now that the route is known; null: none. */
    @Nullable
    Refusal refusalByDelay(Engine engine, Route route) {
        if (!engine.isAnyLoopShedding()) {
            return null;
        }
        return engine.refusalByDelay(channel.eventLoop(), requestedPriority(), route.priority());
    }

    /** The tenant that the request belongs to; null: none. */
    @Nullable
    String tenant(TenantKey key) {
        InetSocketAddress peer = CallerPeer.of(channel);
        if (peer == null) {
            return null;
        }
        AsciiString header = key.header();
        return header == null
                ? forwarding.callerNetwork(request.requestHeaders(), peer)
                : forwarding.trustedValue(request.requestHeaders(), peer, header);
    }

    /** Whether the request has a body; Reactor Netty presents an HTTP/2 body of unknown length as chunked. */
    boolean hasBody() {
        HttpHeaders headers = request.requestHeaders();
        if (headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            return true;
        }
        String length = headers.get(HttpHeaderNames.CONTENT_LENGTH);
        return length != null && !"0".equals(length);
    }

    /**
     * Whether the caller asks for a WebSocket with a complete handshake (RFC 6455, 4.2.1). A request with an
     * incomplete handshake is an ordinary request whose {@code Upgrade} field is dropped: the gateway could
     * open the backend's side, but not the caller's.
     */
    boolean asksForWebSocket() {
        HttpHeaders headers = request.requestHeaders();
        return headers.containsValue(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)
                && headers.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE, true)
                && HttpMethod.GET.equals(request.method())
                && HttpVersion.HTTP_1_1.equals(request.version())
                && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY)
                && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_VERSION, WEBSOCKET_VERSION, false)
                && !hasBody();
    }

    /**
     * The target for the backend.
     *
     * @param path the path after the filters; adjacent slashes that a filter has produced are merged
     * @param query the query as received; null if there is none
     * @throws IllegalArgumentException if a filter has produced a dot segment: the backend would leave the
     *     directory of the path
     */
    static String target(String path, @Nullable String query) {
        String merged = path.contains("//") ? SLASHES.matcher(path).replaceAll("/") : path;
        if (merged.contains("/.") && DOT_SEGMENT.matcher(merged).find()) {
            throw new IllegalArgumentException("path: " + merged + " (expected: no dot segment after the filters)");
        }
        return query == null ? merged : merged + '?' + query;
    }

    /** The target for a backend that sees the path as received. */
    static String preservedTarget(String receivedPath, @Nullable String query) {
        return query == null ? receivedPath : receivedPath + '?' + query;
    }

    /**
     * Writes the caller's address, scheme and host into the head for the backend, before the route's filters:
     * a filter may set another value.
     *
     * @param toBackend the caller's fields
     */
    void writeForwarded(HttpHeaders toBackend) {
        InetSocketAddress peer = CallerPeer.of(channel);
        if (peer != null) {
            String host = host();
            forwarding.write(
                    toBackend, request.requestHeaders(), peer, request.connectionScheme(), host == null ? "" : host);
        }
    }

    /**
     * Completes the head for the backend after the route's filters.
     *
     * @param authority the {@code Host} of the instance that the request goes to
     * @param preserveHost whether the backend sees the {@code Host} of the caller or of a filter, instead of
     *     its own name
     * @param priority the class of the call
     */
    void completeBackendHead(HttpHeaders toBackend, String authority, boolean preserveHost, Priority priority) {
        String preserved = preserveHost ? toBackend.get(HttpHeaderNames.HOST) : null;
        HopByHop.strip(toBackend);
        toBackend.remove(HttpHeaderNames.EXPECT);
        toBackend.remove(CallerTimeout.X_REQUEST_TIMEOUT);
        toBackend.set(HttpHeaderNames.HOST, preserved == null ? authority : preserved);
        toBackend.set(RequestId.X_REQUEST_ID, requestId());
        if (priorityHeader != null) {
            priorityHeader.write(toBackend, priority);
        }
        if (reserved != null && reserved.hasCertificates()) {
            ClientCertificate certificate = clientCertificate();
            if (certificate != null) {
                reserved.writeCertificate(certificate, toBackend);
            }
        }
        Via.append(toBackend);
    }

    /** Writes the response's head from the backend's head. */
    void writeResponseHead(int status, HttpHeaders fromBackend) {
        HttpHeaders head = response.responseHeaders();
        head.set(fromBackend);
        HopByHop.strip(head);
        Via.append(head);
        response.status(HttpResponseStatus.valueOf(status));
        completeResponseHead(head);
    }

    /** Adds the fields of every response, and the framing if the backend's body is chunked. */
    void completeResponseHead(HttpHeaders head) {
        head.set(RequestId.X_REQUEST_ID, requestId());
        writeSecurityHeaders(head);
        writeCors();
        if (!head.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            if (HttpVersion.HTTP_1_0.equals(request.version())) {
                // HTTP/1.0 has no chunks: the end of the connection ends the body.
                head.remove(HttpHeaderNames.TRANSFER_ENCODING);
                response.keepAlive(false);
            } else {
                head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            }
        } else if (HttpVersion.HTTP_1_0.equals(request.version()) && request.isKeepAlive()) {
            // An HTTP/1.0 caller keeps the connection only with this field.
            head.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
        }
    }

    private void writeSecurityHeaders(HttpHeaders head) {
        if (hasSecurityHeaders) {
            String scheme = request.connectionScheme();
            InetSocketAddress peer = CallerPeer.of(channel);
            SecurityHeaders.write(
                    head, peer == null ? scheme : forwarding.callerScheme(request.requestHeaders(), peer, scheme));
        }
    }

    /** Writes the route's CORS fields into the response's head, in place of the backend's. */
    void writeCors() {
        CorsRule cors = answerRules.cors();
        if (cors != null) {
            cors.write(request.requestHeaders(), response.responseHeaders());
        }
    }

    /** Whether the response may be compressed. */
    boolean compresses() {
        // HTTP/1.0 has no chunks: a compressed body that is cut off would look complete.
        return answerRules.compression() != null && !isRefused && !HttpVersion.HTTP_1_0.equals(request.version());
    }

    /** Compresses a body if the route's rule says so, and changes the response's head then. */
    Publisher<ByteBuf> encode(int status, Publisher<ByteBuf> body) {
        CompressionRule rule = answerRules.compression();
        if (rule == null || !appliesCompression(rule, status, contentLength())) {
            return body;
        }
        HttpHeaders head = response.responseHeaders();
        CompressionRule.encode(head);
        head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        return rule.stream(body, channel.alloc());
    }

    /** Compresses a complete body, which the callee owns, and changes the response's head then. */
    ByteBuf encode(int status, ByteBuf body) {
        CompressionRule rule = answerRules.compression();
        boolean isHead = HttpMethod.HEAD.equals(request.method());
        if (rule == null || !appliesCompression(rule, status, isHead ? contentLength() : body.readableBytes())) {
            return body;
        }
        ByteBuf compressed = CompressionRule.compress(body, channel.alloc());
        if (compressed == null) {
            return body;
        }
        body.release();
        HttpHeaders head = response.responseHeaders();
        boolean hasLength = head.contains(HttpHeaderNames.CONTENT_LENGTH);
        CompressionRule.encode(head);
        if (hasLength) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(compressed.readableBytes()));
        }
        return compressed;
    }

    private boolean appliesCompression(CompressionRule rule, int status, long length) {
        if (!compresses()) {
            return false;
        }
        HttpHeaders head = response.responseHeaders();
        boolean applies = rule.applies(request.method(), request.requestHeaders(), status, head, length);
        if (HttpMethod.HEAD.equals(request.method()) && !head.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            // As in the response to a GET; otherwise Reactor Netty adds a length of 0.
            head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        }
        return applies;
    }

    private long contentLength() {
        String length = response.responseHeaders().get(HttpHeaderNames.CONTENT_LENGTH);
        try {
            return length == null ? CompressionRule.UNKNOWN_LENGTH : Long.parseLong(length);
        } catch (NumberFormatException e) {
            // A filter has set it.
            return CompressionRule.UNKNOWN_LENGTH;
        }
    }

    /** Writes the fields of a response that the gateway creates itself and that is no refusal. */
    void completeOwnHead(HttpResponseStatus status) {
        HttpHeaders head = response.status(status).responseHeaders();
        head.set(RequestId.X_REQUEST_ID, requestId());
        writeSecurityHeaders(head);
    }

    /** Adds {@code Server-Timing}: the time in the queue, and in the backend. */
    void writeServerTiming(HttpHeaders head, long queueNanos, long backendNanos) {
        head.add(SERVER_TIMING, "queue;dur=" + millis(queueNanos) + ", backend;dur=" + millis(backendNanos));
    }

    private static String millis(long nanos) {
        long micros = nanos / 1_000;
        return micros / 1_000 + "." + String.valueOf(1_000 + micros % 1_000).substring(1);
    }

    /** Writes the gateway's own response into the head, and returns its body. */
    ByteBuf writeRefusal(Refusal refusal) {
        isRefused = true;
        HttpHeaders head = response.responseHeaders();
        head.set(RequestId.X_REQUEST_ID, requestId());
        writeSecurityHeaders(head);
        writeCors();
        if (Problem.isGrpc(request.requestHeaders())) {
            Problem.writeGrpc(refusal, head);
            return Unpooled.EMPTY_BUFFER;
        }
        response.status(refusal.httpStatus());
        Problem.writeHead(refusal, head);
        ByteBuf body = Problem.body(refusal, requestId(), channel.alloc());
        if (!HttpMethod.HEAD.equals(request.method())) {
            return body;
        }
        // The length of the response to a GET.
        head.remove(HttpHeaderNames.TRANSFER_ENCODING);
        head.set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.readableBytes()));
        body.release();
        return Unpooled.EMPTY_BUFFER;
    }

    /** Sends the gateway's own response, which no exchange supervises. */
    Mono<Void> sendRefusal(Refusal refusal) {
        ByteBuf body = writeRefusal(refusal);
        return response.sendObject(body).then().doOnSuccess(nothing -> limitReadTime());
    }

    /**
     * Whether the request has become a WebSocket tunnel. The end of the tunnel reports that the caller has
     * left, and brings the close frame for the backend.
     */
    boolean isTunnel() {
        return hasTunnel;
    }

    /**
     * Opens the caller's WebSocket; completes when the tunnel has ended.
     *
     * @param subprotocol the backend's choice; null if there is none
     * @param fromBackend the head of the backend's answer; its fields are passed on, except those of the
     *     handshake itself
     * @param maxFrameBytes the largest frame of the caller that passes
     * @param tunnel passes frames between the caller's two directions and the backend
     */
    Mono<Void> upgrade(
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            int maxFrameBytes,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        hasTunnel = true;
        WebsocketServerSpec.Builder spec =
                WebsocketServerSpec.builder().handlePing(true).maxFramePayloadLength(maxFrameBytes);
        if (subprotocol != null) {
            spec.protocols(subprotocol);
            // Netty reads only one of the fields in which the caller may have named the subprotocol.
            request.requestHeaders().set(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL, subprotocol);
        }
        writeHandshakeHead(fromBackend);
        // Unlike Reactor Netty's publisher, it ends with the tunnel.
        Sinks.Empty<Void> ended = Sinks.empty();
        // Cached: when Reactor Netty cancels it because the caller has closed, the tunnel goes on to its end,
        // so that the backend gets the close frame.
        return response.sendWebsocket(
                        (in, out) -> Mono.from(tunnel.apply(in, out))
                                .doFinally(signal -> ended.tryEmitEmpty())
                                .cache(),
                        spec.build())
                .then(ended.asMono());
    }

    private void writeHandshakeHead(HttpHeaders fromBackend) {
        HttpHeaders passed = new DefaultHttpHeaders().set(fromBackend);
        HopByHop.strip(passed);
        for (AsciiString name : HANDSHAKE) {
            passed.remove(name);
        }
        Via.append(passed);
        HttpHeaders head = response.responseHeaders();
        for (String name : passed.names()) {
            if (HttpHeaderNames.SET_COOKIE.contentEqualsIgnoreCase(name)) {
                head.add(name, passed.getAll(name));
            } else if (!head.contains(name)) {
                // The gateway has written the quota, and a filter its fields.
                head.set(name, passed.getAll(name));
            }
        }
        head.set(RequestId.X_REQUEST_ID, requestId());
    }

    /** Whether the caller awaits gRPC's status at the end of the response. */
    boolean isGrpcOverHttp2() {
        return channel instanceof Http2StreamChannel && Problem.isGrpc(request.requestHeaders());
    }

    /** Resets the connection (RST) or the stream (RST_STREAM). */
    void reset() {
        if (channel instanceof Http2StreamChannel) {
            channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.INTERNAL_ERROR))
                    .addListener(ChannelFutureListener.CLOSE);
        } else {
            // A regular close would look like the end of the response.
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.unsafe().close(channel.voidPromise());
        }
    }

    /** Whether the caller has not left: its channel is open, or was closed after the last response. */
    boolean isCallerPresent() {
        return channel.isActive() || LastResponseHandler.isLastResponseFlushed(channel);
    }

    /**
     * Tells the exchange when its response is flushed, or cannot be flushed. Reactor Netty has the whole
     * response already.
     *
     * @param wasPresent the value of {@link #isCallerPresent} before Reactor Netty got the end of the
     *     response
     */
    void reportFlush(Exchange exchange, boolean wasPresent) {
        if (wasPresent && isFlushed()) {
            // The usual case: flushed during the write, and then closed if it was the last response.
            exchange.flushed();
            return;
        }
        if (exchange.isOver()) {
            limitReadTime();
            return;
        }
        ((ChannelOperations<?, ?>) response).onTerminate().subscribe(null, failure -> exchange.callerLeft(), () -> {
            if (wasPresent && (!(channel instanceof Http2StreamChannel) || isFlushed())) {
                exchange.flushed();
            } else {
                exchange.callerLeft();
            }
        });
    }

    /** Whether every byte of the response is flushed. */
    private boolean isFlushed() {
        if (channel instanceof Http2StreamChannel) {
            return LastResponseHandler.isLastResponseFlushed(channel);
        }
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        return buffer == null || buffer.totalPendingWriteBytes() == 0;
    }

    /**
     * Resets the gateway's own response, which no exchange supervises, if the caller does not read it in
     * time. Reactor Netty has the whole response already.
     */
    void limitReadTime() {
        if (!channel.isActive() || isFlushed()) {
            return;
        }
        ScheduledFuture<?> limit = channel.eventLoop().schedule(this::reset, readIdleNanos, TimeUnit.NANOSECONDS);
        ((ChannelOperations<?, ?>) response)
                .onTerminate()
                .subscribe(null, failure -> limit.cancel(false), () -> limit.cancel(false));
    }

    /** The host that the caller asks for; null if there is none. */
    @Nullable
    String host() {
        String authority = target.authority();
        return authority != null ? authority : request.requestHeaders().get(HttpHeaderNames.HOST);
    }

    @Override
    public String requestMethod() {
        return request.method().name();
    }

    @Override
    public HttpHeaders requestHeaders() {
        return request.requestHeaders();
    }

    @Override
    public String scheme() {
        InetSocketAddress peer = CallerPeer.of(channel);
        String scheme = request.connectionScheme();
        return peer == null ? scheme : forwarding.callerScheme(request.requestHeaders(), peer, scheme);
    }

    @Override
    public String requestPath() {
        return target == UNREADABLE ? request.uri() : target.path();
    }

    @Override
    public String door() {
        return door;
    }

    @Override
    public String protocol() {
        return request.protocol();
    }

    @Override
    public int refusalBytes(Refusal refusal) {
        boolean hasBody = refusal.reason() != Reason.CLIENT_CLOSED
                && !HttpMethod.HEAD.equals(request.method())
                && !Problem.isGrpc(request.requestHeaders());
        return hasBody ? Problem.length(refusal, requestId()) : 0;
    }

    @Override
    public String requestId() {
        String id = requestId;
        if (id == null) {
            id = RequestId.of(request.requestHeaders());
            requestId = id;
        }
        return id;
    }

    @Override
    public @Nullable String traceId() {
        return TraceParent.traceId(request.requestHeaders());
    }

    @Override
    public String callerAddress() {
        InetSocketAddress peer = CallerPeer.of(channel);
        return peer == null ? "" : forwarding.callerAddress(request.requestHeaders(), peer);
    }

    /** The caller's address; null if the connection has none. */
    @Nullable
    InetAddress clientAddress() {
        InetSocketAddress peer = CallerPeer.of(channel);
        return peer == null ? null : forwarding.clientAddress(request.requestHeaders(), peer);
    }

    /** The caller's address, or of an IPv6 address its network; empty if the connection has none. */
    String callerNetwork() {
        InetSocketAddress peer = CallerPeer.of(channel);
        return peer == null ? "" : forwarding.callerNetwork(request.requestHeaders(), peer);
    }
}
