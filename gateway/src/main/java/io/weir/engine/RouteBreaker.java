package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.health.BackendFailure;
import io.weir.health.Generation;
import io.weir.health.Health;
import io.weir.health.Pushback;
import io.weir.health.RouteHealth;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The breaker of the exchange's route, for one admission: its calls are refused while the route fails alone.
 *
 * <p>Confined to the exchange's event loop.
 */
final class RouteBreaker {

    private final RouteHealth health;
    /** The generation that counts the call; null: none does. */
    private @Nullable Generation entered;
    /** The generation in which the call was sent; its result is evidence of this generation. */
    private @Nullable Generation sent;

    private boolean isJudged;
    /** The silence with which the call was judged last. */
    private long judgedSilence;

    private RouteBreaker(RouteHealth health) {
        this.health = health;
    }

    /**
     * The breaker of an exchange's route; null: its backend has one route, or the exchange asks a fallback's
     * backend.
     */
    static @Nullable RouteBreaker of(ExchangeRecord record) {
        RouteHealth health = record.routeHealth();
        return health == null ? null : new RouteBreaker(health);
    }

    /** The health of the route. */
    RouteHealth health() {
        return health;
    }

    /** The time for which the answers to the route's calls ask the gateway to stay away. */
    Pushback pushback() {
        return health.health().pushback();
    }

    boolean refuses(long now) {
        return health.refuses(now);
    }

    /** The refusal; null: the route is closed, and something else refuses. */
    @Nullable
    Refuse refusal() {
        return health.isClosed() ? null : new Refuse(Reason.CIRCUIT_OPEN, health.refusal());
    }

    /** Enters a call that is about to be sent. False: the route has opened, or its ramp is full. */
    boolean enter(long now) {
        if (entered != null) {
            return true;
        }
        entered = health.enter(now);
        sent = entered;
        return entered != null || !health.refuses(now);
    }

    /** The call has ended, or has not been sent. */
    void leave() {
        Generation left = entered;
        if (left != null) {
            entered = null;
            left.leave();
        }
    }

    /** Whether a request itself would be the probe of the open route now. */
    boolean isProbeDue(ExchangeContext exchange, long usualNanos, long now) {
        Health state = health.health();
        return ProbeChoice.isDue(ProbeChoice.ofRoute(exchange, state.settings()), state, usualNanos, now);
    }

    /** Whether the route fails while other routes of the backend are answered well. */
    boolean failsAlone(long now) {
        return health.failsAlone(now);
    }

    // ---------------------------------------------------------------- evidence

    void answered(long sentAt, long now) {
        health.answered(sent, sentAt, now);
    }

    void succeeded(long backendNanos, int caller, long now) {
        health.succeeded(sent, backendNanos, caller, now);
    }

    void failed(long backendNanos, BackendFailure failure, int caller, long now) {
        health.failed(sent, backendNanos, failure, caller, now);
    }

    /** As {@link RouteHealth#stalled}; the call may be judged again, as an answer of others comes later. */
    void stalled(long sentAt, long silentSince, long now) {
        long judgedSince = isJudged ? judgedSilence : sentAt - 1;
        if (health.stalled(sent, sentAt, silentSince, judgedSince, now)) {
            isJudged = true;
            judgedSilence = silentSince;
        }
    }
}
