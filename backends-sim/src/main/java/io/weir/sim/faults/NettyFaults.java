package io.weir.sim.faults;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import io.weir.sim.faults.FaultPlan.ResponseFault;
import java.util.ArrayList;
import java.util.List;
import org.reactivestreams.Publisher;
import org.springframework.context.ApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.channel.ChannelOperations;

/**
 * Applies the registry's plans to WebFlux requests. A waiting request holds no thread. Computing runs on the
 * request's event loop and delays every other connection of that loop.
 */
final class NettyFaults implements WebFilter, Ordered {

    private final FaultRegistry registry;
    private final InFlightRequests inFlight;
    private final ApplicationContext context;

    NettyFaults(FaultRegistry registry, InFlightRequests inFlight, ApplicationContext context) {
        this.registry = registry;
        this.inFlight = inFlight;
        this.context = context;
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        if (exchange.getApplicationContext() != context) {
            // The management context inherits this filter, but faults must not affect the management port.
            return chain.filter(exchange);
        }
        inFlight.requestStarted();
        return applyPlan(exchange, chain).doFinally(_ -> inFlight.requestEnded());
    }

    private Mono<Void> applyPlan(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        FaultPlan plan = registry.plan(request.getPath().pathWithinApplication());
        if (plan.isEmpty()) {
            return chain.filter(exchange);
        }
        Channel channel = channel(request);
        Mono<Void> continuation = Mono.defer(() -> {
            CpuBurner.burn(plan.burn());
            return respond(plan.responseFault(), channel, exchange, chain);
        });
        return plan.waits()
                ? hold(plan)
                        .publishOn(Schedulers.fromExecutor(channel.eventLoop()))
                        .then(continuation)
                : continuation;
    }

    private static Mono<Void> hold(FaultPlan plan) {
        List<Mono<Void>> holds = new ArrayList<>();
        // A caller who leaves must not cancel the future that other requests wait for.
        plan.holds().forEach(healed -> holds.add(Mono.fromFuture(healed, true)));
        Mono<Void> healed = Mono.when(holds);
        return plan.delay().isPositive() ? healed.then(Mono.delay(plan.delay())).then() : healed;
    }

    private static Mono<Void> respond(
            ResponseFault responseFault, Channel channel, ServerWebExchange exchange, WebFilterChain chain) {
        return switch (responseFault) {
            case ResponseFault.ConnectionReset _ -> reset(channel);
            case ResponseFault.ErrorStatus status -> answerStatus(exchange.getResponse(), status.status());
            case ResponseFault.TruncatedBody truncated ->
                chain.filter(exchange.mutate()
                        .response(new TruncatedResponse(exchange.getResponse(), truncated, channel))
                        .build());
            case ResponseFault.TrickledBody trickled ->
                chain.filter(exchange.mutate()
                        .response(new TrickledResponse(exchange.getResponse(), trickled))
                        .build());
            case ResponseFault.None _ -> chain.filter(exchange);
        };
    }

    private static Channel channel(ServerHttpRequest request) {
        Object operations = ServerHttpRequestDecorator.getNativeRequest(request);
        if (operations instanceof ChannelOperations<?, ?> connection) {
            return connection.channel();
        }
        throw new IllegalStateException(
                "request: " + operations.getClass().getName() + " (expected: Reactor Netty's, which has a channel)");
    }

    private static Mono<Void> reset(Channel channel) {
        return Mono.create(sink -> {
            // A linger time of 0 turns the close into a reset.
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.close().addListener(_ -> sink.success());
        });
    }

    private static Mono<Void> answerStatus(ServerHttpResponse response, int status) {
        response.setRawStatusCode(status);
        response.getHeaders().set(HttpHeaders.CONTENT_TYPE, ErrorBody.CONTENT_TYPE);
        return response.writeWith(
                Mono.fromSupplier(() -> response.bufferFactory().wrap(ErrorBody.of(status))));
    }

    /** A response that buffers its whole body before it sends the first byte. */
    private abstract static class BufferedResponse extends ServerHttpResponseDecorator {

        private BufferedResponse(ServerHttpResponse delegate) {
            super(delegate);
        }

        abstract Mono<Void> send(byte[] body);

        @Override
        public Mono<Void> writeWith(Publisher<? extends DataBuffer> body) {
            return DataBufferUtils.join(body)
                    .map(joined -> {
                        byte[] bytes = new byte[joined.readableByteCount()];
                        joined.read(bytes);
                        DataBufferUtils.release(joined);
                        return bytes;
                    })
                    .flatMap(bytes -> {
                        getHeaders().setContentLength(bytes.length);
                        return send(bytes);
                    });
        }

        @Override
        public Mono<Void> writeAndFlushWith(Publisher<? extends Publisher<? extends DataBuffer>> body) {
            return writeWith(Flux.from(body).concatMap(part -> part));
        }

        final DataBuffer part(byte[] body, int from, int to) {
            DataBuffer part = bufferFactory().allocateBuffer(to - from);
            part.write(body, from, to - from);
            return part;
        }
    }

    private static final class TruncatedResponse extends BufferedResponse {
        private final ResponseFault.TruncatedBody truncated;
        private final Channel channel;

        private TruncatedResponse(ServerHttpResponse delegate, ResponseFault.TruncatedBody truncated, Channel channel) {
            super(delegate);
            this.truncated = truncated;
            this.channel = channel;
        }

        @Override
        Mono<Void> send(byte[] body) {
            Flux<Flux<DataBuffer>> sent = Flux.just(Flux.just(part(body, 0, truncated.lengthOf(body.length))));
            // The response never completes: the connection closes after the sent bytes, which ends the
            // exchange.
            return getDelegate().writeAndFlushWith(sent.concatWith(Mono.defer(this::close)));
        }

        private Mono<Flux<DataBuffer>> close() {
            // From the head of the pipeline: bypasses the codec, which would report the missing bytes, and
            // follows its output.
            channel.pipeline()
                    .firstContext()
                    .writeAndFlush(Unpooled.EMPTY_BUFFER)
                    .addListener(ChannelFutureListener.CLOSE);
            return Mono.never();
        }
    }

    private static final class TrickledResponse extends BufferedResponse {
        private final ResponseFault.TrickledBody trickled;

        private TrickledResponse(ServerHttpResponse delegate, ResponseFault.TrickledBody trickled) {
            super(delegate);
            this.trickled = trickled;
        }

        @Override
        Mono<Void> send(byte[] body) {
            int step = trickled.bytes();
            int parts = (body.length + step - 1) / step;
            return getDelegate()
                    .writeAndFlushWith(Flux.range(0, parts)
                            .concatMap(
                                    i -> Mono.fromSupplier(() -> Flux.just(
                                                    part(body, i * step, Math.min((i + 1) * step, body.length))))
                                            .delaySubscription(i == 0 ? java.time.Duration.ZERO : trickled.interval()),
                                    0));
        }
    }
}
