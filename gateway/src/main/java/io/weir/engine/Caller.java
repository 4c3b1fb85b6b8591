package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.outcome.Refusal;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * The caller's side of an exchange, as a door presents it to the engine.
 *
 * <p>Everything is called on the event loop of {@link #channel()}, the exchange's own. Of {@link #begin}, {@link #answer} and {@link
 * #refuse} one is called, once; {@link #reset} may be called after {@link #begin}.
 */
public interface Caller {

    /** The caller's connection, or its stream of an HTTP/2 connection. */
    Channel channel();

    /** The request's method. */
    HttpMethod method();

    /** The request's head as it came in. */
    HttpHeaders headers();

    /** Whether the request has a body. */
    boolean hasBody();

    /** The request's body: byte buffers or holders of them, lent for the time of {@code onNext}, or {@link OwnedBuffer}s; subscribed once. */
    Publisher<?> body();

    /** The fields behind the request's body; read when the body has ended. */
    HttpHeaders requestTrailers();

    /** The path and query to ask the backend for; called once the exchange has its permit. */
    String target();

    /** Writes the head that goes to the backend, without {@code X-Request-Timeout}; called for each attempt. */
    void writeHead(HttpHeaders toBackend, Backend backend);

    /**
     * The backend's answer begins, and goes on in {@code body}. When its last byte is flushed to the caller, {@link Exchange#flushed()}
     * follows; if it cannot be written, {@link Exchange#callerLeft()}.
     */
    void begin(int status, HttpHeaders headers, Publisher<ByteBuf> body);

    /** The whole of the backend's answer; the callee owns the body. As {@link #begin} otherwise. */
    void answer(int status, HttpHeaders headers, ByteBuf body);

    /** The gateway's own answer. */
    void refuse(Refusal refusal);

    /** Whether the caller asks for a WebSocket. */
    boolean asksForWebSocket();

    /**
     * The backend has opened a WebSocket: opens the caller's. When the tunnel has ended, {@link Exchange#tunnelClosed()} follows.
     *
     * @param subprotocol what the backend has chosen; null: none
     * @param tunnel passes frames, given the caller's two directions
     */
    void upgrade(@Nullable String subprotocol, BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel);

    /** Breaks off an answer that has begun, so that nobody mistakes half of it for the whole. */
    void reset();

    /** Fields to add after the body; read when the body has ended. */
    void trailers(HttpHeaders trailers);
}
