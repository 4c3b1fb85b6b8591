package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The settings of a backend's {@link Health}, with the values that follow from the backend's other
 * properties.
 *
 * @param breaker as configured
 * @param recovery as configured
 * @param deadlineNanos the backend's deadline
 */
public record HealthSettings(CircuitBreakerProperties breaker, RecoveryProperties recovery, long deadlineNanos) {

    private static final int WINDOW_CALLS = 100;
    private static final int WINDOW_SECONDS = 60;
    private static final int MINIMUM_CALLS = 20;
    private static final long LONGEST_DEFAULT_STALL_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int USUAL_TIMES = 3;
    /** A call whose caller leaves sooner is no evidence: such waits are within the jitter of any network. */
    private static final long SHORTEST_ABANDONED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The sliding window's size: calls or seconds. */
    public int slidingWindowSize() {
        return slidingWindowSize(breaker);
    }

    /** The default: 100 calls, or 60 seconds. */
    public static int slidingWindowSize(CircuitBreakerProperties properties) {
        Integer size = properties.slidingWindowSize();
        if (size != null) {
            return size;
        }
        return countsCalls(properties) ? WINDOW_CALLS : WINDOW_SECONDS;
    }

    /** Calls before rates are judged; the default is 20, or the window if that is smaller. */
    int minimumNumberOfCalls() {
        Integer minimum = breaker.minimumNumberOfCalls();
        if (minimum != null) {
            return minimum;
        }
        return countsCalls(breaker) ? Math.min(MINIMUM_CALLS, slidingWindowSize()) : MINIMUM_CALLS;
    }

    /** The calls whose results the rates are of, at most. */
    int lastCalls() {
        return countsCalls() ? slidingWindowSize() : Integer.MAX_VALUE;
    }

    boolean countsCalls() {
        return countsCalls(breaker);
    }

    private static boolean countsCalls(CircuitBreakerProperties properties) {
        return properties.slidingWindowType() == SlidingWindowType.COUNT_BASED;
    }

    /** Calls that take longer are slow. */
    long slowNanos() {
        Duration threshold = breaker.slowCallDurationThreshold();
        return threshold == null ? deadlineNanos : threshold.toNanos();
    }

    /**
     * The time without an answer after which a call counts as stalled.
     *
     * @param routeDeadlineNanos the deadline of the call's route
     * @param usualNanos the usual time of the route's calls; 0: unknown
     * @param recoveryNanos as {@link Generation#recoveryNanos}
     */
    public long stallNanos(long routeDeadlineNanos, long usualNanos, long recoveryNanos) {
        Duration configured = breaker.stallDuration();
        if (configured != null) {
            return Math.min(Math.max(configured.toNanos(), times(recoveryNanos)), routeDeadlineNanos);
        }
        return usualNanos == 0
                ? routeDeadlineNanos
                : defaultStallNanos(routeDeadlineNanos, Math.max(usualNanos, recoveryNanos));
    }

    /**
     * The shortest wait after which a call counts as stalled if its caller leaves; {@link Long#MAX_VALUE}: no
     * such call counts, since the usual time is unknown.
     *
     * @param recoveryNanos as {@link Generation#recoveryNanos}
     */
    public long abandonedNanos(long usualNanos, long recoveryNanos) {
        return usualNanos == 0
                ? Long.MAX_VALUE
                : Math.max(SHORTEST_ABANDONED_NANOS, times(Math.max(usualNanos, recoveryNanos)));
    }

    /**
     * The time after which a probe is given up. An unknown usual time does not lengthen it: a probe that is
     * given up too early costs another probe, and the patient probe finds a backend that has become slow.
     */
    public long probeNanos(long usualNanos) {
        Duration configured = breaker.stallDuration();
        return configured == null ? defaultStallNanos(deadlineNanos, usualNanos) : configured.toNanos();
    }

    private static long defaultStallNanos(long deadlineNanos, long usualNanos) {
        long half = Math.min(deadlineNanos / 2, LONGEST_DEFAULT_STALL_NANOS);
        return Math.min(deadlineNanos, Math.max(half, times(usualNanos)));
    }

    private static long times(long usualNanos) {
        return usualNanos > Long.MAX_VALUE / USUAL_TIMES ? Long.MAX_VALUE : USUAL_TIMES * usualNanos;
    }

    /** The configuration as Resilience4j's endpoints and meters show it. */
    CircuitBreakerConfig resilience4j() {
        return CircuitBreakerConfig.custom()
                .failureRateThreshold(breaker.failureRateThreshold())
                .slowCallRateThreshold(breaker.slowCallRateThreshold())
                .slowCallDurationThreshold(Duration.ofNanos(slowNanos()))
                .slidingWindow(
                        slidingWindowSize(),
                        minimumNumberOfCalls(),
                        breaker.slidingWindowType(),
                        CircuitBreakerConfig.SlidingWindowSynchronizationStrategy.LOCK_FREE)
                .permittedNumberOfCallsInHalfOpenState(breaker.permittedNumberOfCallsInHalfOpenState())
                .recordException(failure -> true)
                .writableStackTraceEnabled(false)
                .build();
    }
}
