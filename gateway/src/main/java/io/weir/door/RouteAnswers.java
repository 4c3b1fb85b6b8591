package io.weir.door;

import java.util.Map;

/** The {@link AnswerRules} of all routes. Immutable. */
public final class RouteAnswers {

    private final Map<String, AnswerRules> byId;
    private final AnswerRules ofNone;
    private final boolean hasCors;
    private final boolean hasCompression;

    /**
     * The rules of these routes.
     *
     * @param byId the rules by the route's id; routes without rules may be missing
     * @param ofNone the rules of a request without a route
     */
    public RouteAnswers(Map<String, AnswerRules> byId, AnswerRules ofNone) {
        this.byId = Map.copyOf(byId);
        this.ofNone = ofNone;
        this.hasCors = byId.values().stream().anyMatch(rules -> rules.cors() != null);
        this.hasCompression = byId.values().stream().anyMatch(rules -> rules.compression() != null);
    }

    AnswerRules of(String routeId) {
        return byId.getOrDefault(routeId, ofNone);
    }

    /** The rules of a request without a route. */
    AnswerRules ofNone() {
        return ofNone;
    }

    /** Whether a route answers preflight requests. */
    boolean hasCors() {
        return hasCors;
    }

    /** Whether a route compresses responses. */
    boolean hasCompression() {
        return hasCompression;
    }
}
