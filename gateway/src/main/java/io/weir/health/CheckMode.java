package io.weir.health;

/** What a health check asks an instance for. */
public enum CheckMode {
    /** A GET of {@code path}. */
    PATH,
    /** A call of gRPC's health service, {@code grpc.health.v1.Health/Check}. */
    GRPC_HEALTH,
    /** A TCP connection, which the gateway closes at once. */
    TCP
}
