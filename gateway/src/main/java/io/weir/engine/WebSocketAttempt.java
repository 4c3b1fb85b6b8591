package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshakeException;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.weir.health.Breaker.Permission;
import io.weir.instance.HandshakeAnswer;
import io.weir.instance.HandshakeHead;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.http.HttpOperations;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.http.client.HttpClientResponse;
import reactor.netty.http.client.WebsocketClientSpec;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * A try to open a WebSocket at the backend, and the tunnel that it becomes; or an answer like any other, if the backend opens none.
 *
 * <p>Frames pass as they are, pings and pongs included; a side that closes has its status passed on to the other. Extensions are not
 * offered, so that frames need not be translated.
 *
 * <p>Limitation: of an answer over HTTP/2 that opens none only the head is passed on, since Reactor Netty's client drops the rest unseen.
 *
 * <p>Concurrency: as in {@link HttpAttempt}. Frames flow on the two connections' event loops; what they leave behind for the exchange
 * is volatile.
 */
final class WebSocketAttempt extends HttpAttempt {

    /** The largest frame that passes. */
    static final int MAX_FRAME_BYTES = 1024 * 1024;

    /** A side that has been sent a close frame is closed after this, whether it took that or not. */
    private static final int CLOSING_SECONDS = 2;

    private static final WebSocketCloseStatus BAD_GATEWAY = new WebSocketCloseStatus(1014, "Bad gateway");

    private @Nullable Connection opened;
    private volatile @Nullable HttpOperations<?, ?> handshake;
    private volatile @Nullable HandshakeAnswer answer;
    private volatile long lastMoved;
    private volatile long bytes;
    private volatile @Nullable WebsocketOutbound callerSide;
    private WebSocketCloseStatus closing = WebSocketCloseStatus.ENDPOINT_UNAVAILABLE;

    WebSocketAttempt(Exchange exchange, Permission permission, long now) {
        super(exchange, permission, now);
    }

    @Override
    void start() {
        // They may stand in several fields; none are as good as an empty one.
        String protocols =
                String.join(", ", exchange.caller().headers().getAll(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL));
        WebsocketClientSpec.Builder spec = WebsocketClientSpec.builder()
                .handlePing(true)
                .maxFramePayloadLength(MAX_FRAME_BYTES)
                .protocols(protocols);
        backend.pool()
                .client()
                .doOnRequest(this::prepare)
                .websocket(spec.build())
                .uri(target())
                .connect()
                .flatMap(answered -> received((HttpClientResponse) answered, answered))
                .subscribe(this);
    }

    /** There is a connection, on whose event loop this is called, and the handshake is about to be sent. */
    private void prepare(HttpClientRequest head, Connection on) {
        asksOn(on);
        handshake = (HttpOperations<?, ?>) on;
        HttpHeaders headers = head.requestHeaders();
        headers.clear();
        writeHead(headers);
        // The handshake is the gateway's own; so are its key and what it offers. Netty gives the caller's a length:
        // over HTTP/2, frames would exceed it.
        headers.remove(HttpHeaderNames.CONTENT_LENGTH)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_KEY)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_VERSION)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_EXTENSIONS)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL);
        HandshakeHead.keep(head, on.channel());
        if (!(on.channel() instanceof Http2StreamChannel)) {
            answer = HandshakeAnswer.await(on);
        }
    }

    @Override
    void take(HttpClientResponse head, Connection from) {
        HandshakeAnswer awaited = answer;
        if (awaited != null && awaited.isRefused()) {
            super.take(head, from);
        } else if (isCancelled()) {
            from.dispose();
        } else {
            opened = from;
            lastMoved = exchange.now();
            tunnelOpened(((WebsocketInbound) from.inbound()).selectedSubprotocol(), this::tunnel);
        }
    }

    @Override
    public void onError(Throwable failure) {
        run(() -> {
            HttpOperations<?, ?> asked = handshake;
            if (asked == null || answer != null || !(failure instanceof WebSocketClientHandshakeException refused)) {
                failed(failure);
            } else if (refused.response() != null) {
                answeredWithoutUpgrade(refused.response());
            } else if (asked.hasSentHeaders()) {
                failed(failure);
            } else {
                // It has said in its settings that it opens none. No fault of its own: whoever asks it for one should
                // know.
                exchange.refuse(Reason.BAD_REQUEST, "the backend opens no WebSockets over HTTP/2");
            }
        });
    }

    @Override
    void abandon() {
        Connection open = opened;
        if (open == null) {
            super.abandon();
            return;
        }
        WebsocketOutbound towardsCaller = callerSide;
        if (towardsCaller != null) {
            end(towardsCaller);
        }
        end((WebsocketOutbound) open.outbound());
    }

    /** Reactor Netty has put the handshake in the place of the request. No such connection is ever given back. */
    @Override
    void dispose(Connection mine) {
        Connection.from(mine.channel()).dispose();
    }

    /** Closes a side; by force if it takes no more, and so not the close frame that waits behind what it has not taken. */
    @SuppressWarnings("FutureReturnValueIgnored") // Nobody waits for it.
    private void end(WebsocketOutbound side) {
        side.withConnection(of -> {
            if (of.channel().isActive()) {
                of.channel().eventLoop().schedule(of::dispose, CLOSING_SECONDS, TimeUnit.SECONDS);
            }
        });
        close(side, closing).subscribe();
    }

    /** The tunnel ends with a close frame on both sides. */
    @Override
    boolean tellsCaller(Reason why) {
        if (opened == null) {
            return false;
        }
        closing = why == Reason.SHUTTING_DOWN
                ? WebSocketCloseStatus.ENDPOINT_UNAVAILABLE
                : new WebSocketCloseStatus(WebSocketCloseStatus.POLICY_VIOLATION.code(), why.word());
        return true;
    }

    @Override
    boolean withdraw() {
        // A handshake may be sent again in any case.
        return !connected();
    }

    @Override
    long lastMovedNanos() {
        return opened == null ? super.lastMovedNanos() : lastMoved;
    }

    @Override
    long answerBytes() {
        return opened == null ? super.answerBytes() : bytes;
    }

    /** Passes frames in both directions; completes when both sides are closed. */
    private Publisher<Void> tunnel(WebsocketInbound fromCaller, WebsocketOutbound toCaller) {
        Connection open = opened;
        if (open == null) {
            throw new IllegalStateException("no tunnel is open");
        }
        callerSide = toCaller;
        WebsocketInbound fromBackend = (WebsocketInbound) open.inbound();
        WebsocketOutbound toBackend = (WebsocketOutbound) open.outbound();
        if (isCancelled()) {
            return close(toCaller, closing);
        }
        Mono<Void> up = toBackend.sendObject(frames(fromCaller, false)).then().onErrorComplete();
        Mono<Void> down = toCaller.sendObject(frames(fromBackend, true)).then().onErrorComplete();
        return Mono.when(
                up.then(passClose(fromCaller, toBackend, WebSocketCloseStatus.ENDPOINT_UNAVAILABLE)),
                down.then(passClose(fromBackend, toCaller, BAD_GATEWAY)));
    }

    private WebSocketFrames frames(WebsocketInbound from, boolean down) {
        return new WebSocketFrames(from.receiveFrames(), frame -> {
            lastMoved = exchange.now();
            if (down) {
                long soFar = bytes + frame.content().readableBytes();
                bytes = soFar;
            }
        });
    }

    /** Closes one side as the other was closed; as {@code broken} if that just broke off. */
    private static Mono<Void> passClose(WebsocketInbound from, WebsocketOutbound to, WebSocketCloseStatus broken) {
        return Mono.defer(() -> from.receiveCloseStatus()
                .defaultIfEmpty(broken)
                .flatMap(status -> close(to, sendable(status, broken))));
    }

    private static WebSocketCloseStatus sendable(WebSocketCloseStatus status, WebSocketCloseStatus broken) {
        return status.code() == WebSocketCloseStatus.ABNORMAL_CLOSURE.code() ? broken : status;
    }

    private static Mono<Void> close(WebsocketOutbound side, WebSocketCloseStatus status) {
        boolean without = status.code() == WebSocketCloseStatus.EMPTY.code() || status.code() < 0;
        return (without ? side.sendClose() : side.sendClose(status.code(), status.reasonText())).onErrorComplete();
    }
}
