package io.weir.door;

import java.util.function.Supplier;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.cloud.gateway.route.RouteLocator;
import reactor.core.publisher.Flux;

/**
 * The current routes of both doors; a change of the configuration replaces them as a whole.
 *
 * <p>Spring Cloud Gateway reads its routes from here too. A request keeps the routes that were current when
 * it arrived (see {@link WeirRoutePredicateHandlerMapping}), so it never uses new routes of one door with old
 * routes of the other.
 */
// Concurrency: one volatile reference to an immutable object.
public final class LiveRoutes implements Supplier<Routes>, RouteLocator {

    private volatile Routes current;

    /** Starts with these routes. */
    public LiveRoutes(Routes first) {
        current = first;
    }

    @Override
    public Routes get() {
        return current;
    }

    /** Replaces the routes for requests that arrive from now on. */
    public void swap(Routes next) {
        current = next;
    }

    @Override
    public Flux<Route> getRoutes() {
        return Flux.deferContextual(context -> {
            Routes routes = context.hasKey(Routes.class) ? context.get(Routes.class) : current;
            return Flux.fromIterable(routes.general());
        });
    }
}
