package io.weir.websocket;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.Connection;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * One side of a WebSocket's tunnel: the caller's connection or the backend's, and how it is closed.
 *
 * <p>Concurrency: any thread may call the methods. A close frame is made on the connection's event loop, and
 * only while the connection is open. Reactor Netty makes the frame at once, and never releases it if the
 * connection ends before the frame is written. On the event loop, the connection cannot end in between.
 */
public final class TunnelSide {

    /**
     * Time between a close frame and the end of the connection, whether the peer has read the frame or not.
     */
    private static final int CLOSE_TIMEOUT_SECONDS = 2;

    private final Connection connection;
    private final Channel channel;

    /** A side whose WebSocket is open. */
    public TunnelSide(Connection connection) {
        this.connection = connection;
        // Read now: an ended connection of Reactor Netty shows another channel, which has no event loop.
        this.channel = connection.channel();
    }

    /** The connection's channel. */
    public Channel channel() {
        return channel;
    }

    /** What the peer sends. */
    public WebsocketInbound inbound() {
        return (WebsocketInbound) connection.inbound();
    }

    /** What the peer gets. */
    public WebsocketOutbound outbound() {
        return (WebsocketOutbound) connection.outbound();
    }

    /**
     * Passes the close status of this side on to the other.
     *
     * @param ifBroken the status if this side broke off without one
     */
    public Mono<Void> passClose(TunnelSide to, WebSocketCloseStatus ifBroken) {
        return Mono.defer(() -> inbound()
                .receiveCloseStatus()
                .defaultIfEmpty(ifBroken)
                .flatMap(status -> to.sendClose(sendable(status, ifBroken))));
    }

    private static WebSocketCloseStatus sendable(WebSocketCloseStatus status, WebSocketCloseStatus ifBroken) {
        return status.code() == WebSocketCloseStatus.ABNORMAL_CLOSURE.code() ? ifBroken : status;
    }

    /** Sends a close frame, unless the connection has ended or a close frame has been sent. */
    public Mono<Void> sendClose(WebSocketCloseStatus status) {
        return Mono.defer(() -> {
                    if (!channel.isActive()) {
                        return Mono.empty();
                    }
                    EventLoop loop = channel.eventLoop();
                    return loop.inEventLoop()
                            ? sendCloseFrame(status)
                            // Asks again on the event loop: the connection may have ended in between.
                            : sendClose(status).subscribeOn(Schedulers.fromExecutor(loop));
                })
                .onErrorComplete();
    }

    private Mono<Void> sendCloseFrame(WebSocketCloseStatus status) {
        boolean isEmpty = status.code() == WebSocketCloseStatus.EMPTY.code() || status.code() < 0;
        return isEmpty ? outbound().sendClose() : outbound().sendClose(status.code(), status.reasonText());
    }

    /**
     * Sends a close frame. The connection of a peer that does not read, and so never gets the frame, is
     * disposed after a time-out.
     */
    @SuppressWarnings("FutureReturnValueIgnored") // Nothing depends on its completion.
    public void end(WebSocketCloseStatus status) {
        if (channel.isActive()) {
            channel.eventLoop().schedule(connection::dispose, CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        }
        sendClose(status).subscribe();
    }
}
