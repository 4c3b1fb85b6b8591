package io.weir.engine;

import org.jspecify.annotations.Nullable;

/** Receives every exchange of a route. Called on event loops; must not block. */
@FunctionalInterface
public interface RouteObserver {

    /** Ignores every exchange. */
    RouteObserver NONE = exchange -> {};

    /** An exchange begins. Returns the trace that receives its steps; null: the exchange is not traced. */
    default @Nullable ExchangeTrace began(ExchangeRecord exchange) {
        return null;
    }

    /** The exchange has ended; all its facts are final. */
    void ended(ExchangeRecord exchange);
}
