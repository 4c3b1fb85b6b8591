package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Passes a body on, from caller to backend or from backend to caller, and knows who is waited for.
 *
 * <p>Demand passes through as it is, so the window is the writer's: Reactor Netty keeps at most 128 buffers of 8 KiB
 * unflushed. While the reading side wants more and the writing side has brought nothing, the source is waited for; while the
 * reading side wants nothing, the sink is. That is how the backend's time is told from the caller's.
 *
 * <p>Concurrency: signals come on the source's event loop, demand and cancellation on the sink's, which may be another. {@code
 * wanted} is an atomic counter; the times are volatile, each written by one side at a time, and read by the exchange for a
 * verdict that a buffer's worth of time does not change. Source's signals after {@link #stop()} are dropped.
 */
final class Relay extends Flux<ByteBuf> implements CoreSubscriber<Object>, Subscription {

    /** What happens to a relay, on the source's event loop. */
    interface Listener {

        /** The source is complete, or failed; before the sink is told. */
        void relayEnded(Relay relay, @Nullable Throwable failure);
    }

    /** More came than may pass. */
    static final class TooLarge extends RuntimeException {

        private static final long serialVersionUID = 1;

        TooLarge(long limit) {
            super("body larger than " + limit + " bytes", null, false, false);
        }
    }

    private static final AtomicLongFieldUpdater<Relay> WANTED =
            AtomicLongFieldUpdater.newUpdater(Relay.class, "wanted");

    private final Publisher<?> source;
    private final long limit;
    private final Listener listener;
    private final LongSupplier nanoClock;

    private @Nullable CoreSubscriber<? super ByteBuf> sink;
    private volatile @Nullable Subscription upstream;
    private volatile long wanted;
    private volatile boolean ended;
    private volatile boolean stopped;
    private volatile long bytes;
    private volatile long startedAt;
    private volatile long lastAt;
    private volatile long endedAt;
    /** Time during which the sink wanted nothing. */
    private volatile long sinkNanos;

    private volatile long sinkSince;

    /**
     * A relay of a body.
     *
     * @param source of byte buffers, or holders of them, lent for the time of {@code onNext}, or of {@link OwnedBuffer}s
     * @param limit bytes that may pass
     */
    Relay(Publisher<?> source, long limit, Listener listener, LongSupplier nanoClock) {
        this.source = source;
        this.limit = limit;
        this.listener = listener;
        this.nanoClock = nanoClock;
    }

    @Override
    public void subscribe(CoreSubscriber<? super ByteBuf> actual) {
        if (sink != null) {
            Operators.error(actual, new IllegalStateException("a body can be read once"));
            return;
        }
        sink = actual;
        startedAt = nanoClock.getAsLong();
        lastAt = startedAt;
        sinkSince = startedAt;
        source.subscribe(this);
    }

    @Override
    public Context currentContext() {
        CoreSubscriber<? super ByteBuf> actual = sink;
        return actual == null ? Context.empty() : actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        if (stopped) {
            s.cancel();
            return;
        }
        sink().onSubscribe(this);
    }

    @Override
    public void onNext(Object item) {
        ByteBuf buffer = take(item);
        if (stopped || ended) {
            buffer.release();
            return;
        }
        long passed = bytes + buffer.readableBytes();
        bytes = passed;
        long now = nanoClock.getAsLong();
        lastAt = now;
        if (passed > limit) {
            buffer.release();
            onError(new TooLarge(limit));
            Subscription s = upstream;
            if (s != null) {
                s.cancel();
            }
            return;
        }
        if (WANTED.decrementAndGet(this) == 0) {
            sinkSince = now;
        }
        sink().onNext(buffer);
    }

    @Override
    public void onError(Throwable failure) {
        if (stopped || ended) {
            return;
        }
        end();
        listener.relayEnded(this, failure);
        sink().onError(failure);
    }

    @Override
    public void onComplete() {
        if (stopped || ended) {
            return;
        }
        end();
        listener.relayEnded(this, null);
        sink().onComplete();
    }

    @Override
    public void request(long n) {
        if (WANTED.getAndAdd(this, n) == 0) {
            long held = sinkNanos + (nanoClock.getAsLong() - sinkSince);
            sinkNanos = held;
        }
        Subscription s = upstream;
        if (s != null) {
            s.request(n);
        }
    }

    @Override
    public void cancel() {
        stop();
    }

    /**
     * Lets nothing more pass, in either direction, and cancels the source. The sink is told nothing.
     *
     * @return whether there was a source to cancel: nobody has subscribed before
     */
    boolean stop() {
        stopped = true;
        Subscription s = upstream;
        if (s == null) {
            return false;
        }
        s.cancel();
        return true;
    }

    /** Bytes that have passed. */
    long bytes() {
        return bytes;
    }

    boolean ended() {
        return ended;
    }

    /** Whether the sink is waiting for the source now. */
    boolean waitsForSource() {
        return !ended && !stopped && upstream != null && wanted > 0;
    }

    /** Since when nothing has come from the source; {@link Long#MIN_VALUE} if nobody has asked it for anything. */
    long lastNanos() {
        return upstream == null ? Long.MIN_VALUE : lastAt;
    }

    /** Time, up to a moment, during which the source was held up by the sink. */
    long sinkNanos(long now) {
        long waited = sinkNanos;
        return wanted == 0 && upstream != null && !ended ? waited + (now - sinkSince) : waited;
    }

    /** Time, up to a moment, during which the sink waited for the source. */
    long sourceNanos(long now) {
        if (upstream == null) {
            return 0;
        }
        return (ended ? endedAt : now) - startedAt - sinkNanos(now);
    }

    private static ByteBuf take(Object item) {
        if (item instanceof OwnedBuffer owned) {
            return owned.buffer();
        }
        return item instanceof ByteBufHolder holder ? holder.content().retain() : ((ByteBuf) item).retain();
    }

    private void end() {
        endedAt = nanoClock.getAsLong();
        ended = true;
    }

    private CoreSubscriber<? super ByteBuf> sink() {
        CoreSubscriber<? super ByteBuf> actual = sink;
        if (actual == null) {
            throw new IllegalStateException("a signal before the subscription");
        }
        return actual;
    }
}
