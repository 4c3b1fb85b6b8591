package io.weir.engine;

import io.netty.channel.EventLoop;
import io.weir.drain.Drain;
import io.weir.health.Breaker.Permission;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadGuard;
import java.util.Map;
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
    private final Attempt.Maker attempts;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final AtomicInteger streams = new AtomicInteger();
    private final Map<EventLoop, InFlightExchanges> rosters = new ConcurrentHashMap<>();

    /**
     * An engine with nothing in flight.
     *
     * @param nanoClock {@link System#nanoTime} but for tests
     * @param random from 0 to 1
     */
    public Engine(LongSupplier nanoClock, DoubleSupplier random, Drain drain, OverloadGuard overload, Limits limits) {
        this(nanoClock, random, drain, overload, limits, Attempt::overNetwork);
    }

    /** An engine that asks its backends otherwise. */
    Engine(
            LongSupplier nanoClock,
            DoubleSupplier random,
            Drain drain,
            OverloadGuard overload,
            Limits limits,
            Attempt.Maker attempts) {
        this.nanoClock = nanoClock;
        this.random = random;
        this.drain = drain;
        this.overload = overload;
        this.limits = limits;
        this.attempts = attempts;
    }

    /** Exchanges in flight, waiting or dispatched, streams included. */
    public int inFlight() {
        return inFlight.get();
    }

    /** Streams and WebSockets in flight. */
    public int streams() {
        return streams.get();
    }

    /** Ends every stream, so that none holds up the exit. */
    public void closeStreams() {
        rosters.values().forEach(roster -> roster.end(Exchange::isStream));
    }

    /** Ends everything that is in flight: who has no answer yet is told why, who has half of one is reset. */
    public void endAll() {
        rosters.values().forEach(roster -> roster.end(exchange -> true));
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

    Attempt attempt(Exchange exchange, Permission permission, long now) {
        return attempts.make(exchange, permission, now);
    }

    /** An exchange begins; {@link #ended} must follow, whatever this returns. Null: it may go on. On its event loop. */
    @Nullable
    Reason began(Exchange exchange) {
        int now = inFlight.incrementAndGet();
        if (exchange.isStream()) {
            streams.incrementAndGet();
        }
        // Before it is asked whether the gateway drains: who is not on the roster when that is read through, is refused
        // here.
        roster(exchange).add(exchange);
        if (drain.isRefusing()) {
            return Reason.SHUTTING_DOWN;
        }
        return overload.isOverloaded(now) ? Reason.GATEWAY_OVERLOADED : null;
    }

    /** An exchange is over. On its event loop. */
    void ended(Exchange exchange) {
        roster(exchange).remove(exchange);
        inFlight.decrementAndGet();
        if (exchange.isStream()) {
            streams.decrementAndGet();
        }
    }

    private InFlightExchanges roster(Exchange exchange) {
        EventLoop loop = exchange.caller().channel().eventLoop();
        InFlightExchanges roster = rosters.get(loop);
        return roster != null ? roster : rosters.computeIfAbsent(loop, InFlightExchanges::new);
    }
}
