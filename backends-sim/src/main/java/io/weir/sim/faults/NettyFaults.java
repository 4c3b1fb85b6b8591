package io.weir.sim.faults;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import io.weir.sim.faults.FaultPlan.Ending;
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
 * Does to WebFlux requests what the board has planned. A request that waits holds no thread; computing happens on its
 * event loop, where it holds up every other connection of that loop.
 */
final class NettyFaults implements WebFilter, Ordered {

    private final FaultBoard board;
    private final InFlight inFlight;
    private final ApplicationContext context;

    NettyFaults(FaultBoard board, InFlight inFlight, ApplicationContext context) {
        this.board = board;
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
            // The management port inherits this filter, and must not suffer with the service.
            return chain.filter(exchange);
        }
        inFlight.began();
        return planned(exchange, chain).doFinally(_ -> inFlight.ended());
    }

    private Mono<Void> planned(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        FaultPlan plan = board.plan(request.getPath().pathWithinApplication());
        if (plan.isNothing()) {
            return chain.filter(exchange);
        }
        Channel channel = channel(request);
        Mono<Void> goOn = Mono.defer(() -> {
            CpuBurner.burn(plan.burn());
            return end(plan.ending(), channel, exchange, chain);
        });
        return plan.waits()
                ? hold(plan)
                        .publishOn(Schedulers.fromExecutor(channel.eventLoop()))
                        .then(goOn)
                : goOn;
    }

    private static Mono<Void> hold(FaultPlan plan) {
        List<Mono<Void>> holds = new ArrayList<>();
        // A caller who leaves must not cancel the future that the others wait for.
        plan.holds().forEach(healed -> holds.add(Mono.fromFuture(healed, true)));
        Mono<Void> healed = Mono.when(holds);
        return plan.delay().isPositive() ? healed.then(Mono.delay(plan.delay())).then() : healed;
    }

    private static Mono<Void> end(Ending ending, Channel channel, ServerWebExchange exchange, WebFilterChain chain) {
        return switch (ending) {
            case Ending.Reset _ -> reset(channel);
            case Ending.Status status -> answer(exchange.getResponse(), status.status());
            case Ending.Truncated truncated ->
                chain.filter(exchange.mutate()
                        .response(new Truncated(exchange.getResponse(), truncated, channel))
                        .build());
            case Ending.Trickled trickled ->
                chain.filter(exchange.mutate()
                        .response(new Trickled(exchange.getResponse(), trickled))
                        .build());
            case Ending.Work _ -> chain.filter(exchange);
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
            // Lingering for no time makes the close a reset.
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.close().addListener(_ -> sink.success());
        });
    }

    private static Mono<Void> answer(ServerHttpResponse response, int status) {
        response.setRawStatusCode(status);
        response.getHeaders().set(HttpHeaders.CONTENT_TYPE, ErrorBody.CONTENT_TYPE);
        return response.writeWith(
                Mono.fromSupplier(() -> response.bufferFactory().wrap(ErrorBody.of(status))));
    }

    /** An answer whose whole body is known before any of it goes out. */
    private abstract static class Collected extends ServerHttpResponseDecorator {

        private Collected(ServerHttpResponse delegate) {
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

    private static final class Truncated extends Collected {
        private final Ending.Truncated truncated;
        private final Channel channel;

        private Truncated(ServerHttpResponse delegate, Ending.Truncated truncated, Channel channel) {
            super(delegate);
            this.truncated = truncated;
            this.channel = channel;
        }

        @Override
        Mono<Void> send(byte[] body) {
            Flux<Flux<DataBuffer>> sent = Flux.just(Flux.just(part(body, 0, truncated.of(body.length))));
            // The answer never completes: the connection closes behind what was sent, and takes the exchange with it.
            return getDelegate().writeAndFlushWith(sent.concatWith(Mono.defer(this::close)));
        }

        private Mono<Flux<DataBuffer>> close() {
            // From the head of the pipeline: past the codec, which would miss the rest, and behind what it has written.
            channel.pipeline()
                    .firstContext()
                    .writeAndFlush(Unpooled.EMPTY_BUFFER)
                    .addListener(ChannelFutureListener.CLOSE);
            return Mono.never();
        }
    }

    private static final class Trickled extends Collected {
        private final Ending.Trickled trickled;

        private Trickled(ServerHttpResponse delegate, Ending.Trickled trickled) {
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
