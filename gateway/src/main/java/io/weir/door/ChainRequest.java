package io.weir.door;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way through Spring Cloud Gateway's filter chain, with the routes that were in force when
 * it arrived.
 *
 * <p>Concurrency: filters may run on a thread of their own while the caller leaves on the event loop.
 * {@code outcome} decides which of the two comes first; {@code inChain} ensures that the request is counted
 * out once. The other fields belong to the thread that handles the request.
 */
final class ChainRequest {

    private static final Object CANCELLED = new Object();

    private final InboundRequest inbound;
    private final Routes routes;
    private final WeightedGroups.@Nullable Draw draw;
    private final long arrivedAtNanos;
    /** Null, then the caller of the request's exchange, or {@link #CANCELLED}. */
    private final AtomicReference<@Nullable Object> outcome = new AtomicReference<>();

    private final AtomicInteger inChainOfAll;
    private final AtomicBoolean inChain = new AtomicBoolean();
    private @Nullable String routeId;
    private boolean isReported;

    /**
     * Creates a request that has not entered the chain.
     *
     * @param draw the request's choices in weighted groups; null: there are none
     * @param inChainOfAll counts the requests in the chain, over all configurations
     */
    ChainRequest(
            InboundRequest inbound,
            Routes routes,
            WeightedGroups.@Nullable Draw draw,
            long arrivedAtNanos,
            AtomicInteger inChainOfAll) {
        this.inbound = inbound;
        this.routes = routes;
        this.draw = draw;
        this.inChainOfAll = inChainOfAll;
        this.arrivedAtNanos = arrivedAtNanos;
    }

    InboundRequest inbound() {
        return inbound;
    }

    Routes routes() {
        return routes;
    }

    /** The request's choices in weighted groups; null: there are none. */
    WeightedGroups.@Nullable Draw draw() {
        return draw;
    }

    long arrivedAtNanos() {
        return arrivedAtNanos;
    }

    /** Starts the request's exchange; false if the caller has left before. */
    boolean startExchange(GeneralCaller caller) {
        return outcome.compareAndSet(null, caller);
    }

    /** Records that the caller has left; false if there is an exchange, which must be notified. */
    boolean cancelWithoutExchange() {
        return outcome.compareAndSet(null, CANCELLED);
    }

    /** The caller of the request's exchange; null if there is no exchange. */
    @Nullable
    GeneralCaller caller() {
        return outcome.get() instanceof GeneralCaller caller ? caller : null;
    }

    /** Counts the request among those that need its routes. */
    void enterChain() {
        if (inChain.compareAndSet(false, true)) {
            inChainOfAll.incrementAndGet();
            routes.requestsInChain().begin();
        }
    }

    /**
     * Counts the request out: its exchange counts for the routes from now on, or it never has an exchange.
     */
    void leaveChain() {
        if (inChain.compareAndSet(true, false)) {
            routes.requestsInChain().end();
            inChainOfAll.decrementAndGet();
        }
    }

    /** The id of the matched route; null before the match. */
    @Nullable
    String routeId() {
        return routeId;
    }

    void matched(String id) {
        routeId = id;
    }

    /** Marks the outcome as reported; returns whether it was reported before. */
    boolean markReported() {
        boolean before = isReported;
        isReported = true;
        return before;
    }

    boolean isReported() {
        return isReported;
    }
}
