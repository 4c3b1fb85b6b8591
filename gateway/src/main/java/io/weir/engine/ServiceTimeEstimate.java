package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.weir.health.Breaker;
import io.weir.limit.LittlesLaw;
import io.weir.limit.LittlesLawProperties;
import java.util.function.LongSupplier;

/**
 * The estimate of the time that a backend takes for a call while it is not congested. A refusal derives
 * its {@code Retry-After} from it, and the admission to a fallback's backend its shortest useful wait.
 *
 * <p>The engine feeds the estimate, so the input of a decision never depends on a meter. Metrics only display
 * {@link #littlesLaw()}.
 *
 * <p>Samples of a failing backend do not count, since errors are fast: the breaker must be closed and its
 * failure rate must not exceed {@value #MAX_FAILURE_RATE} percent.
 */
// Concurrency: thread-safe. `breaker` is volatile, since a reload may replace the breaker; a sample that is
// judged by the previous breaker does no harm.
public final class ServiceTimeEstimate {

    private static final float MAX_FAILURE_RATE = 10;

    private final LittlesLaw littlesLaw;
    private volatile Breaker breaker;

    /**
     * An estimate without samples.
     *
     * @param nanoClock {@link System#nanoTime} except in tests
     */
    public ServiceTimeEstimate(LittlesLawProperties properties, Breaker breaker, LongSupplier nanoClock) {
        this.breaker = breaker;
        this.littlesLaw = new LittlesLaw(properties, this::isTrustworthy, nanoClock);
    }

    /** From now on this breaker decides whether samples count. */
    public void follow(Breaker successor) {
        breaker = successor;
    }

    /** Records the time that an admitted call waited in the queue. */
    public void recordWait(long queueNanos) {
        littlesLaw.waited(queueNanos);
    }

    /**
     * Records the time for which a completed call used the backend, without the time for which its caller was
     * waited for. Streams are not recorded.
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
        Breaker current = breaker;
        return current.state() == CircuitBreaker.State.CLOSED
                && current.resilience4j().getMetrics().getFailureRate() <= MAX_FAILURE_RATE;
    }
}
