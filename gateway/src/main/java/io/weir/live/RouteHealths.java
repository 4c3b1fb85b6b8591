package io.weir.live;

import io.weir.engine.Backend;
import io.weir.health.BackendRoutes;
import io.weir.health.RouteHealth;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The healths of the routes of one configuration: a backend with one route needs none for it. */
final class RouteHealths {

    private final Map<String, Set<String>> idsByBackend = new HashMap<>();
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
                    .computeIfAbsent(backend.name(), absent -> new HashSet<>())
                    .add(id);
        }
    }

    /** The health of a route; null: its backend has no other route. */
    @Nullable
    RouteHealth of(String id, Backend backend) {
        return ids(backend).size() > 1 ? backend.health().role().routes().of(id) : null;
    }

    /** Puts the healths in force: a route that stays keeps its state. */
    void apply(Collection<Backend> backends) {
        for (Backend backend : backends) {
            BackendRoutes healths = backend.health().role().routes();
            healths.whenStalled(onStalled);
            Set<String> ids = ids(backend);
            healths.retain(ids.size() > 1 ? ids : Set.of());
        }
    }

    private Set<String> ids(Backend backend) {
        return idsByBackend.getOrDefault(backend.name(), Set.of());
    }
}
