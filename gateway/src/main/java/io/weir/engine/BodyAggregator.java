package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/**
 * Aggregates the body of a small answer, which goes to the caller as a whole.
 *
 * <p>Concurrency: confined to the connection's event loop, except {@link #stop} and {@link #bytes}.
 */
final class BodyAggregator implements CoreSubscriber<Object> {

    /** The answer is not aggregated, but passes on as it arrives. */
    static final int NOT_AGGREGATED = -1;

    /** An answer of at most this size is aggregated: it costs one write, and can still become a 504. */
    private static final int MAX_AGGREGATED_BYTES = 8192;

    private final HttpAttempt attempt;
    private final int maxBytes;
    private final boolean failsIfLarger;
    private final EventLoop connectionLoop;
    private volatile @Nullable Subscription upstream;
    private @Nullable ByteBuf aggregated;
    private volatile long bytes;
    private volatile boolean stopped;

    /**
     * An aggregator without content.
     *
     * @param maxBytes further bytes are dropped
     * @param failsIfLarger further bytes are a failure instead: the answer is drained
     */
    BodyAggregator(HttpAttempt attempt, int maxBytes, boolean failsIfLarger, EventLoop connectionLoop) {
        this.attempt = attempt;
        this.maxBytes = maxBytes;
        this.failsIfLarger = failsIfLarger;
        this.connectionLoop = connectionLoop;
    }

    /**
     * The size of a body that is aggregated; {@link #NOT_AGGREGATED}: the body passes on as it arrives. An
     * HTTP/2 answer that must not have a body may have one; it is dropped.
     */
    static int bytesToAggregate(Exchange exchange, int status, HttpHeaders headers) {
        if (HttpMethod.HEAD.equals(exchange.record().caller().method())
                || status == HttpResponseStatus.NO_CONTENT.code()
                || status == HttpResponseStatus.NOT_MODIFIED.code()) {
            return 0;
        }
        long bytes = ContentLength.of(headers);
        boolean small = bytes == 0 || (!exchange.hasOpenEnd() && bytes > 0 && bytes <= MAX_AGGREGATED_BYTES);
        return small ? (int) bytes : NOT_AGGREGATED;
    }

    /** Bytes received so far. */
    long bytes() {
        return bytes;
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Object item) {
        if (stopped) {
            return;
        }
        ByteBuf buffer = item instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) item;
        long soFar = bytes + buffer.readableBytes();
        if (soFar > maxBytes) {
            if (failsIfLarger) {
                stopped = true;
                onError(new Relay.TooLarge(maxBytes));
            }
            return;
        }
        bytes = soFar;
        ByteBuf before = aggregated;
        if (before == null) {
            aggregated = buffer.retain();
        } else if (before instanceof CompositeByteBuf composite) {
            composite.addComponent(true, buffer.retain());
        } else {
            aggregated =
                    buffer.alloc().compositeBuffer().addComponent(true, before).addComponent(true, buffer.retain());
        }
    }

    @Override
    public void onComplete() {
        ByteBuf body = takeBody();
        if (stopped) {
            body.release();
            return;
        }
        HttpHeaders trailers = attempt.trailers();
        if (failsIfLarger) {
            // The connection returns to the pool within this event. The next attempt shall find it there.
            connectionLoop.execute(() -> hop(body, trailers));
        } else {
            hop(body, trailers);
        }
    }

    private void hop(ByteBuf body, HttpHeaders trailers) {
        EventLoop loop = attempt.exchange.loop();
        if (loop.inEventLoop()) {
            deliver(body, trailers);
        } else {
            loop.execute(() -> deliver(body, trailers));
        }
    }

    @Override
    public void onError(Throwable failure) {
        takeBody().release();
        attempt.runOnExchangeLoop(() -> attempt.failed(failure));
    }

    private void deliver(ByteBuf body, HttpHeaders trailers) {
        if (attempt.isCancelled()) {
            body.release();
        } else {
            attempt.aggregated(body, trailers);
        }
    }

    /**
     * Cancels on the connection's event loop, so that a buffer is never added and released at the same time.
     */
    void stop() {
        stopped = true;
        if (connectionLoop.inEventLoop()) {
            cancel();
        } else {
            connectionLoop.execute(this::cancel);
        }
    }

    private void cancel() {
        Subscription s = upstream;
        if (s != null) {
            s.cancel();
        }
        takeBody().release();
    }

    private ByteBuf takeBody() {
        ByteBuf body = aggregated;
        aggregated = null;
        return body == null ? Unpooled.EMPTY_BUFFER : body;
    }
}
