package io.weir.engine;

import io.weir.authorization.AuthorizationCache;
import io.weir.authorization.AuthorizationRule;
import io.weir.limit.OverdueCalls;
import io.weir.limit.Priority;
import io.weir.limit.UsualTime;
import org.jspecify.annotations.Nullable;

/**
 * The backend that decides whether requests may use a route.
 *
 * @param rule what it is asked, and what follows from its answer
 * @param cache its answers that serve further requests; null: none does
 * @param calls the calls to it, as a route without properties
 */
public record Authorizer(AuthorizationRule rule, @Nullable AuthorizationCache cache, Route calls) {

    /**
     * The authorizer of a route.
     *
     * @param ofRoute the route's id
     * @param users counts the exchanges of the route, and the calls on behalf of them
     * @param old the predecessor, whose measurements remain if it asks the same backend; null: none
     */
    public static Authorizer of(
            AuthorizationRule rule,
            @Nullable AuthorizationCache cache,
            String ofRoute,
            Backend backend,
            Priority priority,
            InFlightCounter users,
            @Nullable Authorizer old) {
        Route known = old != null && old.calls.backend().name().equals(backend.name()) ? old.calls : null;
        return new Authorizer(
                rule,
                cache,
                new Route(
                        ofRoute + "/authorize",
                        backend,
                        backend.settings().deadlineNanos(),
                        Mode.REQUEST,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        RouteObserver.NONE,
                        known == null ? new OverdueCalls() : known.overdue(),
                        users,
                        // Its evidence is the backend's, as that of a fallback's calls.
                        null,
                        known == null ? new UsualTime() : known.usualTime(),
                        null,
                        priority,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null));
    }
}
