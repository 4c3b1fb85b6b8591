package io.weir.door;

import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.AsciiString;
import io.weir.authentication.ClientCertificate;
import io.weir.authentication.ReservedFields;
import io.weir.compression.CompressionRule;
import io.weir.cors.CorsRule;
import io.weir.deadline.CallerTimeout;
import io.weir.edge.CallerPeer;
import io.weir.edge.Forwarding;
import io.weir.edge.HopByHop;
import io.weir.edge.MalformedTargetException;
import io.weir.edge.RequestId;
import io.weir.edge.RequestTarget;
import io.weir.edge.RequestTrailers;
import io.weir.edge.StreamEndHandler;
import io.weir.edge.TraceParent;
import io.weir.edge.Via;
import io.weir.engine.Engine;
import io.weir.engine.ReceivedRequest;
import io.weir.engine.Route;
import io.weir.errorpage.ErrorPage;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * One request of a caller with its response, and the operations that both doors share: writing the heads
 * for the backend and for the caller. {@link RefusalResponse}, {@link ResponseCompression}, {@link
 * WebSocketUpgrade} and {@link ResponseEnd} do the rest.
 *
 * <p>Concurrency: confined to the event loop of its connection.
 */
final class InboundRequest implements RequestFacts, ReceivedRequest {

    /** Replaces a target that cannot be parsed. */
    static final RequestTarget UNREADABLE = RequestTarget.parse("/", false);

    private final HttpServerRequest request;
    private final HttpServerResponse response;
    private final Channel channel;
    private final RequestTarget target;
    private final Forwarding forwarding;
    private final @Nullable PriorityHeader priorityHeader;
    private final long readIdleNanos;
    private final boolean hasSecurityHeaders;
    private String door = FrontDoor.NONE;
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
            long readIdleNanos,
            boolean hasSecurityHeaders) {
        this.request = request;
        this.response = response;
        this.channel = ((ChannelOperations<?, ?>) response).channel();
        this.target = target;
        this.forwarding = forwarding;
        this.priorityHeader = priorityHeader;
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

    @Override
    public Channel channel() {
        return channel;
    }

    RequestTarget target() {
        return target;
    }

    /**
     * The request passes a door.
     *
     * @param rules the changes of its response
     * @param fields the fields that only the gateway may set, which it removes from the trailers, too; the
     *     head has none of them. Null: there are none
     */
    void enter(String through, AnswerRules rules, @Nullable ReservedFields fields) {
        door = through;
        answerRules = rules;
        reserved = fields;
    }

    /** Applies the rules of the request's route to its response. */
    void use(AnswerRules rules) {
        answerRules = rules;
    }

    /** Applies rules to the response unless the request's route has some. */
    void useUnlessRouted(AnswerRules rules) {
        if (answerRules.equals(AnswerRules.NONE)) {
            answerRules = rules;
        }
    }

    /** The page in place of {@code application/problem+json}; null: none. */
    byte @Nullable [] errorPage(Refusal refusal) {
        ErrorPage page = answerRules.errorPages().of(refusal.status());
        return page != null && AcceptedHtml.isPreferred(request.requestHeaders())
                ? page.body(refusal, requestId())
                : null;
    }

    @Override
    public HttpHeaders requestTrailers() {
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

    @Override
    public @Nullable ClientCertificate clientCertificate() {
        return ConnectionCertificate.of(channel);
    }

    @Override
    public @Nullable Priority requestedPriority() {
        if (priorityHeader != null && !isPriorityRead) {
            isPriorityRead = true;
            requestedPriority = priorityHeader.read(request.requestHeaders(), CallerPeer.of(channel));
        }
        return requestedPriority;
    }

    /**
     * The refusal of a request whose route is known, before it has an exchange; null: none.
     *
     * @param preservesPath whether the backend gets the path as it was received
     */
    @Nullable
    Refusal refusalBeforeExchange(Engine engine, Route route, boolean preservesPath) {
        if (preservesPath) {
            try {
                target.receivedPath();
            } catch (MalformedTargetException e) {
                return Refusal.of(Reason.BAD_REQUEST, e.getMessage());
            }
        }
        return engine.isAnyLoopShedding()
                ? engine.refusalByDelay(channel.eventLoop(), requestedPriority(), route.priority())
                : null;
    }

    @Override
    public @Nullable String tenant(TenantKey key) {
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

    @Override
    public String forwardedUri() {
        return target.pathAndQuery();
    }

    @Override
    public void writeGatewayFields(HttpHeaders toBackend, String authority, Priority priority) {
        writeForwarded(toBackend);
        completeBackendHead(toBackend, authority, false, priority);
    }

    @Override
    public void prepareHeads() {
        String _ = requestId();
        if (reserved != null && reserved.hasCertificates()) {
            ClientCertificate _ = clientCertificate();
        }
    }

    /** Writes the response's head from the backend's head. */
    void writeResponseHead(int status, HttpHeaders fromBackend) {
        HttpHeaders head = response.responseHeaders();
        head.set(fromBackend);
        HopByHop.strip(head);
        Via.append(head);
        response.status(HttpResponseStatus.valueOf(status));
        completeResponseHead();
    }

    /** Adds the fields of every response, and the framing if the backend's body is chunked. */
    void completeResponseHead() {
        HttpHeaders head = writeOwnFields();
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

    private HttpHeaders writeOwnFields() {
        HttpHeaders head = response.responseHeaders();
        head.set(RequestId.X_REQUEST_ID, requestId());
        if (hasSecurityHeaders) {
            SecurityHeaders.write(head, scheme());
        }
        return head;
    }

    /** Writes the route's CORS fields into the response's head, in place of the backend's. */
    void writeCors() {
        CorsRule cors = answerRules.cors();
        if (cors != null) {
            cors.write(request.requestHeaders(), response.responseHeaders());
        }
    }

    /** The rule by which the response is compressed; null: none. */
    @Nullable
    CompressionRule compression() {
        return isRefused ? null : answerRules.compression();
    }

    /** Writes the fields of a response that the gateway creates itself and that is no refusal. */
    void completeOwnHead(HttpResponseStatus status) {
        response.status(status);
        writeOwnFields();
    }

    /** Writes the fields of a refusal that do not depend on it, and returns the response's head. */
    HttpHeaders beginRefusal() {
        isRefused = true;
        HttpHeaders head = writeOwnFields();
        writeCors();
        return head;
    }

    /**
     * Whether the request has become a WebSocket tunnel. The end of the tunnel reports that the caller has
     * left, and brings the close frame for the backend.
     */
    boolean isTunnel() {
        return hasTunnel;
    }

    void becomesTunnel() {
        hasTunnel = true;
    }

    @Override
    public boolean readsFailureInTrailers() {
        return channel instanceof Http2StreamChannel && Problem.isGrpc(request.requestHeaders());
    }

    /** Whether the caller gets early hints: over HTTP/2, except gRPC, whose libraries ignore them. */
    boolean readsHints() {
        return channel instanceof Http2StreamChannel && !Problem.isGrpc(request.requestHeaders());
    }

    /** How long a response of the gateway may wait for a caller that reads nothing. */
    long readIdleNanos() {
        return readIdleNanos;
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
    public HttpHeaders headers() {
        return request.requestHeaders();
    }

    @Override
    public boolean asksForWebSocket() {
        return WebSocketUpgrade.isAskedFor(this);
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
        if (!hasBody) {
            return 0;
        }
        byte[] page = errorPage(refusal);
        return page == null ? Problem.length(refusal, requestId()) : page.length;
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

    @Override
    public @Nullable InetAddress clientAddress() {
        InetSocketAddress peer = CallerPeer.of(channel);
        return peer == null ? null : forwarding.clientAddress(request.requestHeaders(), peer);
    }

    @Override
    public String callerNetwork() {
        InetSocketAddress peer = CallerPeer.of(channel);
        return peer == null ? "" : forwarding.callerNetwork(request.requestHeaders(), peer);
    }
}
