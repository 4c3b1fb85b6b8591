package io.weir.engine;

import io.weir.deadline.Deadline;
import io.weir.health.BackendFailure;
import io.weir.health.Breaker;
import io.weir.health.Breaker.Permission;
import org.jspecify.annotations.Nullable;

/**
 * What an attempt says about its backend: the breaker's permission, and the one verdict that it is given back with. Whoever judges second changes
 * nothing.
 *
 * <p>All times are the backend's own: without what the caller took to bring the request or to take the answer.
 */
final class Verdict {

    private static final long NEVER = Long.MAX_VALUE;

    private final Breaker breaker;
    private final int letIn;
    private @Nullable Permission permission;
    private boolean overdue;

    /**
     * No verdict yet.
     *
     * @param taken {@link Permission#REFUSED} if the call is made all the same: it tells the breaker nothing
     */
    Verdict(Breaker breaker, Permission taken) {
        this.breaker = breaker;
        this.letIn = breaker.generation();
        this.permission = taken == Permission.REFUSED ? null : taken;
    }

    /** The backend did what it should. */
    void succeeded(long backendNanos) {
        Permission held = take();
        if (held != null) {
            breaker.succeeded(held, backendNanos);
        }
    }

    /** The backend failed. */
    void failed(long backendNanos, BackendFailure failure) {
        Permission held = take();
        if (held != null) {
            breaker.failed(held, backendNanos, failure);
        }
    }

    /** The attempt says nothing about the backend. */
    void ignored() {
        Permission held = take();
        if (held != null) {
            breaker.ignored(held);
        }
    }

    /** The caller ended it: that counts as a slow call if it was one already, and otherwise as nothing. */
    void endedByCaller(long backendNanos) {
        if (backendNanos >= breaker.slowNanos()) {
            succeeded(backendNanos);
        } else {
            ignored();
        }
    }

    /** Whether the backend had enough time of its own for a missed deadline to speak against it. */
    boolean hadEnough(long backendNanos, Deadline missed, long routeDeadlineNanos) {
        long enough = breaker.slowNanos();
        if (!missed.shortenedByCaller()) {
            enough = Math.min(enough, routeDeadlineNanos / 2);
        }
        return backendNanos >= enough;
    }

    /** A call that is slow already is counted while it is under way: a hang shows at the threshold, not at the deadline. */
    void watch(long backendNanos) {
        if (permission == Permission.PROBE) {
            overdue = true;
        } else if (!overdue && permission == Permission.CALL && backendNanos >= breaker.slowNanos()) {
            overdue = true;
            breaker.overdueBegan(letIn);
        }
    }

    /** Time to when it has to be {@linkplain #watch watched} again. */
    long nanosToWatch(long backendNanos) {
        return overdue || permission == null ? NEVER : breaker.slowNanos() - backendNanos;
    }

    private @Nullable Permission take() {
        Permission held = permission;
        permission = null;
        if (held == Permission.CALL && overdue) {
            breaker.overdueEnded(letIn);
        }
        overdue = false;
        return held == Permission.CALL && breaker.isOutdated(letIn) ? null : held;
    }
}
