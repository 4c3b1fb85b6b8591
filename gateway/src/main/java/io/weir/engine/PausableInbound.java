package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.netty.Connection;
import reactor.netty.channel.ChannelOperations;

/**
 * The body of an answer, as the backend's connection delivers it. Without demand, the connection is not read:
 * at most the rest of one read waits here. One read is at most 64 KiB over HTTP/1.1, and the stream's window
 * of 64 KiB over HTTP/2.
 *
 * <p>Reactor Netty's own inbound has two faults for a slow reader. It reads on until 32 buffers wait,
 * whatever the demand. And its rest, which is read when the answer is complete, switches the reading of a
 * connection that already belongs to another call. So this class takes the buffers as they come, which
 * bypasses that queue, and switches the reading of the connection only while the answer owns the connection.
 *
 * <p>Concurrency: confined to the connection's event loop, except {@link #subscribe}, {@link #request} and
 * {@link #cancel}.
 */
final class PausableInbound implements Publisher<Object>, CoreSubscriber<Object>, Subscription {

    private final Publisher<?> inbound;
    private final Connection owner;
    private final Channel channel;
    private final EventLoop loop;

    private @Nullable ArrayDeque<ByteBuf> waiting;
    private @Nullable Subscriber<? super Object> reader;
    private @Nullable Subscription upstream;
    private long demand;
    private boolean isDelivering;
    private boolean isPaused;
    /** The backend has ended the answer; the reader learns it after the last buffer. */
    private boolean isComplete;

    private @Nullable Throwable failure;
    /** The reader has its last signal, or has cancelled. */
    private boolean isOver;

    /**
     * The body of an answer.
     *
     * @param owner the connection's present operations, whose inbound is read
     * @param channel their channel; the operations forget it when the answer is complete
     */
    PausableInbound(Connection owner, Channel channel) {
        this.inbound = owner.inbound().receiveObject();
        this.owner = owner;
        this.channel = channel;
        this.loop = channel.eventLoop();
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        reader = subscriber;
        inbound.subscribe(this);
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        reader().onSubscribe(this);
        if (isOver) {
            s.cancel();
            return;
        }
        s.request(Long.MAX_VALUE);
        if (isPaused) {
            // The first request has switched the reading on.
            switchReading(false);
        }
    }

    @Override
    public void onNext(Object item) {
        if (isOver) {
            return;
        }
        if (demand > 0 && !isDelivering && isEmpty()) {
            demand--;
            isDelivering = true;
            try {
                reader().onNext(item);
            } finally {
                isDelivering = false;
            }
            // The reader's demand may have made the channel deliver more.
            drain();
            return;
        }
        ArrayDeque<ByteBuf> queue = waiting;
        if (queue == null) {
            queue = new ArrayDeque<>();
            waiting = queue;
        }
        queue.add((item instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) item).retain());
        if (!isPaused) {
            isPaused = true;
            switchReading(false);
        }
    }

    @Override
    public void onComplete() {
        isComplete = true;
        drain();
    }

    @Override
    public void onError(Throwable thrown) {
        failure = thrown;
        drain();
    }

    @Override
    public void request(long n) {
        if (loop.inEventLoop()) {
            addDemand(n);
        } else {
            loop.execute(() -> addDemand(n));
        }
    }

    private void addDemand(long n) {
        demand += n;
        drain();
    }

    /**
     * Delivers the waiting buffers, then the end of the body; if there is neither, reads the connection
     * again.
     */
    private void drain() {
        if (isDelivering || isOver) {
            return;
        }
        isDelivering = true;
        try {
            while (demand > 0 && !isOver && !isEmpty()) {
                demand--;
                reader().onNext(new OwnedBuffer(takeFirst()));
            }
        } finally {
            isDelivering = false;
        }
        if (isOver || !isEmpty()) {
            return;
        }
        Throwable thrown = failure;
        if (thrown != null) {
            isOver = true;
            reader().onError(thrown);
        } else if (isComplete) {
            isOver = true;
            reader().onComplete();
        } else if (isPaused && demand > 0) {
            isPaused = false;
            switchReading(true);
        }
    }

    /** Has no effect on a connection that already belongs to another call, or to none. */
    private void switchReading(boolean isOn) {
        if (ChannelOperations.get(channel) == owner) {
            channel.config().setAutoRead(isOn);
        }
    }

    @Override
    public void cancel() {
        if (loop.inEventLoop()) {
            cancelOnLoop();
        } else {
            loop.execute(this::cancelOnLoop);
        }
    }

    private void cancelOnLoop() {
        isOver = true;
        while (!isEmpty()) {
            takeFirst().release();
        }
        Subscription s = upstream;
        if (s != null) {
            s.cancel();
        }
    }

    private boolean isEmpty() {
        return waiting == null || waiting.isEmpty();
    }

    private ByteBuf takeFirst() {
        if (waiting == null) {
            throw new IllegalStateException("no buffer waits");
        }
        return waiting.remove();
    }

    private Subscriber<? super Object> reader() {
        Subscriber<? super Object> subscriber = reader;
        if (subscriber == null) {
            throw new IllegalStateException("a signal arrived before the subscription");
        }
        return subscriber;
    }
}
