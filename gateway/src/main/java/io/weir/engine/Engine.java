package io.weir.engine;

import io.netty.channel.EventLoop;
import io.weir.drain.Drain;
import io.weir.engine.Decision.Refuse;
import io.weir.faults.ActiveFaults;
import io.weir.health.RouteHealth;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import io.weir.overload.InFlightShare;
import io.weir.overload.OverloadGuard;
import io.weir.probe.ProbeRequest;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The state that all exchanges share: the clock, the gateway's own limits, and the exchanges in flight.
 * Thread-safe.
 */
public final class Engine {

    private final EngineResources resources;
    private final Drain drain;
    private final OverloadGuard overload;
    private final AttemptFactory attempts;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final AtomicInteger streams = new AtomicInteger();
    private final Map<EventLoop, InFlightExchanges> inFlightByLoop = new ConcurrentHashMap<>();

    /**
     * An engine without exchanges.
     *
     * @param nanoClock {@link System#nanoTime} except in tests
     * @param random values from 0 to 1
     */
    public Engine(LongSupplier nanoClock, DoubleSupplier random, Drain drain, OverloadGuard overload, Limits limits) {
        this(
                nanoClock,
                random,
                drain,
                overload,
                limits,
                AttemptFactory.OVER_NETWORK,
                ProbeRequest.overNetwork(nanoClock));
    }

    /** An engine with other attempts and probes, for tests. */
    Engine(
            LongSupplier nanoClock,
            DoubleSupplier random,
            Drain drain,
            OverloadGuard overload,
            Limits limits,
            AttemptFactory attempts,
            ProbeRequest.Sender probes) {
        this.resources = new EngineResources(nanoClock, random, limits, probes);
        this.drain = drain;
        this.overload = overload;
        this.attempts = attempts;
    }

    /** The refusal of a request that gets no exchange; null: the gateway takes new work. */
    public @Nullable Refusal refusalWithoutExchange() {
        return drain.isRefusing()
                ? new Refusal(Reason.SHUTTING_DOWN, null, RetryAfter.millis(0, resources.random()))
                : null;
    }

    /** Whether at least one event loop refuses requests because of its delay. */
    public boolean isAnyLoopShedding() {
        return overload.isAnyLoopShedding();
    }

    /**
     * The refusal of a request because of its event loop's delay, if its class was not known at its head;
     * null: the request may proceed. On its event loop, once for each request.
     *
     * @param requested the priority that a trusted proxy has set; null: none
     */
    public @Nullable Refusal refusalByDelay(EventLoop loop, @Nullable Priority requested, Priority ofRoute) {
        return overload.refusesRequest(loop, requested, ofRoute)
                ? new Refusal(Reason.GATEWAY_OVERLOADED, null, RetryAfter.millis(0, resources.random()))
                : null;
    }

    /** Exchanges in flight, queued or dispatched, streams included. */
    public int inFlight() {
        return inFlight.get();
    }

    /** Streams and WebSockets in flight. */
    public int streams() {
        return streams.get();
    }

    /** Bytes of request bodies that all exchanges together have read but not passed on. */
    public long readAheadBytes() {
        return resources.readAhead().bytes();
    }

    /** The limit of {@link #readAheadBytes}. */
    public long readAheadLimitBytes() {
        return resources.readAhead().limitBytes();
    }

    /** Ends every stream, so that no stream delays the exit. */
    public void closeStreams() {
        inFlightByLoop.values().forEach(exchanges -> exchanges.shutDown(Exchange::isStream));
    }

    /** Ends every exchange: refuses the unanswered ones and resets the answers that have begun. */
    public void endAll() {
        inFlightByLoop.values().forEach(exchanges -> exchanges.shutDown(exchange -> true));
    }

    /**
     * Moves the calls that wait in an instance which has opened to other instances, as far as they may be
     * sent twice. From any thread.
     */
    public void leave(Instance opened) {
        inFlightByLoop.values().forEach(exchanges -> exchanges.leave(opened));
    }

    /**
     * Gives back the permits of the calls of a route that hangs: they wait for an answer until their
     * deadlines, and other routes can use their permits. From any thread.
     */
    public void giveBackPermits(RouteHealth stalled) {
        inFlightByLoop.values().forEach(exchanges -> exchanges.giveBackPermits(stalled));
    }

    /**
     * Finds the pools that exchanges use, or ask for a connection. An exchange that chooses its instance
     * later is not seen: a pool that is to be closed must not be chosen any more. From any thread.
     *
     * @param receiver receives the pools once every event loop has answered, on one of the event loops, or on
     *     the calling thread
     */
    public void findUsedPools(Consumer<Set<Pool>> receiver) {
        Set<Pool> used = ConcurrentHashMap.newKeySet();
        List<InFlightExchanges> loops = List.copyOf(inFlightByLoop.values());
        AtomicInteger pending = new AtomicInteger(loops.size() + 1);
        Runnable done = () -> {
            if (pending.decrementAndGet() == 0) {
                receiver.accept(used);
            }
        };
        loops.forEach(exchanges -> exchanges.addUsedPools(used, done));
        done.run();
    }

    /**
     * Ends the exchanges that use a pool whose instance has left: a call that may be sent twice goes to
     * another instance. From any thread.
     */
    public void endUsersOf(Pool left) {
        inFlightByLoop.values().forEach(exchanges -> exchanges.endUsersOf(left));
    }

    /** The current time on the clock of all deadlines. */
    public long nanoTime() {
        return resources.nanoTime();
    }

    /** Injects these faults into attempts and probes from now on; null: none. From any thread. */
    public void inject(@Nullable ActiveFaults active) {
        resources.inject(active);
    }

    /** The injected faults; null: none is active. */
    public @Nullable ActiveFaults faults() {
        return resources.faults();
    }

    /** What all exchanges use. */
    EngineResources resources() {
        return resources;
    }

    Attempt attempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        ActiveFaults active = resources.faults();
        return active == null
                ? attempts.create(exchange, admission, evidence, now)
                : InjectedAttempt.create(active, attempts, exchange, admission, evidence, now);
    }

    /** The exchanges in flight on an event loop, and the loop's pauses. */
    InFlightExchanges inFlightOn(EventLoop loop) {
        InFlightExchanges known = inFlightByLoop.get(loop);
        return known != null
                ? known
                : inFlightByLoop.computeIfAbsent(
                        loop, absent -> new InFlightExchanges(absent, overload.pausesOf(absent)));
    }

    /**
     * Registers an exchange that starts; {@link #deregister} must follow, also after a refusal. On the
     * exchange's event loop.
     *
     * @return the gateway's own refusal; null: the exchange may proceed
     */
    @Nullable
    Refuse register(Exchange exchange) {
        inFlight.incrementAndGet();
        if (exchange.isStream()) {
            streams.incrementAndGet();
        }
        // Added before the drain is checked: an exchange that endAll() misses is refused here.
        exchange.inFlightOnLoop().add(exchange);
        if (drain.isRefusing()) {
            return Refuse.SHUTTING_DOWN;
        }
        exchange.holdsPlace = overload.takePlace(share(exchange), exchange.priority());
        return exchange.holdsPlace ? null : Refuse.GATEWAY_OVERLOADED;
    }

    /**
     * Registers a call on behalf of an exchange in flight; {@link #deregister} must follow. On its event
     * loop.
     */
    void registerCall(Exchange call) {
        inFlight.incrementAndGet();
        call.inFlightOnLoop().add(call);
    }

    /** Deregisters an exchange that has ended. On the exchange's event loop. */
    void deregister(Exchange exchange) {
        exchange.inFlightOnLoop().remove(exchange);
        inFlight.decrementAndGet();
        if (exchange.isStream()) {
            streams.decrementAndGet();
        }
        if (exchange.holdsPlace) {
            overload.giveBackPlace(share(exchange));
        }
    }

    /** The share of the route's backend, also while a fallback asks another one. */
    private static InFlightShare share(Exchange exchange) {
        return exchange.record().route().backend().compartment().inFlightShare();
    }
}
