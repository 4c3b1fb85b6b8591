package io.weir.engine;

import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshakeException;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.weir.circuitbreaker.Breaker.Permission;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.http.client.WebsocketClientSpec;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * A try to open a WebSocket at the backend, and the tunnel that it becomes.
 *
 * <p>Frames pass as they are, pings and pongs included; a side that closes has its status passed on to the other. Extensions are not
 * offered, so that frames need not be translated.
 *
 * <p>Concurrency: as in {@link HttpAttempt}. Frames flow on the two connections' event loops; what they leave behind for the exchange
 * is volatile.
 */
final class WebSocketAttempt extends Attempt implements CoreSubscriber<Connection> {

    /** The largest frame that passes. */
    static final int MAX_FRAME_BYTES = 1024 * 1024;

    /** A side that has been sent a close frame is closed after this, whether it took that or not. */
    private static final int CLOSING_SECONDS = 2;

    private static final WebSocketCloseStatus BAD_GATEWAY = new WebSocketCloseStatus(1014, "Bad gateway");

    private @Nullable Subscription subscription;
    private @Nullable Connection connection;
    private volatile boolean cancelled;
    private volatile boolean connected;
    private volatile long lastMoved;
    private volatile long bytes;
    private volatile @Nullable WebsocketOutbound callerSide;
    private WebSocketCloseStatus closing = WebSocketCloseStatus.ENDPOINT_UNAVAILABLE;

    WebSocketAttempt(Exchange exchange, Permission permission, long now) {
        super(exchange, permission, now);
    }

    @Override
    void start() {
        Caller caller = exchange.caller();
        String protocols = caller.headers().get(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL);
        WebsocketClientSpec.Builder spec =
                WebsocketClientSpec.builder().handlePing(true).maxFramePayloadLength(MAX_FRAME_BYTES);
        if (protocols != null) {
            spec.protocols(protocols);
        }
        lastMoved = exchange.now();
        backend.pool()
                .client()
                .headers(this::writeHandshake)
                .websocket(spec.build())
                .uri(target())
                .connect()
                .subscribe(this);
    }

    private void writeHandshake(HttpHeaders headers) {
        writeHead(headers);
        // The handshake is the gateway's own; so are its key and what it offers.
        headers.remove(HttpHeaderNames.SEC_WEBSOCKET_KEY)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_VERSION)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_EXTENSIONS)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL);
    }

    @Override
    void cancel() {
        cancelled = true;
        WebsocketOutbound towardsCaller = callerSide;
        if (towardsCaller != null) {
            end(towardsCaller);
        }
        Connection open = connection;
        if (open != null) {
            end((WebsocketOutbound) open.outbound());
        } else {
            Subscription current = subscription;
            if (current != null) {
                current.cancel();
            }
        }
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
        closing = why == Reason.SHUTTING_DOWN
                ? WebSocketCloseStatus.ENDPOINT_UNAVAILABLE
                : new WebSocketCloseStatus(WebSocketCloseStatus.POLICY_VIOLATION.code(), why.word());
        return true;
    }

    @Override
    boolean connected() {
        return connected;
    }

    @Override
    long callerNanos(long now) {
        return 0;
    }

    @Override
    boolean waitsForUpload() {
        return false;
    }

    @Override
    long lastMovedNanos() {
        return lastMoved;
    }

    @Override
    long answerBytes() {
        return bytes;
    }

    @Override
    boolean heldUpByCaller() {
        return false;
    }

    @Override
    public void onSubscribe(Subscription s) {
        subscription = s;
        s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Connection opened) {
        connected = true;
        run(() -> opened(opened));
    }

    private void opened(Connection open) {
        if (cancelled) {
            open.dispose();
            return;
        }
        connection = open;
        WebsocketInbound fromBackend = (WebsocketInbound) open.inbound();
        tunnelOpened(fromBackend.selectedSubprotocol(), this::tunnel);
    }

    @Override
    public void onComplete() {}

    @Override
    public void onError(Throwable failure) {
        run(() -> {
            if (cancelled) {
                return;
            }
            if (failure instanceof WebSocketClientHandshakeException refused && refused.response() != null) {
                answeredWithoutUpgrade(refused.response());
            } else {
                failed(failure);
            }
        });
    }

    private void run(Runnable event) {
        EventLoop loop = exchange.loop();
        if (loop.inEventLoop()) {
            event.run();
        } else {
            loop.execute(event);
        }
    }

    /** Passes frames in both directions; completes when both sides are closed. */
    private Publisher<Void> tunnel(WebsocketInbound fromCaller, WebsocketOutbound toCaller) {
        Connection open = connection;
        if (open == null) {
            throw new IllegalStateException("no tunnel is open");
        }
        callerSide = toCaller;
        WebsocketInbound fromBackend = (WebsocketInbound) open.inbound();
        WebsocketOutbound toBackend = (WebsocketOutbound) open.outbound();
        if (cancelled) {
            return close(toCaller, closing);
        }
        Mono<Void> up = toBackend.sendObject(frames(fromCaller, false)).then().onErrorComplete();
        Mono<Void> down = toCaller.sendObject(frames(fromBackend, true)).then().onErrorComplete();
        return Mono.when(
                up.then(passClose(fromCaller, toBackend, WebSocketCloseStatus.ENDPOINT_UNAVAILABLE)),
                down.then(passClose(fromBackend, toCaller, BAD_GATEWAY)));
    }

    private Frames frames(WebsocketInbound from, boolean answer) {
        return new Frames(from.receiveFrames(), frame -> {
            lastMoved = exchange.now();
            if (answer) {
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
