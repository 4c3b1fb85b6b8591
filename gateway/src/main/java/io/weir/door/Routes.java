package io.weir.door;

import io.weir.engine.Backend;
import io.weir.engine.Route;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All that was made of the configuration about routes and backends, on one immutable object that is swapped whole.
 *
 * @param table which route a request takes
 * @param byId the engine's routes
 * @param backends the backends, by name
 * @param why for each route that takes the general door, why
 */
public record Routes(
        RouteTable table, Map<String, Route> byId, Map<String, Backend> backends, Map<String, String> why) {

    /** The engine's route with this id; null if there is none, or it leads to no backend. */
    @Nullable
    Route route(String id) {
        return byId.get(id);
    }
}
