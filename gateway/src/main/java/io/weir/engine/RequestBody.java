package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.body.OwnedBuffer;
import io.weir.body.Relay;
import io.weir.outcome.Problem;
import io.weir.slowcaller.MinimumRate;
import io.weir.slowcaller.ReadAheadBuffer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * The body of a request, on its way from the caller to the attempt that sends it. A part of it can be read
 * ahead, before there is an attempt; the attempt then gets these bytes first, and the rest as it arrives.
 *
 * <p>It is the only subscriber of {@link Caller#body} and lasts for the whole exchange, since bytes that were
 * read for the route's backend can be sent to the fallback's. Only one attempt can subscribe to it.
 *
 * <p>Concurrency: confined to the exchange's event loop. Two kinds of signals hop to it first: demand and
 * cancellation of the attempt, which may come from the event loop of the backend's connection, and signals of
 * a body that a filter has moved to another thread. Other event loops read {@code receivedBytes} to find the
 * slowest upload.
 */
final class RequestBody extends Flux<ByteBuf> implements CoreSubscriber<Object>, Subscription {

    private final ExchangeContext exchange;
    private final EventLoop loop;
    private final MinimumRate rate;
    private final ReadAheadBuffer held;

    private @Nullable ReadingAhead reader;
    private @Nullable Subscription upstream;
    private @Nullable CoreSubscriber<? super ByteBuf> sink;
    private @Nullable Throwable failure;
    private HttpHeaders trailers = EmptyHttpHeaders.INSTANCE;
    private volatile long receivedBytes;
    /** Parts that the attempt has requested but not received yet. */
    private long demand;
    /** Parts that were requested of the caller but have not arrived yet. */
    private long requested;

    private long waitingSince;
    private boolean isSubscribed;
    private boolean isComplete;
    private boolean isReleased;
    private boolean isEnough;
    private boolean isDraining;

    RequestBody(ExchangeContext exchange) {
        this.exchange = exchange;
        this.loop = exchange.loop();
        this.held = new ReadAheadBuffer(exchange.resources().readAhead());
        Limits limits = exchange.resources().limits();
        this.rate = new MinimumRate(limits.bodyIdleNanos(), isConversation() ? 0 : limits.minBodyBytesPerSecond());
    }

    /**
     * Whether the caller may send a little from time to time, for as long as it wants: a stream, or gRPC.
     * Callers can send the {@code Content-Type} of gRPC to any backend, so it alone gives no right.
     */
    boolean isConversation() {
        ExchangeRecord record = exchange.record();
        boolean mayBeGrpc = record.backend().settings().isHttp2();
        return exchange.isStream()
                || (mayBeGrpc && Problem.isGrpc(record.caller().received().headers()));
    }

    // ---------------------------------------------------------------- reading ahead

    /** Reads ahead for a phase, until the body is complete or enough of it is read. */
    void readAhead(ReadingAhead phase) {
        reader = phase;
        subscribeToCaller();
        readOn();
    }

    /** Stops reading ahead, since the phase has ended. The bytes that are read stay. */
    void stopReadingAhead() {
        reader = null;
    }

    /** Whether the caller has sent the whole body. */
    boolean isComplete() {
        return isComplete;
    }

    /** Whether enough is read ahead, or the body is complete. */
    boolean isReadAhead() {
        return isComplete
                || isEnough
                || held.bytes() >= exchange.resources().limits().readAheadBytes();
    }

    /** Requests the next part of the caller, or tells the phase that enough is read. */
    private void readOn() {
        ReadingAhead phase = reader;
        if (phase == null) {
            return;
        }
        if (isReadAhead()) {
            reader = null;
            phase.finished();
        } else if (requested == 0) {
            requestOfCaller(1);
        }
    }

    private void subscribeToCaller() {
        if (!isSubscribed) {
            isSubscribed = true;
            Publisher<?> body = exchange.record().caller().body();
            body.subscribe(this);
        }
    }

    // ---------------------------------------------------------------- signals of the caller

    @Override
    public void onSubscribe(Subscription s) {
        if (isReleased) {
            s.cancel();
            return;
        }
        upstream = s;
        long missed = requested;
        if (missed > 0) {
            s.request(missed);
        }
    }

    @Override
    public void onNext(Object part) {
        if (loop.inEventLoop()) {
            receive(part);
        } else {
            OwnedBuffer owned = part instanceof OwnedBuffer given
                    ? given
                    : new OwnedBuffer(content(part).retain());
            loop.execute(() -> receive(owned));
        }
    }

    @Override
    public void onComplete() {
        if (loop.inEventLoop()) {
            end(null);
        } else {
            loop.execute(() -> end(null));
        }
    }

    @Override
    public void onError(Throwable why) {
        if (loop.inEventLoop()) {
            end(why);
        } else {
            loop.execute(() -> end(why));
        }
    }

    private void receive(Object part) {
        ByteBuf buffer = content(part);
        try {
            if (!isReleased && !isComplete) {
                accept(buffer);
            }
        } finally {
            if (part instanceof OwnedBuffer) {
                buffer.release();
            }
        }
    }

    /** Takes a part that is lent for the time of the call. */
    private void accept(ByteBuf part) {
        long now = exchange.now();
        int bytes = part.readableBytes();
        long received = receivedBytes + bytes;
        receivedBytes = received;
        if (requested > 0) {
            rate.waited(now - waitingSince);
            waitingSince = now;
            requested--;
        }
        rate.moved(bytes);
        CoreSubscriber<? super ByteBuf> actual = sink;
        if (actual != null && demand > 0 && held.isEmpty()) {
            takeDemand();
            actual.onNext(part);
        } else if (received > exchange.resources().limits().maxBodyBytes()) {
            fail(new Relay.TooLarge(exchange.resources().limits().maxBodyBytes()));
        } else {
            hold(part, now);
            readOn();
        }
    }

    private void hold(ByteBuf part, long now) {
        ByteBufAllocator allocator =
                exchange.record().caller().received().channel().alloc();
        if (part.isReadable()
                && !held.add(part, allocator)
                && !exchange.resources().readAhead().shed(now)) {
            isEnough = true;
        }
    }

    /** Reads no more of the body, since it is larger than allowed. */
    private void fail(Throwable why) {
        Subscription s = upstream;
        if (s != null) {
            s.cancel();
        }
        end(why);
    }

    private void end(@Nullable Throwable why) {
        if (isReleased || isComplete) {
            return;
        }
        isComplete = true;
        requested = 0;
        failure = why;
        trailers = exchange.record().caller().received().requestTrailers();
        exchange.record().removeForged(trailers);
        ReadingAhead phase = reader;
        if (phase != null) {
            reader = null;
            if (why == null) {
                phase.finished();
            } else {
                phase.failed(why);
            }
        } else if (sink != null) {
            drain();
        } else if (why != null) {
            // The caller left while its call waited for a permit.
            exchange.leave();
        }
    }

    // ---------------------------------------------------------------- towards the attempt

    @Override
    public void subscribe(CoreSubscriber<? super ByteBuf> actual) {
        if (loop.inEventLoop()) {
            attach(actual);
        } else {
            loop.execute(() -> attach(actual));
        }
    }

    private void attach(CoreSubscriber<? super ByteBuf> actual) {
        if (sink != null || isReleased) {
            Operators.error(actual, new IllegalStateException("a body can be sent once"));
            return;
        }
        sink = actual;
        actual.onSubscribe(this);
        subscribeToCaller();
        drain();
    }

    @Override
    public void request(long n) {
        if (loop.inEventLoop()) {
            demand = Operators.addCap(demand, n);
            drain();
        } else {
            loop.execute(() -> request(n));
        }
    }

    @Override
    public void cancel() {
        if (loop.inEventLoop()) {
            release();
        } else {
            loop.execute(this::release);
        }
    }

    /** Passes on the held bytes, and then the demand. */
    private void drain() {
        CoreSubscriber<? super ByteBuf> actual = sink;
        if (actual == null || isDraining) {
            return;
        }
        isDraining = true;
        while (demand > 0 && !held.isEmpty() && failure == null) {
            takeDemand();
            ByteBuf part = held.take();
            try {
                actual.onNext(part);
            } finally {
                part.release();
            }
        }
        isDraining = false;
        if (isReleased) {
            return;
        }
        Throwable why = failure;
        if (why != null) {
            release();
            actual.onError(why);
        } else if (isComplete && held.isEmpty()) {
            release();
            actual.onComplete();
        } else if (!isComplete && held.isEmpty() && demand > requested) {
            requestOfCaller(demand - requested);
        }
    }

    private void takeDemand() {
        if (demand != Long.MAX_VALUE) {
            demand--;
        }
    }

    private void requestOfCaller(long parts) {
        if (requested == 0) {
            waitingSince = exchange.now();
        }
        requested = Operators.addCap(requested, parts);
        Subscription s = upstream;
        if (s != null) {
            s.request(parts);
        }
    }

    /** Stops reading, and releases the bytes that no attempt has taken. Idempotent. */
    void release() {
        if (isReleased) {
            return;
        }
        isReleased = true;
        reader = null;
        requested = 0;
        Subscription s = upstream;
        if (s != null && !isComplete) {
            s.cancel();
        }
        held.clear();
    }

    // ---------------------------------------------------------------- facts

    /** Bytes that the caller has sent so far. */
    long receivedBytes() {
        return receivedBytes;
    }

    /** Bytes that are read but not passed on. */
    int heldBytes() {
        return held.bytes();
    }

    /** Whether the caller has ended the request without a byte of a body, and without trailers. */
    boolean isEmpty() {
        return isComplete && failure == null && receivedBytes == 0 && trailers.isEmpty();
    }

    /** Whether the body is released, so that no more of it is passed on. */
    boolean hasEnded() {
        return isReleased;
    }

    /** The request's trailers; known when the body has been passed on. */
    HttpHeaders trailers() {
        return trailers;
    }

    /**
     * Time until the caller has sent nothing for the idle time-out; {@link ExchangePhase#NEVER}: not waiting.
     */
    long idleLeftNanos(long now) {
        return requested == 0
                ? ExchangePhase.NEVER
                : exchange.resources().limits().bodyIdleNanos() - (now - waitingSince);
    }

    /**
     * Time until the caller has sent less than the minimum rate for the idle time-out; {@link
     * ExchangePhase#NEVER}: not waiting, or no minimum rate.
     */
    long rateLeftNanos(long now) {
        long left = rate.leftNanos();
        return requested == 0 || left == ExchangePhase.NEVER ? ExchangePhase.NEVER : left - (now - waitingSince);
    }

    private static ByteBuf content(Object part) {
        if (part instanceof OwnedBuffer owned) {
            return owned.buffer();
        }
        return part instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) part;
    }
}
