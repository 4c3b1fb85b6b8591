package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.health.RouteHealth;
import io.weir.limit.AnswerPace;
import io.weir.limit.LimitInForce;
import java.util.concurrent.TimeUnit;

/**
 * A call that the backend leaves behind: it hangs or polls, while calls that were sent much later are
 * answered. Beside an adaptive limit it moves from the backend's bulkhead to the compartment of streams. So
 * it takes no permit from calls that are answered, and the limit goes on learning from those that end. If the
 * call is answered in the end, its time is a sample of the limit all the same.
 *
 * <p>A call is left behind once it has waited for the stall time. While all permits are in use it is left
 * behind as soon as it is late ({@link AnswerPace}); otherwise calls to a dead shard hold all permits before
 * the stall time, and the backend seems to have stalled.
 *
 * <p>While calls without an answer hold all permits, no later call is sent that could overtake them. Then a
 * <i>scout</i> goes to the backend from time to time: an ordinary call with a stream's permit in place of the
 * bulkhead's. A backend that swallowed its first calls, and has healed since, is found in this way. While one
 * route of the backend is slow, its calls hold the permits for long; then the calls of other routes are
 * scouts, too, up to half of the limit.
 *
 * <p>All these calls take at most half of the compartment: streams may need the other half.
 *
 * <p>Stateless: the times are read from the attempt.
 */
final class LeftBehind {

    /** The shortest and the longest time between two checks of a late call. */
    private static final long SHORTEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long LONGEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** A call that has waited for longer is checked less often. */
    private static final int CHECKS_OF_WAIT = 8;

    private LeftBehind() {}

    /** Time until the call must be checked. */
    static long dueNanos(Attempt attempt, long now) {
        if (attempt.evidence().isAnswered()
                || !attempt.permits().isMovable()
                || !attempt.backend.limit().isAdaptive()) {
            return ExchangePhase.NEVER;
        }
        long waited = waitedNanos(attempt, now);
        long left = lateNanos(attempt, now) - waited;
        return left > 0 ? left : Math.clamp(waited / CHECKS_OF_WAIT, SHORTEST_PERIOD_NANOS, LONGEST_PERIOD_NANOS);
    }

    /**
     * Moves the call if the backend leaves it behind, and there is room: it takes no permit from calls that
     * are answered. A fixed limit is exact: there the call keeps its permit.
     */
    static void moveIfSo(Attempt attempt, long now) {
        if (attempt.permits().isMovable()
                && (isStalledAlone(attempt, now)
                        || (attempt.backend.bulkhead().isFull() && isLateAndOvertaken(attempt, now)))
                && attempt.backend.limit().isAdaptive()
                && hasRoom(attempt.backend)) {
            attempt.permits().moveLeftBehind(now);
        }
    }

    /** Beyond the spread of the answers: a backend whose calls differ much leaves none of them behind. */
    private static boolean isStalledAlone(Attempt attempt, long now) {
        return attempt.evidence().isLeftBehind()
                && waitedNanos(attempt, now) >= attempt.backend.limit().pace().usualSpreadNanos();
    }

    /** In a queue the call would have been answered before one that came so much later. */
    private static boolean isLateAndOvertaken(Attempt attempt, long now) {
        long late = lateNanos(attempt, now);
        return waitedNanos(attempt, now) >= late && attempt.evidence().isOvertaken(late);
    }

    private static long waitedNanos(Attempt attempt, long now) {
        return attempt.evidence().waitedNanos(attempt.backendOnlyNanos(now), now);
    }

    private static long lateNanos(Attempt attempt, long now) {
        return attempt.backend
                .limit()
                .pace()
                .lateNanos(attempt.exchange.record().usualNanos(now));
    }

    /**
     * Whether a call may go to the backend although all permits are held. A fixed limit, an operator's, and
     * that of a backend that recovers are exact.
     */
    static boolean isScoutDue(Backend backend, ExchangeRecord record, long now) {
        LimitInForce limit = backend.limit();
        return limit.isAdaptive()
                && (limit.pace().isScoutDue(record.usualNanos(now), now) || isBesideSlowRoute(backend, record))
                && limit.operatorLimit() == LimitInForce.NONE
                && backend.health().state() == State.CLOSED
                && hasRoom(backend);
    }

    /** Takes a stream's permit for a scout if one is due. */
    static boolean trySendScout(Backend backend, ExchangeRecord record, long now) {
        return isScoutDue(backend, record, now)
                && (isBesideSlowRoute(backend, record) || backend.limit().pace().tryScout(record.usualNanos(now), now))
                && backend.streams().tryAcquire();
    }

    /** Half as many calls as the limit go to the backend beside those of a slow route, which hold it. */
    private static boolean isBesideSlowRoute(Backend backend, ExchangeRecord record) {
        RouteHealth route = record.routeHealth();
        return route != null
                && backend.streams().inUse() < backend.bulkhead().maxConcurrentCalls() / 2
                && route.isBesideSlowOne();
    }

    /** Whether the compartment of streams has room for a call that is left behind, or a scout. */
    static boolean hasRoom(Backend backend) {
        return 2 * backend.streams().inUse() < backend.streams().maxConcurrentCalls();
    }
}
