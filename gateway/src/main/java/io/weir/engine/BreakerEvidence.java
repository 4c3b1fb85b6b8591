package io.weir.engine;

import io.weir.deadline.Deadline;
import io.weir.health.BackendFailure;
import io.weir.health.Breaker;
import io.weir.health.Breaker.Permission;
import org.jspecify.annotations.Nullable;

/**
 * The evidence that one attempt gives to the circuit breaker. It holds the breaker's permission and returns
 * it with the attempt's outcome. Only the first outcome counts.
 *
 * <p>All times are the backend's own: the time for which the caller sent its request or read the answer is
 * excluded.
 */
final class BreakerEvidence {

    private static final long NEVER = ExchangePhase.NEVER;

    private final Breaker breaker;
    private final int admittedGeneration;
    private @Nullable Permission permission;
    private boolean isCountedAsSlow;

    /**
     * Evidence without an outcome.
     *
     * @param granted {@link Permission#REFUSED} if the breaker is not enforced: the attempt is no evidence
     */
    BreakerEvidence(Breaker breaker, Permission granted) {
        this.breaker = breaker;
        this.admittedGeneration = breaker.generation();
        this.permission = granted == Permission.REFUSED ? null : granted;
    }

    /** The backend answered as expected. */
    void succeeded(long backendNanos) {
        Permission held = returnPermission();
        if (held != null) {
            breaker.succeeded(held, backendNanos);
        }
    }

    /** The backend failed. */
    void failed(long backendNanos, BackendFailure failure) {
        Permission held = returnPermission();
        if (held != null) {
            breaker.failed(held, backendNanos, failure);
        }
    }

    /** The attempt is no evidence. */
    void ignored() {
        Permission held = returnPermission();
        if (held != null) {
            breaker.ignored(held);
        }
    }

    /** The caller ended the attempt: evidence only if the call was already slow. */
    void endedByCaller(long backendNanos) {
        if (backendNanos >= breaker.slowNanos()) {
            succeeded(backendNanos);
        } else {
            ignored();
        }
    }

    /**
     * Whether a missed deadline is the backend's fault: the backend had the time of a slow call, or half of
     * the route's deadline.
     */
    boolean isBackendAtFault(long backendNanos, Deadline missed, long routeDeadlineNanos) {
        long enough = breaker.slowNanos();
        if (!missed.shortenedByCaller()) {
            enough = Math.min(enough, routeDeadlineNanos / 2);
        }
        return backendNanos >= enough;
    }

    /**
     * Counts a slow call while it is in flight, so that a hang shows at the threshold and not at the
     * deadline.
     */
    void countIfSlow(long backendNanos) {
        if (permission == Permission.PROBE) {
            isCountedAsSlow = true;
        } else if (!isCountedAsSlow && permission == Permission.CALL && backendNanos >= breaker.slowNanos()) {
            isCountedAsSlow = true;
            breaker.overdueBegan(admittedGeneration);
        }
    }

    /** Time until {@link #countIfSlow} counts the call. */
    long nanosUntilSlow(long backendNanos) {
        return isCountedAsSlow || permission == null ? NEVER : breaker.slowNanos() - backendNanos;
    }

    /**
     * Takes the permission; null if it is already returned, or if the breaker has opened since the admission.
     */
    private @Nullable Permission returnPermission() {
        Permission held = permission;
        permission = null;
        if (held == Permission.CALL && isCountedAsSlow) {
            breaker.overdueEnded(admittedGeneration);
        }
        isCountedAsSlow = false;
        return held == Permission.CALL && breaker.isOutdated(admittedGeneration) ? null : held;
    }
}
