package io.weir.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/**
 * Aggregates the body of a small answer, which then goes to the caller in one write instead of three.
 *
 * <p>If the backend {@linkplain PauseDetector pauses}, the caller gets the head and the part that has
 * arrived, and the rest as it arrives. The aggregator is then the publisher of the body. It keeps the bytes
 * that the caller does not request yet; the body is small, so they are few.
 *
 * <p>Concurrency: confined to the connection's event loop, except {@link #stop}, {@link #bytes}, and the
 * reader's subscription and demand, which come from the exchange's event loop.
 */
public final class BodyAggregator implements CoreSubscriber<Object>, Publisher<Object>, Subscription {

    /** The attempt whose answer is aggregated. */
    public interface Answer {

        /** The event loop of the exchange. */
        EventLoop exchangeLoop();

        /** Runs the event on the exchange's event loop, unless the attempt is cancelled first. */
        void runOnExchangeLoop(Runnable event);

        /** Whether nobody waits for the answer any more. On the exchange's event loop. */
        boolean isCancelled();

        /** The trailers, once the body is complete. On the connection's event loop. */
        HttpHeaders trailers();

        /** The backend pauses: the body is passed on as it arrives. On the exchange's event loop. */
        void passOn(BodyAggregator body);

        /** The answer is complete; the callee owns the body. On the exchange's event loop. */
        void aggregated(ByteBuf body, HttpHeaders trailers);

        /** The answer has failed before the caller got anything. On the exchange's event loop. */
        void failed(Throwable failure);
    }

    /** The answer is not aggregated but passed on as it arrives. */
    public static final int NOT_AGGREGATED = -1;

    /** An answer of at most this size is aggregated: it costs one write. */
    private static final int MAX_AGGREGATED_BYTES = 8192;

    private static final AtomicLongFieldUpdater<BodyAggregator> DEMAND =
            AtomicLongFieldUpdater.newUpdater(BodyAggregator.class, "demand");

    /** The neighbours in the list of the {@link PauseDetector}. */
    @Nullable
    BodyAggregator previous;

    @Nullable
    BodyAggregator next;

    /** The detector that watches this answer; null: none. */
    @Nullable
    PauseDetector watch;

    /** Whether the detector has seen this answer before. */
    boolean isSeenIncomplete;

    private final Answer answer;
    private final int maxBytes;
    private final boolean failsIfLarger;
    private final EventLoop connectionLoop;
    private volatile @Nullable Subscription upstream;
    private @Nullable ByteBuf aggregated;
    private volatile long bytes;
    private volatile boolean stopped;
    private boolean isPassedOn;
    private boolean isComplete;
    private boolean isEndSignalled;
    private @Nullable Throwable failure;
    private volatile @Nullable Subscriber<? super Object> reader;
    private volatile long demand;

    /**
     * An aggregator without content.
     *
     * @param maxBytes further bytes are dropped
     * @param failsIfLarger further bytes are a failure instead: the answer is drained
     */
    public BodyAggregator(Answer answer, int maxBytes, boolean failsIfLarger, EventLoop connectionLoop) {
        this.answer = answer;
        this.maxBytes = maxBytes;
        this.failsIfLarger = failsIfLarger;
        this.connectionLoop = connectionLoop;
    }

    /**
     * The size of a body that is aggregated; {@link #NOT_AGGREGATED}: the body is passed on as it arrives. A
     * body of an HTTP/2 answer that must not have one is dropped.
     *
     * @param method of the request
     * @param hasOpenEnd whether the answer may last as long as it has traffic
     */
    public static int bytesToAggregate(HttpMethod method, boolean hasOpenEnd, int status, HttpHeaders headers) {
        if (HttpMethod.HEAD.equals(method)
                || status == HttpResponseStatus.NO_CONTENT.code()
                || status == HttpResponseStatus.NOT_MODIFIED.code()) {
            return 0;
        }
        long bytes = ContentLength.of(headers);
        boolean small = bytes == 0 || (!hasOpenEnd && bytes > 0 && bytes <= MAX_AGGREGATED_BYTES);
        return small ? (int) bytes : NOT_AGGREGATED;
    }

    /** Bytes received so far. */
    public long bytes() {
        return bytes;
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        s.request(Long.MAX_VALUE);
        // The caller gets nothing of an answer that is drained; its drain has a bound of its own.
        if (maxBytes > 0 && !failsIfLarger && !isComplete && failure == null && connectionLoop.inEventLoop()) {
            PauseDetector.ofPresentLoop().add(this, connectionLoop);
        }
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
        drain();
    }

    @Override
    public void onComplete() {
        isComplete = true;
        unwatch();
        if (isPassedOn) {
            drain();
            return;
        }
        ByteBuf body = takeBody();
        if (stopped) {
            body.release();
            return;
        }
        HttpHeaders trailers = answer.trailers();
        if (failsIfLarger) {
            // The connection returns to the pool within this event. A task afterwards lets the next attempt
            // find it there.
            connectionLoop.execute(() -> hop(body, trailers));
        } else {
            hop(body, trailers);
        }
    }

    private void hop(ByteBuf body, HttpHeaders trailers) {
        EventLoop loop = answer.exchangeLoop();
        if (loop.inEventLoop()) {
            deliver(body, trailers);
        } else {
            loop.execute(() -> deliver(body, trailers));
        }
    }

    @Override
    public void onError(Throwable thrown) {
        failure = thrown;
        unwatch();
        if (isPassedOn) {
            drain();
            return;
        }
        takeBody().release();
        answer.runOnExchangeLoop(() -> answer.failed(thrown));
    }

    private void unwatch() {
        PauseDetector watching = watch;
        if (watching != null) {
            watching.remove(this);
        }
    }

    /** Passes the head on, and the body as it arrives, since the backend pauses. */
    void backendPauses() {
        isPassedOn = true;
        answer.runOnExchangeLoop(() -> answer.passOn(this));
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        reader = subscriber;
        subscriber.onSubscribe(this);
    }

    @Override
    public void request(long n) {
        DEMAND.getAndAdd(this, n);
        runOnConnectionLoop(this::drain);
    }

    /** Passes on the part that has arrived, and then the end of the body. */
    private void drain() {
        Subscriber<? super Object> to = reader;
        if (to == null || stopped || isEndSignalled) {
            return;
        }
        if (aggregated != null && demand > 0) {
            DEMAND.decrementAndGet(this);
            to.onNext(new OwnedBuffer(takeBody()));
        }
        if (aggregated == null && !isEndSignalled) {
            if (failure != null) {
                isEndSignalled = true;
                to.onError(failure);
            } else if (isComplete) {
                isEndSignalled = true;
                to.onComplete();
            }
        }
    }

    private void deliver(ByteBuf body, HttpHeaders trailers) {
        if (answer.isCancelled()) {
            body.release();
        } else {
            answer.aggregated(body, trailers);
        }
    }

    /**
     * Cancels on the connection's event loop, so that a buffer is never added and released at the same time.
     */
    public void stop() {
        stopped = true;
        runOnConnectionLoop(this::cancelUpstream);
    }

    @Override
    public void cancel() {
        stop();
    }

    private void runOnConnectionLoop(Runnable step) {
        if (connectionLoop.inEventLoop()) {
            step.run();
        } else {
            connectionLoop.execute(step);
        }
    }

    private void cancelUpstream() {
        unwatch();
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
