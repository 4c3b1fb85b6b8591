package io.weir.door;

import io.weir.engine.Backend;
import io.weir.engine.InFlightCounter;
import io.weir.engine.Route;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All that was made of the configuration about routes and backends, on one immutable object that is swapped whole.
 *
 * @param table which route a request takes
 * @param byId the engine's routes
 * @param backends the backends, by name
 * @param views what there is to tell of each route
 * @param general Spring Cloud Gateway's own routes
 * @param visits the requests that came in by these and are still on their way through Spring Cloud Gateway to the engine
 */
public record Routes(
        RouteTable table,
        Map<String, Route> byId,
        Map<String, Backend> backends,
        List<RouteView> views,
        GeneralRoutes general,
        InFlightCounter visits) {

    /** The engine's route with this id; null if there is none, or it leads to no backend. */
    @Nullable
    public Route route(String id) {
        return byId.get(id);
    }
}
