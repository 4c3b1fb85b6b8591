package io.weir.management;

import io.weir.lastgood.LastGoodStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;

/**
 * The management endpoint {@code weirlastgood}: the store of last good answers.
 *
 * <ul>
 *   <li>{@code GET /actuator/weirlastgood}: how much it holds. Never an answer, which may be confidential.
 *   <li>{@code DELETE /actuator/weirlastgood} empties it, {@code DELETE /actuator/weirlastgood/ROUTE} removes
 *       the answers of a route (404 if there is no such route). Answers under way at that moment are not
 *       kept.
 * </ul>
 */
@Endpoint(id = "weirlastgood")
public class WeirLastGoodEndpoint {

    private static final Logger log = LoggerFactory.getLogger(WeirLastGoodEndpoint.class);

    private final LastGoodStore store;
    private final Gateway gateway;
    private final RecentEvents recentEvents;

    /** The endpoint of a gateway. */
    public WeirLastGoodEndpoint(LastGoodStore store, Gateway gateway, RecentEvents recentEvents) {
        this.store = store;
        this.gateway = gateway;
        this.recentEvents = recentEvents;
    }

    /**
     * The response.
     *
     * @param entries answers, and lists of the fields that {@code Vary} names
     * @param bytes memory in use
     * @param maxBytes {@code weir.last-good.memory}
     */
    record View(long entries, long bytes, long maxBytes) {}

    /**
     * The response to a {@code DELETE}.
     *
     * @param removed the number of answers
     */
    record Removed(long removed) {}

    /** How much the store holds. */
    @ReadOperation
    public Object state() {
        return new View(store.entries(), store.bytes(), store.maxBytes());
    }

    /** Empties the store. */
    @DeleteOperation
    public Mono<WebEndpointResponse<Object>> emptyAll() {
        return ManagementCaller.run(by -> empty(null, by));
    }

    /** Removes the answers of a route. */
    @DeleteOperation
    public Mono<WebEndpointResponse<Object>> emptyRoute(@Selector String route) {
        return ManagementCaller.run(by -> empty(route, by));
    }

    private WebEndpointResponse<Object> empty(@Nullable String route, String by) {
        if (route != null
                && gateway.routes().stream().noneMatch(view -> view.id().equals(route))) {
            throw new RefusedRequestException(
                    RefusedRequestException.STATUS_NOT_FOUND, "route: " + route + " (expected: a configured one)");
        }
        long removed = store.empty(route);
        String whose = route == null ? "all routes" : "route " + route;
        log.warn("Last good answers of {} removed by {}: {}", whose, by, removed);
        recentEvents.add(
                RecentEvents.Kind.LAST_GOOD_EMPTIED,
                null,
                "Last good answers of " + whose + " removed: " + removed,
                by);
        return new WebEndpointResponse<>(new Removed(removed));
    }
}
