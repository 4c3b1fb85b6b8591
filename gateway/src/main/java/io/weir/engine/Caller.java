package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.authentication.ClientCertificate;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Refusal;
import java.net.InetAddress;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * The caller's side of an exchange, as a door presents it to the engine.
 *
 * <p>All methods are called on the event loop of {@link #channel()}, which is the exchange's. Exactly one of
 * {@link #begin}, {@link #answer}, {@link #refuse} and {@link #upgrade} is called, once, unless the caller
 * leaves before. {@link #reset} may follow.
 */
public interface Caller {

    /** The caller's connection, or its stream of an HTTP/2 connection. */
    Channel channel();

    /** The request's method. */
    HttpMethod method();

    /** The request's head as it was received. */
    HttpHeaders headers();

    /** The priority that a trusted proxy has set for the request; null: the route's. Called once. */
    default @Nullable Priority requestedPriority() {
        return null;
    }

    /**
     * The tenant that the request belongs to; null: none. Called for a request that has to wait, and for one
     * whose result the breaker counts, and only for a key that is no claim.
     */
    default @Nullable String tenant(TenantKey key) {
        return null;
    }

    /** The caller's address, from trusted proxies or the connection; null: the connection has none. */
    @Nullable
    InetAddress clientAddress();

    /**
     * The caller's address, from trusted proxies or the connection, or of an IPv6 address its network; empty
     * if the connection has none.
     */
    String callerNetwork();

    /** The certificate that the caller has shown in its TLS handshake, trusted by the edge; null: none. */
    default @Nullable ClientCertificate clientCertificate() {
        return null;
    }

    /** Whether the request has a body. */
    boolean hasBody();

    /** Whether the caller waits for {@code 100 Continue} before it sends the body. */
    default boolean expectsContinue() {
        return headers().contains(HttpHeaderNames.EXPECT, HttpHeaderValues.CONTINUE, true);
    }

    /**
     * The request's body: byte buffers or holders of them, lent for the time of {@code onNext}, or {@link
     * OwnedBuffer}s. Subscribed once.
     */
    Publisher<?> body();

    /** The request's trailers; read after the end of the body. */
    HttpHeaders requestTrailers();

    /** The path and query of the request to the backend; called after the exchange has its permit. */
    String target();

    /**
     * Writes the head of the request to the backend, without {@code X-Request-Timeout}; called for each
     * attempt.
     *
     * @param authority the {@code Host} of the instance that the request goes to
     */
    void writeHead(HttpHeaders toBackend, String authority);

    /**
     * Sends the head of the backend's answer, and its body as it arrives. {@link Exchange#flushed()} follows
     * when the last byte is flushed to the caller; {@link Exchange#callerLeft()} follows if the answer cannot
     * be written.
     */
    void begin(int status, HttpHeaders headers, Publisher<ByteBuf> body);

    /** Sends a complete answer. The callee owns the body. The same events follow as for {@link #begin}. */
    void answer(int status, HttpHeaders headers, ByteBuf body);

    /** The size of the body that {@link #refuse} sends, in bytes. */
    int refusalBytes(Refusal refusal);

    /** Sends the gateway's own answer. */
    void refuse(Refusal refusal);

    /** Whether the caller asks for a WebSocket. */
    boolean asksForWebSocket();

    /**
     * Opens the caller's WebSocket after the backend's. {@link Exchange#tunnelClosed()} follows when the
     * tunnel has ended.
     *
     * @param subprotocol the backend's choice; null: none
     * @param fromBackend the head of the backend's answer
     * @param maxFrameBytes the largest frame of the caller that passes
     * @param tunnel passes frames between the backend and the caller's two directions
     */
    void upgrade(
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            int maxFrameBytes,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel);

    /** Breaks off an answer that has begun, so that its receiver cannot take it for complete. */
    void reset();

    /**
     * Whether an answer that fails after it has begun ends with trailers that tell the reason (gRPC over
     * HTTP/2); otherwise it is {@link #reset}. Callable from any thread.
     */
    boolean readsFailureInTrailers();

    /** Sets the answer's trailers; read after the end of the body. */
    void trailers(HttpHeaders trailers);
}
