package io.weir.faults;

import org.jspecify.annotations.Nullable;

/**
 * The calls that a fault can act on: those of a route, of a backend, or of one instance of a backend.
 *
 * @param route the route's id; null: the calls of all routes
 * @param backend the backend's name; null: the scope is a route
 * @param instance scheme and authority of one of the backend's instances; null: all of them
 */
public record FaultScope(
        @Nullable String route,
        @Nullable String backend,
        @Nullable String instance) {

    /** Checks that the scope is a route, a backend, or an instance of a backend. */
    public FaultScope {
        if ((route == null) == (backend == null)) {
            throw new IllegalArgumentException(
                    "route, backend: " + route + ", " + backend + " (expected: one of them)");
        }
        if (instance != null && backend == null) {
            throw new IllegalArgumentException("instance: " + instance + " (expected: together with its backend)");
        }
    }

    /**
     * Whether a call is within the scope.
     *
     * @param ofRoute the route whose backend gets the call; null: the call is the gateway's own, or goes to a
     *     fallback's backend
     */
    boolean covers(@Nullable String ofRoute, String ofBackend, String ofInstance) {
        if (route != null) {
            return route.equals(ofRoute);
        }
        return ofBackend.equals(backend) && (instance == null || instance.equals(ofInstance));
    }

    /**
     * {@code route orders}, {@code backend orders} or {@code instance http://10.0.0.1:80 of backend orders}.
     */
    @Override
    public String toString() {
        if (route != null) {
            return "route " + route;
        }
        return (instance == null ? "" : "instance " + instance + " of ") + "backend " + backend;
    }
}
