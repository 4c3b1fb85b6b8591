package io.weir.door;

import io.weir.outcome.Refusal;

/** Receives the outcomes of requests that never have an exchange. Called on event loops; must not block. */
public interface DoorListener {

    /** A request was refused before it had a route. */
    void refused(Refusal refusal, RequestFacts facts);

    /**
     * A filter of the request's route has failed before there was an exchange.
     *
     * @param route the id of the route
     * @param refusal the response of the gateway
     * @param totalNanos the time since the request's arrival
     * @param facts the request
     */
    void failed(String route, Refusal refusal, long totalNanos, RequestFacts facts);

    /**
     * Spring Cloud Gateway has answered a request itself: by an unprotected route, or by a filter.
     *
     * @param route the id of the route; {@code none} if there is none
     * @param status the HTTP status of the response
     * @param totalNanos the time since the request's arrival
     * @param facts the request
     */
    void answered(String route, int status, long totalNanos, RequestFacts facts);

    /** A trusted proxy has set a priority that does not exist; the route's applies. */
    void priorityIgnored();
}
