package io.weir.health;

/**
 * The cause of a failed call, as the breaker records it: a reason's word, {@code status-503}, {@code
 * grpc-14}. It has no stack trace, since it is a fact about the backend and not about this code.
 */
public final class BackendFailure extends RuntimeException {

    private static final long serialVersionUID = 1;

    /**
     * A failure.
     *
     * @param name the cause, as Resilience4j's events show it
     */
    public BackendFailure(String name) {
        super(name, null, false, false);
    }
}
