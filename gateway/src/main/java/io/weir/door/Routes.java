package io.weir.door;

import io.weir.authentication.ReservedFields;
import io.weir.engine.Backend;
import io.weir.engine.InFlightCounter;
import io.weir.engine.Route;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * All routes and backends of one configuration, as one immutable object that is replaced as a whole.
 *
 * @param table finds the route of a request
 * @param byId the engine's routes, by id
 * @param backends the backends, by name
 * @param views the routes as the management endpoints show them
 * @param pathPreserving the ids of routes whose backend sees the path as received
 * @param general Spring Cloud Gateway's own routes, in the order of the match
 * @param weights the groups of routes that share requests by weight
 * @param answers the changes of each route's responses, apart from its filters
 * @param reservedFields the header fields that only the gateway may set; null: none
 * @param requestsInChain counts the requests with these routes that are in Spring Cloud Gateway's filter
 *     chain, before the engine
 */
public record Routes(
        RouteTable table,
        Map<String, Route> byId,
        Map<String, Backend> backends,
        List<RouteView> views,
        Set<String> pathPreserving,
        List<org.springframework.cloud.gateway.route.Route> general,
        WeightedGroups weights,
        RouteAnswers answers,
        @Nullable ReservedFields reservedFields,
        InFlightCounter requestsInChain) {

    /** The engine's route with this id; null if there is none, or if the route has no backend. */
    @Nullable
    public Route route(String id) {
        return byId.get(id);
    }
}
