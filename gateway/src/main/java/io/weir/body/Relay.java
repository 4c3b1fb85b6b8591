package io.weir.body;

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
 * Passes a body on, from the caller to the backend or back, and measures for how long each side waits for the
 * other.
 *
 * <p>Demand passes unchanged, so the writer determines the window: Reactor Netty keeps at most 64 buffers of
 * 16 KiB unsent. While there is demand and no buffer arrives, the relay waits for the source. While there
 * is no demand, it waits for the sink. These two times separate the backend's time from the caller's.
 *
 * <p>Concurrency: signals arrive on the source's event loop, demand and cancellation on the sink's, which may
 * be another. {@code demand} is an atomic counter, which only a buffer lowers. The times are volatile, and
 * each has one writer at a time. A buffer that takes the last demand begins the wait for the sink, before it
 * lowers the counter. Demand that finds the counter at 0 ends the wait. If new demand comes between the two,
 * the buffer ends the wait. {@code sinkTime} is one word, so that the exchange never reads half of a change:
 * otherwise a wait that has just ended would be missing, and the other side would be blamed for it. Signals
 * of the source after {@link #stop()} are dropped.
 */
public final class Relay extends Flux<ByteBuf> implements CoreSubscriber<Object>, Subscription {

    /** Receives the end of a relay, on the source's event loop. */
    public interface Listener {

        /**
         * The source has completed or failed. The sink does not know it yet: the listener
         * {@linkplain #passEnd passes the end on} once the exchange knows it.
         */
        void relayEnded(Relay relay, @Nullable Throwable failure);
    }

    /** The body exceeds its limit. */
    public static final class TooLarge extends RuntimeException {

        private static final long serialVersionUID = 1;

        /** A body larger than the limit, in bytes. */
        public TooLarge(long limit) {
            super("body larger than " + limit + " bytes", null, false, false);
        }
    }

    private static final long WAITING = 1;

    private static final AtomicLongFieldUpdater<Relay> DEMAND =
            AtomicLongFieldUpdater.newUpdater(Relay.class, "demand");

    private final Publisher<?> source;
    private final long maxBytes;
    private final Listener listener;
    private final LongSupplier nanoClock;

    private @Nullable CoreSubscriber<? super ByteBuf> sink;
    private volatile @Nullable Subscription upstream;
    private volatile long demand;
    private volatile boolean hasEnded;
    private volatile boolean isStopped;
    private boolean isFailureHeld;
    /**
     * The sink has received its last signal. {@link #endEarly} is called only if the exchange was cancelled
     * before {@link #passEnd}, so one of the two event loops writes it.
     */
    private volatile boolean isSinkTold;

    private volatile long bytes;
    private volatile long startedAt;
    private volatile long lastBufferAt;
    private volatile long endedAt;
    /**
     * Twice the total time without demand; while there is no demand, less the time from the subscription to
     * the begin of that wait, and with {@link #WAITING} set.
     */
    private volatile long sinkTime;

    /**
     * A relay of a body.
     *
     * @param source of byte buffers, or holders of them, lent for the time of {@code onNext}, or of {@link
     *     OwnedBuffer}s
     * @param maxBytes the largest body that may pass
     */
    public Relay(Publisher<?> source, long maxBytes, Listener listener, LongSupplier nanoClock) {
        this.source = source;
        this.maxBytes = maxBytes;
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
        lastBufferAt = startedAt;
        sinkTime = WAITING;
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
        if (isStopped) {
            s.cancel();
            return;
        }
        sink().onSubscribe(this);
    }

    @Override
    public void onNext(Object item) {
        ByteBuf buffer = own(item);
        if (isStopped || hasEnded) {
            buffer.release();
            return;
        }
        long passed = bytes + buffer.readableBytes();
        bytes = passed;
        long now = nanoClock.getAsLong();
        lastBufferAt = now;
        if (passed > maxBytes) {
            buffer.release();
            onError(new TooLarge(maxBytes));
            Subscription s = upstream;
            if (s != null) {
                s.cancel();
            }
            return;
        }
        if (demand == 1) {
            beginSinkWait(now);
        }
        if (DEMAND.decrementAndGet(this) != 0) {
            endSinkWait(now);
        }
        sink().onNext(buffer);
    }

    @Override
    public void onError(Throwable failure) {
        if (isStopped || hasEnded) {
            return;
        }
        end();
        listener.relayEnded(this, failure);
    }

    @Override
    public void onComplete() {
        if (isStopped || hasEnded) {
            return;
        }
        end();
        listener.relayEnded(this, null);
    }

    /**
     * Passes the end of the source on to the sink. A writer can complete as soon as it knows the end, on its
     * own event loop, so the exchange must know it before.
     */
    public void passEnd(@Nullable Throwable failure) {
        if (failure == null) {
            isSinkTold = true;
            sink().onComplete();
        } else if (!isFailureHeld) {
            sink().onError(failure);
        }
    }

    @Override
    public void request(long n) {
        if (DEMAND.getAndAdd(this, n) == 0) {
            endSinkWait(nanoClock.getAsLong());
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
     * Stops both directions and cancels the source. The sink receives no signal.
     *
     * @return whether the relay has a subscriber, and so a source to cancel
     */
    public boolean stop() {
        isStopped = true;
        Subscription s = upstream;
        if (s == null) {
            return false;
        }
        s.cancel();
        return true;
    }

    /** Whether the source may have sent something. */
    public boolean isSubscribed() {
        return sink != null;
    }

    /**
     * Makes the relay keep a failure of the source from the sink, until {@link #endEarly}. Called before the
     * subscription.
     */
    public void holdFailure() {
        isFailureHeld = true;
    }

    /**
     * Completes the sink of a relay that is stopped or has failed: its body ends early. Called on the
     * source's event loop, so that no buffer is on its way to the sink.
     */
    public void endEarly() {
        if (!hasEnded) {
            end();
        } else if (!isFailureHeld || isSinkTold) {
            return;
        }
        isSinkTold = true;
        sink().onComplete();
    }

    /** Whether the sink has a subscription, so that it can receive the end of the body. */
    public boolean hasStarted() {
        return upstream != null;
    }

    /** Bytes that have passed. */
    public long bytes() {
        return bytes;
    }

    /** Whether the source has completed or failed, or {@link #endEarly} was called. */
    public boolean hasEnded() {
        return hasEnded;
    }

    /** Whether the sink waits for the source now. */
    public boolean isWaitingForSource() {
        return !hasEnded && !isStopped && upstream != null && demand > 0;
    }

    /**
     * The moment of the last buffer, or of the subscription; {@link Long#MIN_VALUE} before the subscription.
     */
    public long lastNanos() {
        return upstream == null ? Long.MIN_VALUE : lastBufferAt;
    }

    /** Time, up to now, for which the sink held up the source. */
    public long sinkNanos(long now) {
        long seen = sinkTime;
        if (upstream == null) {
            return 0;
        }
        return (seen & WAITING) == 0 ? seen >> 1 : (seen >> 1) + (endOr(now) - startedAt);
    }

    private void beginSinkWait(long now) {
        long total = sinkTime >> 1;
        sinkTime = ((total - (now - startedAt)) << 1) | WAITING;
    }

    /** Without effect if the relay does not wait for the sink. */
    private void endSinkWait(long now) {
        if ((sinkTime & WAITING) != 0) {
            long total = sinkNanos(now);
            sinkTime = total << 1;
        }
    }

    /** Time, up to now, for which the sink waited for the source. */
    public long sourceNanos(long now) {
        if (upstream == null) {
            return 0;
        }
        return endOr(now) - startedAt - sinkNanos(now);
    }

    private long endOr(long now) {
        return hasEnded ? endedAt : now;
    }

    /** The item's buffer, owned by the relay. */
    private static ByteBuf own(Object item) {
        if (item instanceof OwnedBuffer owned) {
            return owned.buffer();
        }
        return item instanceof ByteBufHolder holder ? holder.content().retain() : ((ByteBuf) item).retain();
    }

    private void end() {
        endedAt = nanoClock.getAsLong();
        hasEnded = true;
    }

    private CoreSubscriber<? super ByteBuf> sink() {
        CoreSubscriber<? super ByteBuf> actual = sink;
        if (actual == null) {
            throw new IllegalStateException("a signal arrived before the subscription");
        }
        return actual;
    }
}
