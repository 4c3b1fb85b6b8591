package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.outcome.Refusal;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * The caller's side of an exchange, as a door presents it to the engine.
 *
 * <p>All methods are called on the exchange's event loop, which is that of the request's channel. Exactly one
 * of {@link #begin}, {@link #answer}, {@link #refuse} and {@link #upgrade} is called, once, unless the caller
 * leaves before. {@link #reset} may follow.
 */
public interface Caller {

    /** The request as it was received. */
    ReceivedRequest received();

    /** The request's method. */
    HttpMethod method();

    /** Whether the request has a body. */
    boolean hasBody();

    /**
     * The request's body: byte buffers or holders of them, lent for the time of {@code onNext}, or {@link
     * OwnedBuffer}s. Subscribed once.
     */
    Publisher<?> body();

    /** The path and query of the request to the backend; called after the exchange has its permit. */
    String target();

    /**
     * Writes the head of the request to the backend, without {@code X-Request-Timeout}; called for each
     * attempt.
     *
     * @param authority the {@code Host} of the instance that the request goes to
     */
    void writeHead(HttpHeaders toBackend, String authority);

    /** Whether the caller gets the early hints of the backend. */
    default boolean readsHints() {
        return false;
    }

    /**
     * Sends early hints (103, RFC 8297) before the answer; called only if {@link #readsHints()}.
     *
     * @param links the values of the {@code Link} fields
     */
    default void hint(List<String> links) {}

    /**
     * Sends the head of the backend's answer, and its body as it arrives. {@link Exchange#flushed()} follows
     * when the last byte is flushed to the caller; {@link Exchange#callerLeft()} follows if the answer cannot
     * be written.
     */
    void begin(int status, HttpHeaders headers, Publisher<ByteBuf> body);

    /** Sends a complete answer. The callee owns the body. The same events follow as for {@link #begin}. */
    void answer(int status, HttpHeaders headers, ByteBuf body);

    /** Sends the gateway's own answer. */
    void refuse(Refusal refusal);

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

    /** Sets the answer's trailers; read after the end of the body. */
    void trailers(HttpHeaders trailers);
}
