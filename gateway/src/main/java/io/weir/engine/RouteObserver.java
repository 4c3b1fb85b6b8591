package io.weir.engine;

import org.jspecify.annotations.Nullable;

/** Told of every exchange of a route. Called on event loops; must not block. */
@FunctionalInterface
public interface RouteObserver {

    /** Nobody watches. */
    RouteObserver NONE = exchange -> {};

    /** An exchange begins; gives who is to be told of its steps, or null for nobody. */
    default @Nullable ExchangeTrace began(Exchange exchange) {
        return null;
    }

    /** The exchange is over; all its figures are final. */
    void ended(Exchange exchange);
}
