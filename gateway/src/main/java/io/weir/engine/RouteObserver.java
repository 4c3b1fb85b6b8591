package io.weir.engine;

/** Told of every exchange of a route when it is over. Called on event loops; must not block. */
@FunctionalInterface
public interface RouteObserver {

    /** Nobody watches. */
    RouteObserver NONE = exchange -> {};

    /** The exchange is over; all its figures are final. */
    void ended(Exchange exchange);
}
