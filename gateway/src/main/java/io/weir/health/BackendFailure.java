package io.weir.health;

/**
 * What a breaker is told a call failed of: a reason's word, {@code status-503}, {@code grpc-14}. Without a stack trace, since it is a
 * fact about the backend, not about this code.
 */
public final class BackendFailure extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** A failure of this name, as it shows in Resilience4j's events. */
    public BackendFailure(String name) {
        super(name, null, false, false);
    }
}
