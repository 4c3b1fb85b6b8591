package io.weir.door;

import java.util.function.Supplier;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.cloud.gateway.route.RouteLocator;
import reactor.core.publisher.Flux;

/**
 * The routes that are in force, those of both doors on one object: what is swapped when the configuration changes.
 *
 * <p>Spring Cloud Gateway takes its routes from here too. A request's are those that it found when it came in ({@link
 * WeirRoutePredicateHandlerMapping}), whatever has been swapped meanwhile, so that it never meets one door's new routes and the other's old ones.
 */
// Concurrency: one volatile reference to an immutable object.
public final class LiveRoutes implements Supplier<Routes>, RouteLocator {

    private volatile Routes current;

    /** The routes that a gateway starts with. */
    public LiveRoutes(Routes first) {
        current = first;
    }

    @Override
    public Routes get() {
        return current;
    }

    /** Puts others in their place: requests that come in from now on go by these. */
    public void swap(Routes next) {
        current = next;
    }

    @Override
    public Flux<Route> getRoutes() {
        return Flux.deferContextual(context -> {
            Routes routes = context.hasKey(Routes.class) ? context.get(Routes.class) : current;
            return Flux.fromIterable(routes.general().routes());
        });
    }
}
