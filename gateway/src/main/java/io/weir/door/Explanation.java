package io.weir.door;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the gateway would do with a request.
 *
 * @param method the method
 * @param host the host that predicates see
 * @param path the normalised path; null if the target is malformed
 * @param refused the refusal before a route is served; null: none
 * @param route the route that serves the request; null: none
 * @param routes of the other routes at most ten, nearest first
 * @param total the number of all routes
 */
public record Explanation(
        String method,
        String host,
        @Nullable String path,
        @Nullable String refused,
        @Nullable ExplainedRoute route,
        List<ExplainedRoute> routes,
        int total) {

    /** Whether all predicates of a route hold. */
    public enum Match {
        /** All hold. */
        YES,
        /** At least one does not hold. */
        NO,
        /** The evaluated ones hold. */
        UNKNOWN
    }

    /**
     * A route.
     *
     * @param position its place in the order of the match, from 1
     * @param id its id
     * @param match whether its predicates hold
     * @param failed the predicates that do not hold, as configured
     * @param notEvaluated the predicates that need a real caller, or that may have side effects
     * @param door {@code compiled} or {@code general}
     * @param backend the name of its backend; null if it has none
     * @param rules the names of the properties by which the route can refuse a call or answer it by itself
     */
    public record ExplainedRoute(
            int position,
            String id,
            Match match,
            List<String> failed,
            List<String> notEvaluated,
            String door,
            @Nullable String backend,
            List<String> rules) {

        /** The reason why the request does not take this route, in words. */
        String reason() {
            return switch (match) {
                case YES -> "matches too, but a route before it serves the request";
                case NO -> "fails " + String.join(", ", failed);
                case UNKNOWN -> "may match; not evaluated: " + String.join(", ", notEvaluated);
            };
        }
    }

    /** Whether a route serves the request. */
    public boolean isServed() {
        return route != null && refused == null;
    }

    /** The explanation for a reader, line by line. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(method + " " + host + (path == null ? "" : path));
        if (refused != null) {
            lines.add("refused: " + refused);
        }
        if (route != null) {
            lines.add("route " + of(route) + ": " + (refused == null ? "serves the request" : "matches"));
            lines.add("  backend " + (route.backend == null ? "none" : route.backend) + ", door " + route.door);
            lines.add("  can refuse by: " + (route.rules.isEmpty() ? "nothing" : String.join(", ", route.rules)));
        } else if (path != null) {
            boolean isSure = routes.stream().noneMatch(one -> one.match == Match.UNKNOWN);
            lines.add(isSure ? "no route matches (no-route, 404)" : "no route is certain to match");
        }
        if (!routes.isEmpty()) {
            lines.add(routes.size() < total - (route == null ? 0 : 1) ? "nearest other routes:" : "other routes:");
        }
        routes.forEach(one -> lines.add("  " + of(one) + ": " + one.reason()));
        return lines;
    }

    private String of(ExplainedRoute one) {
        return one.id + " (" + one.position + " of " + total + ")";
    }
}
