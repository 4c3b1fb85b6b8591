package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.edge.HopByHop;
import io.weir.edge.RequestTrailers;
import io.weir.edge.Via;
import io.weir.engine.Backend;
import io.weir.engine.Caller;
import io.weir.engine.Engine;
import io.weir.engine.Exchange;
import io.weir.engine.OwnedBuffer;
import io.weir.engine.Route;
import io.weir.outcome.Refusal;
import java.net.URI;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * The general door's caller: the request as Spring Cloud Gateway's filters left it, and the answer as they are to see it.
 *
 * <p>{@link #untilHead} is what the routing filter returns: it completes when the answer's head is on the exchange's response, so that response
 * filters run, and fails with {@link Refused} when the gateway answers itself. The body is taken by {@link BackendAnswerFilter}.
 */
final class GeneralCaller implements Caller, InboundFacts {

    /** The attribute under which it travels with Spring's exchange. */
    static final String ATTRIBUTE = GeneralCaller.class.getName();

    private final Inbound inbound;
    private final ServerWebExchange web;
    private final boolean preserveHost;
    private final boolean serverTiming;
    private final Exchange exchange;
    private @Nullable MonoSink<Void> head;
    private @Nullable Flux<DataBuffer> body;
    private @Nullable ByteBuf whole;

    /**
     * A caller that has not begun.
     *
     * @param web the exchange as the filters left it
     */
    GeneralCaller(
            Engine engine,
            Route route,
            Inbound inbound,
            long arrivedAt,
            ServerWebExchange web,
            boolean preserveHost,
            boolean serverTiming) {
        this.inbound = inbound;
        this.web = web;
        this.preserveHost = preserveHost;
        this.serverTiming = serverTiming;
        this.exchange = new Exchange(engine, route, this, arrivedAt);
    }

    /**
     * Begins the exchange; completes with the answer's head.
     *
     * @param begun what follows when it has begun
     */
    Mono<Void> untilHead(Runnable begun) {
        Runnable start = () -> {
            exchange.start();
            begun.run();
        };
        return Mono.create(sink -> {
            head = sink;
            // At once, if that has happened already: a filter's thread may come here behind the caller's leaving.
            sink.onCancel(this::cancelled);
            if (channel().eventLoop().inEventLoop()) {
                start.run();
            } else {
                // A filter has moved the request to another thread.
                channel().eventLoop().execute(start);
            }
        });
    }

    private void cancelled() {
        if (!inbound.isTunnel() && !channel().isActive()) {
            exchange.callerLeft();
        }
    }

    /** The answer's body; null if there is none, or it was taken. */
    @Nullable
    Flux<DataBuffer> takeBody() {
        Flux<DataBuffer> taken = body;
        body = null;
        whole = null;
        return taken;
    }

    Exchange exchange() {
        return exchange;
    }

    /** Gives back what nobody has taken. */
    void release() {
        ByteBuf left = whole;
        whole = null;
        if (left != null) {
            left.release();
        }
    }

    @Override
    public Inbound inbound() {
        return inbound;
    }

    @Override
    public Channel channel() {
        return inbound.channel();
    }

    @Override
    public HttpMethod method() {
        return HttpMethod.valueOf(web.getRequest().getMethod().name());
    }

    @Override
    public HttpHeaders headers() {
        return inbound.request().requestHeaders();
    }

    @Override
    public boolean hasBody() {
        org.springframework.http.HttpHeaders headers = web.getRequest().getHeaders();
        if (headers.getFirst("Transfer-Encoding") != null) {
            return true;
        }
        // A filter that takes the length away leaves the body.
        String length = headers.getFirst("Content-Length");
        return length == null ? inbound.hasBody() : !"0".equals(length);
    }

    @Override
    public Publisher<?> body() {
        return web.getRequest().getBody().map(buffer -> new OwnedBuffer(NettyDataBufferFactory.toByteBuf(buffer)));
    }

    @Override
    public HttpHeaders requestTrailers() {
        return RequestTrailers.of(channel());
    }

    /**
     * By the request's URI as the filters left it. RouteToRequestUrlFilter takes the query apart on its way into another URI: it loses
     * {@code &&}, and encodes once more what is encoded where {@code [} stands beside it.
     */
    @Override
    public String target() {
        URI asked = web.getRequest().getURI();
        String path = asked.getRawPath();
        return Inbound.target(path == null || path.isEmpty() ? "/" : path, asked.getRawQuery());
    }

    @Override
    public void writeHead(HttpHeaders toBackend, Backend backend) {
        web.getRequest().getHeaders().forEach(toBackend::set);
        inbound.finishHead(toBackend, backend, preserveHost);
    }

    @Override
    public void begin(int status, HttpHeaders headers, Publisher<ByteBuf> answer) {
        showHead(status, headers);
        NettyDataBufferFactory buffers =
                (NettyDataBufferFactory) web.getResponse().bufferFactory();
        body = Flux.from(answer).map(buffers::wrap);
        headSink().success();
    }

    @Override
    public void answer(int status, HttpHeaders headers, ByteBuf answer) {
        showHead(status, headers);
        if (answer.isReadable()) {
            NettyDataBufferFactory buffers =
                    (NettyDataBufferFactory) web.getResponse().bufferFactory();
            whole = answer;
            body = Flux.just(buffers.wrap(answer));
        } else {
            answer.release();
        }
        headSink().success();
    }

    private void showHead(int status, HttpHeaders fromBackend) {
        HopByHop.strip(fromBackend);
        Via.append(fromBackend);
        ServerHttpResponse response = web.getResponse();
        response.setStatusCode(HttpStatusCode.valueOf(status));
        org.springframework.http.HttpHeaders shown = response.getHeaders();
        for (String name : fromBackend.names()) {
            shown.put(name, fromBackend.getAll(name));
        }
        inbound.finishAnswerHead(inbound.response().responseHeaders());
        if (serverTiming) {
            inbound.writeServerTiming(
                    inbound.response().responseHeaders(), exchange.record().queueNanos(), exchange.backendNanosSoFar());
        }
    }

    @Override
    public void trailers(HttpHeaders trailers) {
        inbound.response().trailerHeaders(Trailers.into(trailers));
    }

    @Override
    public void refuse(Refusal refusal) {
        headSink().error(new Refused(refusal));
    }

    @Override
    public boolean asksForWebSocket() {
        return inbound.asksForWebSocket();
    }

    @Override
    public void upgrade(
            @Nullable String subprotocol, BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        // Spring's response is committed first, so that nobody writes to it behind the handshake.
        web.getResponse()
                .setComplete()
                .then(Mono.defer(() -> inbound.upgrade(subprotocol, tunnel)))
                .doFinally(signal -> exchange.tunnelClosed())
                .subscribe(
                        null,
                        failure -> headSink().error(failure),
                        () -> headSink().error(new TunnelEnded()));
    }

    @Override
    public void reset() {
        inbound.reset();
    }

    private MonoSink<Void> headSink() {
        MonoSink<Void> sink = head;
        if (sink == null) {
            throw new IllegalStateException("an exchange that nobody has begun");
        }
        return sink;
    }
}
