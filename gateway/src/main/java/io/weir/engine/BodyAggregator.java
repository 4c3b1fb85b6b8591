package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/**
 * Gathers the body of a small answer, which is passed on when it is whole.
 *
 * <p>Concurrency: on the connection's event loop, but for {@link #stop} and {@link #bytes}.
 */
final class BodyAggregator implements CoreSubscriber<Object> {

    private final HttpAttempt attempt;
    private final int maxBytes;
    private final EventLoop connectionLoop;
    private volatile @Nullable Subscription upstream;
    private @Nullable ByteBuf gathered;
    private volatile long bytes;
    private volatile boolean stopped;

    /**
     * Nothing is gathered yet.
     *
     * @param maxBytes bytes that the body can have; what comes beyond them is dropped
     */
    BodyAggregator(HttpAttempt attempt, int maxBytes, EventLoop connectionLoop) {
        this.attempt = attempt;
        this.maxBytes = maxBytes;
        this.connectionLoop = connectionLoop;
    }

    /** Bytes that have come in. */
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
            return;
        }
        bytes = soFar;
        ByteBuf before = gathered;
        if (before == null) {
            gathered = buffer.retain();
        } else if (before instanceof CompositeByteBuf composite) {
            composite.addComponent(true, buffer.retain());
        } else {
            gathered =
                    buffer.alloc().compositeBuffer().addComponent(true, before).addComponent(true, buffer.retain());
        }
    }

    @Override
    public void onComplete() {
        ByteBuf body = take();
        if (stopped) {
            body.release();
            return;
        }
        HttpHeaders trailers = attempt.trailers();
        EventLoop loop = attempt.exchange.loop();
        if (loop.inEventLoop()) {
            deliver(body, trailers);
        } else {
            loop.execute(() -> deliver(body, trailers));
        }
    }

    @Override
    public void onError(Throwable failure) {
        take().release();
        attempt.run(() -> attempt.failed(failure));
    }

    private void deliver(ByteBuf body, HttpHeaders trailers) {
        if (attempt.isCancelled()) {
            body.release();
        } else {
            attempt.answeredWhole(body, trailers);
        }
    }

    /** Cancels, on the connection's event loop, so that no buffer is gathered and released at once. */
    void stop() {
        stopped = true;
        if (connectionLoop.inEventLoop()) {
            stopNow();
        } else {
            connectionLoop.execute(this::stopNow);
        }
    }

    private void stopNow() {
        Subscription s = upstream;
        if (s != null) {
            s.cancel();
        }
        take().release();
    }

    private ByteBuf take() {
        ByteBuf body = gathered;
        gathered = null;
        return body == null ? Unpooled.EMPTY_BUFFER : body;
    }
}
