package io.weir.door;

import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.engine.Caller;
import io.weir.engine.Engine;
import io.weir.engine.Exchange;
import io.weir.engine.Route;
import io.weir.ratelimit.Quota;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * The part of a caller that is the same for both doors. It is the {@code Mono} whose subscription starts the
 * exchange.
 */
abstract class DoorCaller extends Mono<Void> implements Caller {

    final InboundRequest inbound;
    final Exchange exchange;
    private final boolean serverTiming;

    /**
     * Creates a caller whose exchange has not started.
     *
     * @param serverTiming whether the response carries {@code Server-Timing}
     */
    DoorCaller(Engine engine, Route route, InboundRequest inbound, long arrivedAtNanos, boolean serverTiming) {
        this.inbound = inbound;
        this.serverTiming = serverTiming;
        this.exchange = new Exchange(engine, route, this, arrivedAtNanos);
    }

    @Override
    public final InboundRequest received() {
        return inbound;
    }

    /** Writes the request's fields, after the route's filters, into the head for the backend. */
    abstract void writeFields(HttpHeaders toBackend);

    /** Whether the backend sees the {@code Host} of the caller or of a filter, instead of its own name. */
    abstract boolean preservesHost();

    @Override
    public final void writeHead(HttpHeaders toBackend, String authority) {
        writeFields(toBackend);
        inbound.completeBackendHead(toBackend, authority, preservesHost(), exchange.attemptPriority());
        exchange.record().writeIdentity(toBackend);
    }

    @Override
    public final boolean readsHints() {
        return inbound.readsHints();
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // The answer's own write reports a caller who has left.
    public final void hint(List<String> links) {
        Channel channel = inbound.channel();
        if (channel.isActive() && channel.isWritable()) {
            // As a frame: Reactor Netty takes an HttpResponse other than 100 for the end of the answer.
            Http2Headers hints = new DefaultHttp2Headers().status(HttpResponseStatus.EARLY_HINTS.codeAsText());
            hints.add("link", links);
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(hints, false));
        }
    }

    /** Adds the gateway's times and the caller's quota to the response's head. */
    final void writeMeasures() {
        if (serverTiming) {
            ServerTiming.write(
                    inbound.response().responseHeaders(), exchange.record().queueNanos(), exchange.backendNanosSoFar());
        }
        writeQuota();
    }

    /** Adds the caller's quota to the response's head. */
    final void writeQuota() {
        Quota quota = exchange.record().quota();
        if (quota != null) {
            quota.writeTo(inbound.response().responseHeaders());
        }
    }

    /** What comes before the response of an upgrade. */
    abstract Mono<Void> beforeTunnel();

    /** The tunnel has ended; {@code failure} is null if it was open. */
    abstract void tunnelEnded(@Nullable Throwable failure);

    @Override
    public final void upgrade(
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            int maxFrameBytes,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        writeQuota();
        beforeTunnel()
                .then(Mono.defer(() -> WebSocketUpgrade.open(inbound, subprotocol, fromBackend, maxFrameBytes, tunnel)))
                .doFinally(signal -> exchange.tunnelClosed())
                .subscribe(null, this::tunnelEnded, () -> tunnelEnded(null));
    }

    @Override
    public final void trailers(HttpHeaders trailers) {
        inbound.response().trailerHeaders(Trailers.adding(trailers));
    }

    @Override
    public void reset() {
        ResponseEnd.reset(inbound.channel());
    }
}
