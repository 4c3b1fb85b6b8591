package io.weir.engine;

import io.weir.engine.TrafficSimulation.Fault;
import io.weir.health.BackendRoutes;
import io.weir.health.Health;
import io.weir.health.RouteHealth;
import io.weir.testing.TestRoute;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The routes of a simulated backend that are told apart, and the faults of single ones. */
final class RouteFaults {

    private final Map<String, Fault> faults = new HashMap<>();
    private final Map<String, Duration> services = new HashMap<>();

    /** Routes to a backend, each with a health of its own. */
    static List<Route> routes(Backend backend, RouteObserver observer, Engine engine, List<String> ids) {
        BackendRoutes apart = backend.health().role().routes();
        Map<String, RouteHealth> healths = apart.plan(new LinkedHashSet<>(ids));
        apart.replace(healths.values());
        apart.whenStalled(engine::giveBackPermits);
        return ids.stream()
                .map(id -> TestRoute.to(backend, observer)
                        .id(id)
                        .health(Objects.requireNonNull(healths.get(id)))
                        .build())
                .toList();
    }

    void set(Route route, Fault fault) {
        faults.put(route.id(), fault);
    }

    /** The route is answered, but after this time. */
    void slowDown(Route route, Duration service) {
        services.put(route.id(), service);
    }

    void heal(Route route) {
        faults.remove(route.id());
        services.remove(route.id());
    }

    /** The time until the answer to a call of a route, if that of other routes is this. */
    long serviceNanos(Route route, long others) {
        Duration own = services.get(route.id());
        return own == null ? others : own.toNanos();
    }

    /** What the call of a route meets, if other routes meet this. */
    Fault met(Route route, Fault others) {
        return faults.getOrDefault(route.id(), others);
    }

    /** What a probe meets: it is a copy of a call of the route that is open, if one is open alone. */
    Fault metByProbe(Health backend, Fault others) {
        return notClosed(backend).map(id -> faults.getOrDefault(id, others)).orElse(others);
    }

    /** The time until the answer to a probe, if that of other routes is this. */
    long probeNanos(Health backend, long others) {
        return notClosed(backend).map(services::get).map(Duration::toNanos).orElse(others);
    }

    private static Optional<String> notClosed(Health backend) {
        return backend.role().routes().notClosed().stream().map(RouteHealth::id).findFirst();
    }
}
