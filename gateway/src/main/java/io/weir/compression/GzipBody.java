package io.weir.compression;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * The body of an answer in gzip. Each buffer of the source becomes one buffer at once, so demand passes
 * unchanged and nothing is held back; the end of the gzip stream is one more buffer, which waits for demand
 * of its own.
 *
 * <p>Concurrency: buffers arrive on the source's event loop, demand and cancellation on the sink's, which may
 * be another. The side that changes {@code state} from IDLE to CLOSED frees the encoder. If the other side is
 * encoding at that moment, that side frees it afterwards. {@code demand} is an atomic counter. The last
 * buffer belongs to the side that takes it from {@code tail}.
 */
final class GzipBody extends Flux<ByteBuf> implements CoreSubscriber<ByteBuf>, Subscription {

    private static final int IDLE = 0;
    private static final int ENCODING = 1;
    private static final int CLOSED = 2;

    private static final AtomicIntegerFieldUpdater<GzipBody> STATE =
            AtomicIntegerFieldUpdater.newUpdater(GzipBody.class, "state");
    private static final AtomicLongFieldUpdater<GzipBody> DEMAND =
            AtomicLongFieldUpdater.newUpdater(GzipBody.class, "demand");

    private final Publisher<ByteBuf> source;
    private final ByteBufAllocator allocator;
    private final CompressionMemory memory;
    private final AtomicReference<@Nullable ByteBuf> tail = new AtomicReference<>();

    @SuppressWarnings("UnusedVariable") // Read by STATE.
    private volatile int state = IDLE;

    private volatile long demand;
    private volatile boolean isCancelled;
    private @Nullable CoreSubscriber<? super ByteBuf> sink;
    private @Nullable Subscription upstream;
    private @Nullable Gzip gzip;

    GzipBody(Publisher<ByteBuf> source, ByteBufAllocator allocator, CompressionMemory memory) {
        this.source = source;
        this.allocator = allocator;
        this.memory = memory;
    }

    @Override
    public void subscribe(CoreSubscriber<? super ByteBuf> actual) {
        if (sink != null) {
            Operators.error(actual, new IllegalStateException("a body can be read once"));
            return;
        }
        sink = actual;
        source.subscribe(this);
    }

    @Override
    public Context currentContext() {
        return sink().currentContext();
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        sink().onSubscribe(this);
    }

    @Override
    public void onNext(ByteBuf part) {
        if (!STATE.compareAndSet(this, IDLE, ENCODING)) {
            part.release();
            return;
        }
        ByteBuf encoded;
        try {
            encoded = encoder().next(part);
        } catch (RuntimeException | Error e) {
            free();
            state = CLOSED;
            upstream().cancel();
            sink().onError(e);
            return;
        } finally {
            part.release();
        }
        if (!STATE.compareAndSet(this, ENCODING, IDLE)) {
            free();
            encoded.release();
            return;
        }
        DEMAND.decrementAndGet(this);
        sink().onNext(encoded);
    }

    @Override
    public void onError(Throwable failure) {
        if (STATE.compareAndSet(this, IDLE, CLOSED)) {
            free();
            sink().onError(failure);
        }
    }

    @Override
    public void onComplete() {
        if (!STATE.compareAndSet(this, IDLE, ENCODING)) {
            return;
        }
        ByteBuf end;
        try {
            end = encoder().last();
        } catch (RuntimeException | Error e) {
            free();
            state = CLOSED;
            sink().onError(e);
            return;
        }
        free();
        state = CLOSED;
        tail.set(end);
        if (isCancelled) {
            releaseTail();
        } else {
            passTail();
        }
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n)) {
            Operators.addCap(DEMAND, this, n);
            upstream().request(n);
            passTail();
        }
    }

    @Override
    public void cancel() {
        isCancelled = true;
        upstream().cancel();
        if (STATE.getAndSet(this, CLOSED) == IDLE) {
            free();
        }
        releaseTail();
    }

    /** Sends the last buffer if it is there and requested. Both sides may try; one of them takes it. */
    private void passTail() {
        if (demand > 0) {
            ByteBuf end = tail.getAndSet(null);
            if (end != null) {
                sink().onNext(end);
                sink().onComplete();
            }
        }
    }

    private void releaseTail() {
        ByteBuf end = tail.getAndSet(null);
        if (end != null) {
            end.release();
        }
    }

    /** Frees the encoder, if there is one. Called once, by the side that owns it. */
    private void free() {
        Gzip current = gzip;
        if (current != null) {
            gzip = null;
            current.close();
            memory.end();
        }
    }

    /** The encoder; created with the first buffer, so that a body without a subscription needs no memory. */
    private Gzip encoder() {
        Gzip current = gzip;
        if (current == null) {
            current = new Gzip(allocator);
            gzip = current;
            memory.begin();
        }
        return current;
    }

    private Subscription upstream() {
        Subscription current = upstream;
        if (current == null) {
            throw new IllegalStateException("a signal arrived before the subscription");
        }
        return current;
    }

    private CoreSubscriber<? super ByteBuf> sink() {
        CoreSubscriber<? super ByteBuf> current = sink;
        if (current == null) {
            throw new IllegalStateException("a signal arrived before the subscription");
        }
        return current;
    }
}
