package io.weir.engine;

/** Creates the attempts of an engine's exchanges. */
interface AttemptFactory {

    /** Attempts over the network. */
    AttemptFactory OVER_NETWORK = (exchange, admission, evidence, now) -> exchange.isWebSocket()
            ? new WebSocketAttempt(exchange, admission, evidence, now)
            : new HttpAttempt(exchange, admission, evidence, now);

    /**
     * An attempt that is not {@linkplain Attempt#start() started}.
     *
     * @param admission the permits that the attempt uses
     * @param evidence receives the outcome
     */
    Attempt create(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now);
}
