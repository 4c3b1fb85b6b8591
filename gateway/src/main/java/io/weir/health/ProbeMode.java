package io.weir.health;

/** The requests that find out whether a backend has recovered, while its breaker is open. */
public enum ProbeMode {
    /**
     * Copies of callers' requests: the caller of a GET or HEAD without a body is refused at once, and the
     * gateway sends the same request on by itself.
     */
    SHADOW,
    /** Callers' own requests: their callers wait for the answer, at most {@code stall-duration}. */
    CALLER,
    /** The gateway's own GET of {@code health-path}. */
    PATH,
    /** The gateway's own call of gRPC's health service, {@code grpc.health.v1.Health/Check}. */
    GRPC_HEALTH
}
