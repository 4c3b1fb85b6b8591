package io.weir.apply;

import io.weir.engine.Backend;
import io.weir.health.BackendRoutes;
import io.weir.health.RouteHealth;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The healths of the routes of one configuration: a backend with one route needs none for it. */
final class RouteHealths {

    private final Map<String, Set<String>> idsByBackend = new HashMap<>();
    /** By the names of the backends. */
    private final Map<String, Map<String, RouteHealth>> planned = new HashMap<>();

    private final Consumer<RouteHealth> onStalled;

    /**
     * Healths of no routes so far.
     *
     * @param onStalled receives each route that opens since its calls hang; must not block
     */
    RouteHealths(Consumer<RouteHealth> onStalled) {
        this.onStalled = onStalled;
    }

    /** A route of the configuration leads to the backend. Called for all routes first. */
    void add(String id, @Nullable Backend backend) {
        if (backend != null) {
            idsByBackend
                    .computeIfAbsent(backend.name(), absent -> new LinkedHashSet<>())
                    .add(id);
        }
    }

    /** The health of a route; null: its backend has no other route. */
    @Nullable
    RouteHealth of(String id, Backend backend) {
        return healths(backend).get(id);
    }

    /** Puts the healths in force: a route that stays keeps its state. */
    void apply(Collection<Backend> backends) {
        for (Backend backend : backends) {
            BackendRoutes healths = backend.health().role().routes();
            healths.whenStalled(onStalled);
            healths.replace(healths(backend).values());
        }
    }

    private Map<String, RouteHealth> healths(Backend backend) {
        Set<String> ids = idsByBackend.getOrDefault(backend.name(), Set.of());
        return ids.size() > 1
                ? planned.computeIfAbsent(
                        backend.name(), name -> backend.health().role().routes().plan(ids))
                : Map.of();
    }
}
