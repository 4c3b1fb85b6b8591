package io.weir.door;

import io.weir.outcome.Refusal;

/** Told of what becomes of requests that never have an exchange. Called on event loops; must not block. */
public interface EdgeOutcomes {

    /** A request was refused before it had a route. */
    void refused(Refusal refusal, RequestFacts facts);

    /**
     * A request was refused on its route, and never had an exchange: a filter failed.
     *
     * @param route the id of its route
     */
    void failed(String route, Refusal refusal, long totalNanos, RequestFacts facts);

    /**
     * A request was answered by Spring Cloud Gateway itself: by an unprotected route, or by a filter.
     *
     * @param route the id of its route
     */
    void answered(String route, int status, long totalNanos, RequestFacts facts);
}
