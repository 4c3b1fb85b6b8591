package io.weir.engine;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshakeException;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.weir.engine.Decision.Refuse;
import io.weir.instance.CloseFrameCheck;
import io.weir.instance.HandshakeAnswer;
import io.weir.instance.HandshakeHead;
import io.weir.instance.WebSocketStream;
import io.weir.outcome.Reason;
import io.weir.websocket.TunnelGate;
import io.weir.websocket.TunnelSide;
import io.weir.websocket.WebSocketFrames;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.Stream;
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
 * An attempt to open a WebSocket at the backend, and the tunnel that follows. If the backend opens none, its
 * answer is handled like any other.
 *
 * <p>Frames pass unchanged, the fragments of a message, pings and pongs included. A frame is held in memory
 * until it is complete, so its size has a limit. Extensions, such as {@code permessage-deflate}, are neither
 * accepted from the caller nor offered to the backend, so that frames need no translation.
 *
 * <p>The close status of one side is passed on to the other. If the caller breaks the protocol, the gateway
 * closes both sides with the same status, such as 1002 or 1009. It does not send 1001 to the backend: that
 * status says that the caller has left as usual. The backend has not received the wrong frame, so the reason
 * in its close frame names the caller. If the backend breaks the protocol, the backend receives the status
 * of its error, and the caller 1014 (bad gateway).
 *
 * <p>Limitation: if a backend refuses a WebSocket over HTTP/2, only the head of its answer is passed on.
 * Reactor Netty's client drops the body.
 *
 * <p>Concurrency: as in {@link HttpAttempt}. Frames flow on the event loops of the two connections; the
 * fields that the exchange reads are volatile.
 */
final class WebSocketAttempt extends HttpAttempt {

    /** The reason of a close frame to the backend if the caller has broken the protocol. */
    private static final String CALLERS_VIOLATION = "protocol error of the caller";

    private static final WebSocketCloseStatus BAD_GATEWAY = new WebSocketCloseStatus(1014, "Bad gateway");

    /** The status with which Tomcat and Jetty, too, close an idle session. */
    private static final WebSocketCloseStatus IDLE =
            new WebSocketCloseStatus(WebSocketCloseStatus.ENDPOINT_UNAVAILABLE.code(), "idle-timeout");

    private @Nullable TunnelSide backendSide;
    private volatile @Nullable HttpOperations<?, ?> handshake;
    private volatile @Nullable HandshakeHead handshakeHead;
    private volatile @Nullable HandshakeAnswer answer;
    private volatile long lastMovedAt;
    private volatile long bytes;
    private volatile @Nullable TunnelSide callerSide;
    private WebSocketCloseStatus closeStatus = WebSocketCloseStatus.ENDPOINT_UNAVAILABLE;

    WebSocketAttempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        super(exchange, admission, evidence, now);
    }

    @Override
    public void start() {
        // The request may contain several such fields. Without a protocol the list is empty, as the client
        // expects.
        String list = String.join(
                ", ", exchange.record().caller().received().headers().getAll(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL));
        List<String> protocols = Stream.of(list.split(","))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList();
        WebsocketClientSpec.Builder spec = WebsocketClientSpec.builder()
                .handlePing(true)
                .maxFramePayloadLength(exchange.resources().limits().maxFrameBytes())
                .protocols(protocols.isEmpty() ? "" : list);
        instance.pool()
                .client()
                .doOnRequest((head, on) -> prepareHandshake(head, on, protocols))
                .websocket(spec.build())
                .uri(target())
                .connect()
                .doOnNext(answered -> checkCloseFrames(answered.channel()))
                .flatMap(answered -> onResponse((HttpClientResponse) answered, answered))
                .subscribe(this);
    }

    /**
     * The connection is established, and the handshake is about to be sent. On the connection's event loop.
     */
    private void prepareHandshake(HttpClientRequest head, Connection on, List<String> protocols) {
        connected(on);
        handshake = (HttpOperations<?, ?>) on;
        HttpHeaders headers = head.requestHeaders();
        headers.clear();
        writeHead(headers);
        // The gateway makes its own handshake, with its own key and offers. Netty adds a length to the
        // caller's handshake; over HTTP/2, frames would exceed it.
        headers.remove(HttpHeaderNames.CONTENT_LENGTH)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_KEY)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_VERSION)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_EXTENSIONS)
                .remove(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL);
        handshakeHead = HandshakeHead.keep(head, on.channel(), protocols);
        if (on.channel() instanceof Http2StreamChannel) {
            WebSocketStream.install(on.channel());
        } else {
            answer = HandshakeAnswer.await(on);
        }
    }

    /** Called before the first frame, on its event loop. {@link HandshakeAnswer} does it over HTTP/1.1. */
    private static void checkCloseFrames(Channel connection) {
        if (connection instanceof Http2StreamChannel) {
            CloseFrameCheck.install(connection);
        }
    }

    @Override
    void receiveHead(HttpClientResponse head, Connection from) {
        HandshakeAnswer awaited = answer;
        if (awaited != null && awaited.isRefused()) {
            super.receiveHead(head, from);
        } else if (isCancelled()) {
            from.dispose();
        } else {
            TunnelSide opened = new TunnelSide(from);
            backendSide = opened;
            lastMovedAt = exchange.now();
            opened(this, subprotocol(opened), head.responseHeaders(), this::tunnel);
        }
    }

    /** The backend has opened a WebSocket: the call becomes a tunnel. */
    static void opened(
            Attempt attempt,
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        ExchangeContext exchange = attempt.exchange;
        long now = exchange.now();
        int status = HttpResponseStatus.SWITCHING_PROTOCOLS.code();
        attempt.instance.readCapacity(fromBackend, now);
        attempt.outcomes().answered(status, now);
        attempt.report(null, now);
        exchange.becomesTunnel();
        attempt.permits().upgraded(now);
        exchange.answerBegins(attempt, status, now);
        exchange.record()
                .caller()
                .upgrade(
                        subprotocol,
                        attempt.withSession(fromBackend),
                        exchange.resources().limits().maxFrameBytes(),
                        tunnel);
    }

    /** The subprotocol that the backend has chosen; null: none. */
    private @Nullable String subprotocol(TunnelSide opened) {
        HandshakeHead sent = handshakeHead;
        return sent == null || sent.hasNoSubprotocol() ? null : opened.inbound().selectedSubprotocol();
    }

    @Override
    public void onError(Throwable failure) {
        Throwable _ = checkUnsent(failure);
        runOnExchangeLoop(() -> {
            HttpOperations<?, ?> sent = handshake;
            if (sent == null || answer != null || !(failure instanceof WebSocketClientHandshakeException refused)) {
                failed(failure);
            } else if (refused.response() != null
                    && !HttpResponseStatus.OK.equals(refused.response().status())) {
                answeredWithoutUpgrade(refused.response());
            } else if (sent.hasSentHeaders()) {
                failed(failure);
            } else {
                // The backend's HTTP/2 settings exclude WebSockets. The request is wrong; the backend has not
                // failed.
                exchange.apply(new Refuse(Reason.BAD_REQUEST, "the backend opens no WebSockets over HTTP/2"));
            }
        });
    }

    /** The backend refused the handshake over HTTP/2 with another status than 200. Its body is lost. */
    private void answeredWithoutUpgrade(HttpResponse refusal) {
        long now = exchange.now();
        int status = refusal.status().code();
        instance.readCapacity(refusal.headers(), now);
        outcomes().answered(status, now);
        report(backend.settings().failureStatuses().get(status) ? BackendFailures.ofStatus(status) : null, now);
        cancel();
        exchange.record().status = status;
        endAnswered(now);
        HttpHeaders headers = new DefaultHttpHeaders().set(refusal.headers());
        headers.setInt(HttpHeaderNames.CONTENT_LENGTH, 0);
        exchange.record().caller().answer(status, withSession(headers), Unpooled.EMPTY_BUFFER);
    }

    @Override
    void stop() {
        TunnelSide backendsEnd = backendSide;
        if (backendsEnd == null) {
            super.stop();
            return;
        }
        TunnelSide callersEnd = callerSide;
        if (callersEnd != null) {
            callersEnd.end(closeStatus);
        }
        backendsEnd.end(closeStatus);
    }

    /**
     * Reactor Netty has replaced the request's operations by the handshake's. The connection is never reused.
     */
    @Override
    void dispose(Connection mine) {
        Connection.from(mine.channel()).dispose();
    }

    /** A tunnel ends with a close frame to both sides. */
    @Override
    public boolean closesCallerSide(Reason why) {
        if (backendSide == null) {
            return false;
        }
        closeStatus = switch (why) {
            case SHUTTING_DOWN -> WebSocketCloseStatus.ENDPOINT_UNAVAILABLE;
            // The instance has left: another connection leads to another instance.
            case CONNECTION_LOST -> WebSocketCloseStatus.SERVICE_RESTART;
            // A tunnel has no deadline; only its idle time-out ends with this reason.
            case DEADLINE_EXCEEDED -> IDLE;
            default -> new WebSocketCloseStatus(WebSocketCloseStatus.POLICY_VIOLATION.code(), why.word());
        };
        return true;
    }

    @Override
    public boolean withdraw() {
        // No atomic decision is necessary: a handshake may be repeated even if the backend has received it.
        return !isConnected() || isUnsent();
    }

    @Override
    public long lastMovedNanos() {
        return backendSide == null ? super.lastMovedNanos() : lastMovedAt;
    }

    @Override
    public long answerBytes() {
        return backendSide == null ? super.answerBytes() : bytes;
    }

    /** Passes frames in both directions; completes when both sides are closed. */
    private Publisher<Void> tunnel(WebsocketInbound fromCaller, WebsocketOutbound toCaller) {
        TunnelSide backendsEnd = backendSide;
        if (backendsEnd == null) {
            throw new IllegalStateException("no tunnel is open");
        }
        TunnelSide callersEnd = new TunnelSide((Connection) fromCaller);
        callerSide = callersEnd;
        CloseFrameCheck.install(callersEnd.channel());
        if (isCancelled()) {
            return callersEnd.sendClose(closeStatus);
        }
        WebSocketFrames callersFrames =
                frames(fromCaller, new TunnelGate(callersEnd.channel(), backendsEnd.channel()), false);
        Mono<Void> up = backendsEnd.outbound().sendObject(callersFrames).then().onErrorComplete();
        TunnelGate downwards = new TunnelGate(backendsEnd.channel(), callersEnd.channel());
        Mono<Void> down = toCaller.sendObject(frames(backendsEnd.inbound(), downwards, true))
                .then()
                .onErrorComplete();
        return Mono.when(
                up.then(passCallersClose(callersFrames, callersEnd, backendsEnd)),
                down.then(backendsEnd.passClose(callersEnd, BAD_GATEWAY)));
    }

    private WebSocketFrames frames(WebsocketInbound from, TunnelGate gate, boolean isAnswer) {
        gate.install();
        return new WebSocketFrames(from.receiveFrames(), gate, frame -> {
            lastMovedAt = exchange.now();
            if (isAnswer) {
                long soFar = bytes + frame.content().readableBytes();
                bytes = soFar;
            }
        });
    }

    /** Passes the caller's close status on to the backend, or the status for the caller's protocol error. */
    private static Mono<Void> passCallersClose(WebSocketFrames frames, TunnelSide from, TunnelSide to) {
        return Mono.defer(() -> {
            WebSocketCloseStatus violation = frames.violation();
            return violation == null
                    ? from.passClose(to, WebSocketCloseStatus.ENDPOINT_UNAVAILABLE)
                    : to.sendClose(new WebSocketCloseStatus(violation.code(), CALLERS_VIOLATION));
        });
    }
}
