package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A backend with several routes and callers, in virtual time. */
final class RoutesFixture {

    static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    static final long FAST = 20 * MILLIS;
    private final BackendFailure failure = new BackendFailure("status-500");
    private static final int LIMIT = 16;

    long now = TimeUnit.SECONDS.toNanos(1_000);
    int stalled;
    private final Set<String> ids = new HashSet<>();
    final Health backend = TestHealth.of(
            TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(100)),
            TestHealth.permits(LIMIT),
            () -> now);
    final BackendRoutes routes = backend.role().routes();

    RoutesFixture() {
        routes.whenStalled(route -> stalled++);
    }

    RouteHealth route(String id) {
        ids.add(id);
        Map<String, RouteHealth> planned = routes.plan(ids);
        routes.replace(planned.values());
        return Objects.requireNonNull(planned.get(id));
    }

    /**
     * A call that is answered at once.
     *
     * @param route null: the backend has one route
     * @return whether it was sent; false: refused
     */
    boolean call(@Nullable RouteHealth route, int caller, boolean isGood) {
        now += 10 * MILLIS;
        if (!backend.permits(now) || (route != null && route.refuses(now))) {
            return false;
        }
        Generation generation = Objects.requireNonNull(backend.enter(now, true));
        Generation ofRoute = route == null ? null : route.enter(now);
        backend.answered(generation, now);
        routes.record(route, caller, !isGood, now);
        if (route != null) {
            route.answered(ofRoute, now, now);
        }
        end(route, ofRoute, generation, caller, isGood);
        generation.leave();
        if (ofRoute != null) {
            ofRoute.leave();
        }
        return true;
    }

    private void end(
            @Nullable RouteHealth route,
            @Nullable Generation ofRoute,
            Generation generation,
            int caller,
            boolean isGood) {
        if (isGood) {
            if (route != null) {
                route.succeeded(ofRoute, FAST, caller, now);
            }
            backend.succeeded(generation, FAST, now);
        } else {
            if (route != null) {
                route.failed(ofRoute, FAST, failure, caller, now);
            }
            backend.failed(generation, FAST, failure, now);
        }
    }

    State state() {
        return backend.state();
    }
}
