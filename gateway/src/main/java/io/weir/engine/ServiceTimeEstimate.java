package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.weir.health.Health;
import io.weir.limit.LittlesLaw;
import io.weir.limit.LittlesLawProperties;
import java.util.function.LongSupplier;

/**
 * The estimate of the time that a backend takes for a call while it is not congested. A refusal derives its
 * {@code Retry-After} from the estimate. The admission to a fallback's backend derives the least time that a
 * call needs from it.
 *
 * <p>The engine feeds the estimate, so the input of a decision never depends on a meter. Metrics only display
 * {@link #littlesLaw()}.
 *
 * <p>Samples of a failing backend do not count, since errors are fast: the breaker must be closed and its
 * failure rate must not exceed {@value #MAX_FAILURE_RATE} percent.
 */
public final class ServiceTimeEstimate {

    private static final float MAX_FAILURE_RATE = 10;

    private final LittlesLaw littlesLaw;
    private final Health health;

    /**
     * An estimate without samples.
     *
     * @param nanoClock {@link System#nanoTime} except in tests
     */
    public ServiceTimeEstimate(LittlesLawProperties properties, Health health, LongSupplier nanoClock) {
        this.health = health;
        this.littlesLaw = new LittlesLaw(properties, this::isTrustworthy, nanoClock);
    }

    /** Records the time that the same call waited in the queue. */
    public void recordWait(long queueNanos) {
        littlesLaw.waited(queueNanos);
    }

    /**
     * Records the time of a call in the backend, if the backend has answered or has let the deadline pass.
     * The time of waiting for the caller is excluded. Streams are not recorded.
     */
    public void recordServed(long backendNanos) {
        littlesLaw.served(backendNanos);
    }

    /** The median service time while the backend is not congested; 0 until enough calls are recorded. */
    public long uncongestedNanos() {
        return littlesLaw.typicalNanos();
    }

    /** The arrival rate, service time and concurrency that follow from the samples, for display. */
    public LittlesLaw littlesLaw() {
        return littlesLaw;
    }

    private boolean isTrustworthy() {
        return health.state() == CircuitBreaker.State.CLOSED && health.failureRate() <= MAX_FAILURE_RATE;
    }
}
