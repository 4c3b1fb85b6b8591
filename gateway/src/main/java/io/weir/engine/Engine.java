package io.weir.engine;

import io.weir.drain.Drain;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadGuard;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** What all exchanges share: the clock, the gateway's own limits, and who is in flight. Thread-safe. */
public final class Engine {

    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final Drain drain;
    private final OverloadGuard overload;
    private final Limits limits;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final Set<Exchange> streams = ConcurrentHashMap.newKeySet();

    /**
     * An engine with nothing in flight.
     *
     * @param nanoClock {@link System#nanoTime} but for tests
     * @param random from 0 to 1
     */
    public Engine(LongSupplier nanoClock, DoubleSupplier random, Drain drain, OverloadGuard overload, Limits limits) {
        this.nanoClock = nanoClock;
        this.random = random;
        this.drain = drain;
        this.overload = overload;
        this.limits = limits;
    }

    /** Exchanges in flight, waiting or dispatched, streams included. */
    public int inFlight() {
        return inFlight.get();
    }

    /** Streams and WebSockets in flight. */
    public int streams() {
        return streams.size();
    }

    /** Ends every stream, so that none holds up the exit. */
    public void closeStreams() {
        streams.forEach(Exchange::shutDown);
    }

    /** Now, on the clock that deadlines are told by. */
    public long nanoTime() {
        return nanoClock.getAsLong();
    }

    LongSupplier nanoClock() {
        return nanoClock;
    }

    double random() {
        return random.getAsDouble();
    }

    Limits limits() {
        return limits;
    }

    /** An exchange begins; {@link #ended} must follow, whatever this returns. Null: it may go on. */
    @Nullable
    Reason began() {
        int now = inFlight.incrementAndGet();
        if (drain.isRefusing()) {
            return Reason.SHUTTING_DOWN;
        }
        return overload.isOverloaded(now) ? Reason.GATEWAY_OVERLOADED : null;
    }

    void streamBegan(Exchange exchange) {
        streams.add(exchange);
        if (drain.isRefusing()) {
            exchange.shutDown();
        }
    }

    void ended(Exchange exchange, boolean stream) {
        inFlight.decrementAndGet();
        if (stream) {
            streams.remove(exchange);
        }
    }
}
