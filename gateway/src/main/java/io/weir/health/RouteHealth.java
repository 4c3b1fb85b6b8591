package io.weir.health;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The health of one route of a backend that has several: its calls are refused while it fails or hangs and
 * other routes of the backend are answered well. It has the probes and the ramp of a {@link Health}.
 *
 * <p>All methods may be called from any thread.
 */
public final class RouteHealth {

    /** Each verdict counts all recent outcomes; a backend may answer thousands of 503 a second. */
    static final long VERDICT_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final String id;
    private final int index;
    private final BackendRoutes siblings;
    private final Health health;
    private final OutcomeSpread spread = new OutcomeSpread();
    private final String refusal;
    private volatile @Nullable Verdict verdict;

    private record Verdict(boolean failsAlone, long at) {}

    RouteHealth(String id, int index, BackendRoutes siblings, StateMachine backend) {
        this.id = id;
        this.index = index;
        this.siblings = siblings;
        this.refusal = "the route " + id + " fails, while others of the backend are answered";
        this.health = backend.ofRoute(id, new RoutePermits(backend), this::isOthersMatter);
    }

    /** The route's id. */
    public String id() {
        return id;
    }

    int index() {
        return index;
    }

    /** The state, for its probes and for display. */
    public Health health() {
        return health;
    }

    /** As {@link Generation#recoveryNanos}, of the route; 0 while it is open. */
    public long recoveryNanos() {
        Generation generation = health.generation();
        return generation == null ? 0 : generation.recoveryNanos();
    }

    /**
     * Whether the route is slow: it has stalled, and its answers still take as long as a stall. Each of its
     * calls holds a permit for the time of many calls of other routes.
     */
    public boolean isSlow() {
        long recoveryNanos = recoveryNanos();
        return recoveryNanos > 0 && recoveryNanos >= health.settings().probeNanos(0);
    }

    /** Whether another route of the backend is slow, and this one is not. */
    public boolean isBesideSlowOne() {
        return !isSlow() && siblings.hasSlowOne();
    }

    /** The detail of a refusal. */
    public String refusal() {
        return refusal;
    }

    /** Whether the route has no state of its own: its calls proceed as those of the backend. */
    public boolean isClosed() {
        return health.present() instanceof HealthState.Closed;
    }

    /** Whether a call would be refused now: the route is open, or its ramp is full. */
    public boolean refuses(long now) {
        return !isClosed()
                && !siblings.isForced()
                && (!health.permits(now) || health.caps().isRampFull());
    }

    /**
     * Enters a call that is about to be sent; {@link Generation#leave} must follow.
     *
     * @return the generation of the route; null: not permitted
     */
    public @Nullable Generation enter(long now) {
        return health.caps().enterBelowRamp(now);
    }

    /**
     * The backend has sent the final head of an answer to a call of the route.
     *
     * @param sentAt the moment at which the call was sent
     */
    public void answered(@Nullable Generation generation, long sentAt, long now) {
        if (generation != null) {
            generation.answeredCallSentAt(sentAt, now);
        }
        health.answered(generation, now);
    }

    /**
     * A call of the route was answered well.
     *
     * @param caller any hash of the caller
     */
    public void succeeded(@Nullable Generation generation, long backendNanos, int caller, long now) {
        spread.record(0, caller, false, now);
        health.succeeded(generation, backendNanos, now);
    }

    /**
     * The backend failed a call of the route.
     *
     * @param caller any hash of the caller
     */
    public void failed(
            @Nullable Generation generation, long backendNanos, BackendFailure failure, int caller, long now) {
        spread.record(0, caller, true, now);
        health.failed(generation, backendNanos, failure, now);
    }

    /**
     * A call has waited for its answer for the stall time. It is evidence against the route only if the
     * backend has answered another call since this one was sent. The parameters are those of
     * {@link Health#stalled}.
     *
     * @return whether the call was judged
     */
    public boolean stalled(@Nullable Generation generation, long sentAt, long silentSince, long judgedSince, long now) {
        if (!siblings.hasAnsweredSince(sentAt) || siblings.isForced()) {
            return false;
        }
        health.stalled(generation, sentAt, silentSince, judgedSince, now);
        return true;
    }

    /**
     * Whether the route fails while other routes are answered well. Then its time-outs and 503s are no sign
     * of overload.
     */
    public boolean failsAlone(long now) {
        Verdict last = verdict;
        if (last == null || now - last.at >= VERDICT_NANOS) {
            last = new Verdict(siblings.isAlone(this, now), now);
            verdict = last;
        }
        return last.failsAlone;
    }

    /** Whether the route does not open although its calls fail: the others fail alike, or few callers do. */
    private boolean isOthersMatter(long now) {
        HealthSettings settings = health.settings();
        return siblings.isForced()
                || !siblings.isAlone(this, now)
                || spread.failsByCaller(settings.lastCalls(), settings.breaker().failureRateThreshold(), now);
    }

    /** Its evidence has been judged with that of the backend. An open route stays open. */
    void forget() {
        spread.clear();
        verdict = null;
        if (health.isIn()) {
            health.operator().release();
        }
    }

    void release() {
        spread.clear();
        verdict = null;
        health.operator().release();
    }

    void configure(HealthSettings settings) {
        health.configure(settings);
    }

    /** Half of the backend's permits: so many calls that hang are enough to open the route. */
    private final class RoutePermits implements Health.Permits {

        private final StateMachine backend;

        RoutePermits(StateMachine backend) {
            this.backend = backend;
        }

        @Override
        public int limit() {
            return Math.max(2, backend.compartment().limit() / 2);
        }

        @Override
        public void limitChanged() {}

        /** The calls give their permits back themselves: the instance counts them, too. */
        @Override
        public void giveBack(int calls) {
            if (health.present() instanceof HealthState.Open open && open.isStalled()) {
                siblings.stalled(RouteHealth.this);
            }
        }
    }
}
