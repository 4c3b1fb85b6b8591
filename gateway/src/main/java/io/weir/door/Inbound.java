package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
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
import io.weir.deadline.CallerTimeout;
import io.weir.edge.Forwarding;
import io.weir.edge.HopByHop;
import io.weir.edge.LastResponseHandler;
import io.weir.edge.RequestId;
import io.weir.edge.RequestTarget;
import io.weir.edge.RequestTrailers;
import io.weir.edge.TraceParent;
import io.weir.edge.Via;
import io.weir.engine.Backend;
import io.weir.engine.Exchange;
import io.weir.outcome.Problem;
import io.weir.outcome.Refusal;
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
 * One request as it came in, and what both doors do with it in the same way: the head that goes to the backend, the gateway's own answer,
 * breaking off, knowing when all is flushed.
 *
 * <p>Confined to the event loop of its connection.
 */
final class Inbound implements RequestFacts {

    /** Stands for a target that cannot be read. */
    static final RequestTarget UNREADABLE = RequestTarget.parse("/", false);

    /** The largest WebSocket frame that passes. */
    private static final int MAX_FRAME_BYTES = 1024 * 1024;

    private static final AsciiString WEBSOCKET_VERSION = AsciiString.cached("13");

    private static final Pattern SLASHES = Pattern.compile("/{2,}");

    private static final AsciiString SERVER_TIMING = AsciiString.cached("server-timing");

    private final HttpServerRequest request;
    private final HttpServerResponse response;
    private final Channel channel;
    private final RequestTarget target;
    private final Forwarding forwarding;
    private final String door;
    private final long readIdleNanos;
    private boolean hasTunnel;
    private @Nullable String requestId;

    Inbound(
            HttpServerRequest request,
            HttpServerResponse response,
            RequestTarget target,
            Forwarding forwarding,
            String door,
            long readIdleNanos) {
        this.request = request;
        this.response = response;
        this.channel = ((ChannelOperations<?, ?>) response).channel();
        this.target = target;
        this.forwarding = forwarding;
        this.door = door;
        this.readIdleNanos = readIdleNanos;
        if (channel instanceof Http2StreamChannel
                && request.requestHeaders().contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            RequestTrailers.keep(channel);
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

    /** Whether the request has a body; an HTTP/2 one of unknown length is shown as chunked. */
    boolean hasBody() {
        HttpHeaders headers = request.requestHeaders();
        if (headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            return true;
        }
        String length = headers.get(HttpHeaderNames.CONTENT_LENGTH);
        return length != null && !"0".equals(length);
    }

    /**
     * Whether the caller asks for a WebSocket, by all that RFC 6455 wants of a handshake (4.2.1). What has not all of it is a request like any other, whose {@code Upgrade} goes
     * no further: the gateway could open the backend's side, and never the caller's.
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
     * What the backend is asked for: a path as filters left it, with the slashes merged that they may have put beside each other, and the query.
     *
     * @param query as it came; null: none
     */
    static String target(String path, @Nullable String query) {
        String merged = path.contains("//") ? SLASHES.matcher(path).replaceAll("/") : path;
        return query == null ? merged : merged + '?' + query;
    }

    /**
     * Makes the head that goes to the backend of one that the route's filters have been through.
     *
     * @param preserveHost whether the backend sees the caller's {@code Host}, or what a filter has put in its place
     */
    void finishHead(HttpHeaders toBackend, Backend backend, boolean preserveHost) {
        String host = host();
        String preserved = preserveHost ? toBackend.get(HttpHeaderNames.HOST) : null;
        HopByHop.strip(toBackend);
        toBackend.remove(HttpHeaderNames.EXPECT);
        toBackend.remove(CallerTimeout.X_REQUEST_TIMEOUT);
        toBackend.set(HttpHeaderNames.HOST, preserved == null ? backend.authority() : preserved);
        toBackend.set(RequestId.X_REQUEST_ID, requestId());
        InetSocketAddress peer = (InetSocketAddress) request.connectionRemoteAddress();
        if (peer != null) {
            forwarding.write(
                    toBackend, request.requestHeaders(), peer, request.connectionScheme(), host == null ? "" : host);
        }
        Via.append(toBackend);
    }

    /** Makes the answer's head of the backend's. */
    void writeHead(int status, HttpHeaders fromBackend) {
        HttpHeaders head = response.responseHeaders();
        head.set(fromBackend);
        HopByHop.strip(head);
        Via.append(head);
        response.status(HttpResponseStatus.valueOf(status));
        finishAnswerHead(head);
    }

    /** What every answer carries; the framing, if the backend's was by chunks. */
    void finishAnswerHead(HttpHeaders head) {
        head.set(RequestId.X_REQUEST_ID, requestId());
        if (!head.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            if (HttpVersion.HTTP_1_0.equals(request.version())) {
                // It knows no chunks: the end of the connection is the end of the body.
                head.remove(HttpHeaderNames.TRANSFER_ENCODING);
                response.keepAlive(false);
            } else {
                head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            }
        } else if (HttpVersion.HTTP_1_0.equals(request.version()) && request.isKeepAlive()) {
            // It stays connected only if it is told so.
            head.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
        }
    }

    /** Says how long the request waited, and how long the backend took. */
    void writeServerTiming(HttpHeaders head, long queueNanos, long backendNanos) {
        head.add(SERVER_TIMING, "queue;dur=" + millis(queueNanos) + ", backend;dur=" + millis(backendNanos));
    }

    private static String millis(long nanos) {
        long micros = nanos / 1_000;
        return micros / 1_000 + "." + String.valueOf(1_000 + micros % 1_000).substring(1);
    }

    /** Writes the gateway's own answer into the head, and gives its body. */
    ByteBuf writeRefusal(Refusal refusal) {
        HttpHeaders head = response.responseHeaders();
        head.set(RequestId.X_REQUEST_ID, requestId());
        if (Problem.isGrpc(request.requestHeaders())) {
            Problem.writeGrpc(refusal, head);
            return Unpooled.EMPTY_BUFFER;
        }
        response.status(refusal.reason().status());
        Problem.writeHead(refusal, head);
        ByteBuf body = Problem.body(refusal, channel.alloc());
        if (!HttpMethod.HEAD.equals(request.method())) {
            return body;
        }
        // As long as it would have been for a GET.
        head.remove(HttpHeaderNames.TRANSFER_ENCODING);
        head.set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.readableBytes()));
        body.release();
        return Unpooled.EMPTY_BUFFER;
    }

    /** Whether it has become a tunnel, which tells by its own end that the caller has left: the backend is to hear how. */
    boolean isTunnel() {
        return hasTunnel;
    }

    /** Opens the caller's WebSocket; completes when the tunnel has ended. */
    Mono<Void> upgrade(
            @Nullable String subprotocol, BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        hasTunnel = true;
        WebsocketServerSpec.Builder spec =
                WebsocketServerSpec.builder().handlePing(true).maxFramePayloadLength(MAX_FRAME_BYTES);
        if (subprotocol != null) {
            spec.protocols(subprotocol);
            // Of several fields in which the caller may have named it, Netty reads one.
            request.requestHeaders().set(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL, subprotocol);
        }
        response.responseHeaders().set(RequestId.X_REQUEST_ID, requestId());
        // Reactor Netty's own end of it is the handshake's; the tunnel's is told apart.
        Sinks.Empty<Void> ended = Sinks.empty();
        // Cached: it goes on to its end when Reactor Netty cancels it because the caller has closed, so that the
        // backend hears how.
        return response.sendWebsocket(
                        (in, out) -> Mono.from(tunnel.apply(in, out))
                                .doFinally(signal -> ended.tryEmitEmpty())
                                .cache(),
                        spec.build())
                .then(ended.asMono());
    }

    /** Breaks off: RST for a connection, RST_STREAM for a stream. */
    void reset() {
        if (channel instanceof Http2StreamChannel) {
            channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.INTERNAL_ERROR))
                    .addListener(ChannelFutureListener.CLOSE);
        } else {
            // Nothing is sent after what was: a caller must not take this for the end of the answer.
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.unsafe().close(channel.voidPromise());
        }
    }

    /** Whether the connection is there, or is gone because the answer that has just been written was its last one: then it was closed behind it. */
    boolean isThere() {
        return channel.isActive() || LastResponseHandler.isLastResponseFlushed(channel);
    }

    /** Tells the exchange when what was written is flushed, or cannot be. The answer has been completed towards Reactor Netty. */
    void awaitFlush(Exchange exchange, boolean wasActive) {
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        if (!(channel instanceof Http2StreamChannel)
                && wasActive
                && (buffer == null || buffer.totalPendingWriteBytes() == 0)) {
            // Flushed while it was written, the usual case; and closed after that, if it was the last answer.
            exchange.flushed();
            return;
        }
        if (exchange.isOver()) {
            limitTaking();
            return;
        }
        ((ChannelOperations<?, ?>) response).onTerminate().subscribe(null, failure -> exchange.callerLeft(), () -> {
            if (wasActive) {
                exchange.flushed();
            } else {
                exchange.callerLeft();
            }
        });
    }

    /**
     * Breaks off an answer that no exchange looks after, the gateway's own, if the caller does not take it in time. It is small, and has been completed towards Reactor
     * Netty.
     */
    void limitTaking() {
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        if (!channel.isActive() || (buffer != null && buffer.totalPendingWriteBytes() == 0)) {
            return;
        }
        ScheduledFuture<?> limit = channel.eventLoop().schedule(this::reset, readIdleNanos, TimeUnit.NANOSECONDS);
        ((ChannelOperations<?, ?>) response)
                .onTerminate()
                .subscribe(null, failure -> limit.cancel(false), () -> limit.cancel(false));
    }

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
        InetSocketAddress peer = (InetSocketAddress) request.connectionRemoteAddress();
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
        InetSocketAddress peer = (InetSocketAddress) request.connectionRemoteAddress();
        return peer == null ? "" : forwarding.callerAddress(request.requestHeaders(), peer);
    }
}
