package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.body.OwnedBuffer;
import io.weir.edge.HopByHop;
import io.weir.edge.Via;
import io.weir.engine.Engine;
import io.weir.engine.Route;
import io.weir.outcome.Refusal;
import java.net.URI;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/**
 * The general door's caller: takes the request from Spring Cloud Gateway's filters, and gives them the
 * response.
 *
 * <p>The routing filter returns it as a {@code Mono}. It completes when Spring's response has the head, so
 * that response filters run; it fails with {@link RefusalException} when the gateway refuses.
 * {@link BackendAnswerFilter} takes the body.
 */
final class GeneralCaller extends DoorCaller {

    /** The attribute of Spring's exchange that holds the caller. */
    static final String ATTRIBUTE = GeneralCaller.class.getName();

    private final ChainRequest chained;
    private final ServerWebExchange web;
    private final boolean preserveHost;
    private final boolean preservePath;
    private @Nullable MonoSink<Void> head;
    private @Nullable Flux<DataBuffer> body;
    /** The body of a complete response until it is taken. */
    private @Nullable ByteBuf completeBody;

    /**
     * Creates a caller whose exchange has not started.
     *
     * @param web Spring's exchange after the filters
     */
    GeneralCaller(
            Engine engine,
            Route route,
            ChainRequest chained,
            ServerWebExchange web,
            boolean preserveHost,
            boolean preservePath,
            boolean serverTiming) {
        super(engine, route, chained.inbound(), chained.arrivedAtNanos(), serverTiming);
        this.chained = chained;
        this.web = web;
        this.preserveHost = preserveHost;
        this.preservePath = preservePath;
    }

    /** Starts the exchange; completes with the response's head. */
    @Override
    public void subscribe(CoreSubscriber<? super Void> actual) {
        Mono.<Void>create(sink -> {
                    head = sink;
                    // Runs at once if the caller has left while a filter was running on another thread.
                    sink.onCancel(this::cancelled);
                    EventLoop loop = inbound.channel().eventLoop();
                    if (loop.inEventLoop()) {
                        start();
                    } else {
                        // A filter has moved the request to another thread.
                        loop.execute(this::start);
                    }
                })
                .subscribe(actual);
    }

    private void start() {
        exchange.start();
        chained.leaveChain();
    }

    private void cancelled() {
        if (!inbound.isTunnel() && !inbound.channel().isActive()) {
            exchange.callerLeft();
        }
    }

    /** Whether the response's body is complete, and not taken yet. */
    boolean hasCompleteBody() {
        return completeBody != null;
    }

    /** Takes the response's body; null if there is none, or if it was taken before. */
    @Nullable
    Flux<DataBuffer> takeBody() {
        Flux<DataBuffer> taken = body;
        body = null;
        completeBody = null;
        return taken;
    }

    /** Releases a complete body that was not taken. */
    void releaseUnwrittenBody() {
        ByteBuf left = completeBody;
        completeBody = null;
        if (left != null) {
            left.release();
        }
    }

    @Override
    public HttpMethod method() {
        return HttpMethod.valueOf(web.getRequest().getMethod().name());
    }

    @Override
    public boolean hasBody() {
        org.springframework.http.HttpHeaders headers = web.getRequest().getHeaders();
        if (headers.getFirst("Transfer-Encoding") != null) {
            return true;
        }
        // A filter may have removed the length, but the body remains.
        String length = headers.getFirst("Content-Length");
        return length == null ? inbound.hasBody() : !"0".equals(length);
    }

    @Override
    public Publisher<?> body() {
        return web.getRequest().getBody().map(buffer -> new OwnedBuffer(NettyDataBufferFactory.toByteBuf(buffer)));
    }

    /**
     * Taken from the request's URI after the filters, not from the URI that RouteToRequestUrlFilter builds:
     * that filter parses the query, loses {@code &&}, and encodes escapes a second time if the query contains
     * {@code [}. A path that a filter has changed is not the received path, so it cannot be preserved.
     */
    @Override
    public String target() {
        URI uri = web.getRequest().getURI();
        String path = uri.getRawPath();
        if (preservePath && inbound.target().path().equals(path)) {
            return BackendTarget.asReceived(inbound.target().receivedPath(), uri.getRawQuery());
        }
        return BackendTarget.of(path == null || path.isEmpty() ? "/" : path, uri.getRawQuery());
    }

    @Override
    void writeFields(HttpHeaders toBackend) {
        web.getRequest().getHeaders().forEach(toBackend::set);
    }

    @Override
    boolean preservesHost() {
        return preserveHost;
    }

    @Override
    public void begin(int status, HttpHeaders headers, Publisher<ByteBuf> answer) {
        copyHead(status, headers);
        NettyDataBufferFactory buffers =
                (NettyDataBufferFactory) web.getResponse().bufferFactory();
        body = Flux.from(answer).map(buffers::wrap);
        headSink().success();
    }

    @Override
    public void answer(int status, HttpHeaders headers, ByteBuf answer) {
        copyHead(status, headers);
        if (answer.isReadable()) {
            NettyDataBufferFactory buffers =
                    (NettyDataBufferFactory) web.getResponse().bufferFactory();
            completeBody = answer;
            body = Flux.just(buffers.wrap(answer));
        } else {
            answer.release();
        }
        headSink().success();
    }

    private void copyHead(int status, HttpHeaders fromBackend) {
        HopByHop.strip(fromBackend);
        Via.append(fromBackend);
        ServerHttpResponse response = web.getResponse();
        response.setStatusCode(HttpStatusCode.valueOf(status));
        org.springframework.http.HttpHeaders copied = response.getHeaders();
        for (String name : fromBackend.names()) {
            copied.put(name, fromBackend.getAll(name));
        }
        inbound.completeResponseHead();
        writeMeasures();
    }

    @Override
    public void refuse(Refusal refusal) {
        headSink().error(new RefusalException(refusal));
    }

    /** Commits Spring's response first, so that no filter writes to it after the handshake. */
    @Override
    Mono<Void> beforeTunnel() {
        return web.getResponse().setComplete();
    }

    @Override
    void tunnelEnded(@Nullable Throwable failure) {
        headSink().error(failure == null ? new TunnelClosedException() : failure);
    }

    private MonoSink<Void> headSink() {
        MonoSink<Void> sink = head;
        if (sink == null) {
            throw new IllegalStateException("exchange: not started (expected: subscribed)");
        }
        return sink;
    }
}
