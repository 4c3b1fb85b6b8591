package io.weir.engine;

import io.weir.health.RouteHealth;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The phase of an exchange. Each phase is the object that owns everything the exchange holds in that phase,
 * and gives it back by {@link #release}. A later phase takes over the objects of the phase before it:
 *
 * <pre>
 *  EmptyPhase    nothing
 *  AwaitingKeys  nothing
 *  AwaitedQuota  nothing; the question to the counter that all gateways share
 *  Authorizing   the call to the authorizer, which is an exchange of its own
 *  ReadingAhead  the reading of the request's body; no permit
 *  Admission     the route's permit, and the backend's permit or a place in its queue
 *  Attempt       the admission; the evidence for the backend's health; the connection
 *  Hedging       two attempts
 *  Backoff       nothing; the attempt while its answer is drained
 *  Answering     the attempt; the reader's progress
 *  Flushing      the reader's progress
 * </pre>
 *
 * <p>The bytes of a body that is read ahead are in the {@link RequestBody}, which belongs to the exchange.
 *
 * <p>All methods are called on the exchange's event loop.
 */
interface ExchangePhase {

    /** A time that is never due. */
    long NEVER = Long.MAX_VALUE;

    /** The phases in which an exchange holds nothing. */
    enum EmptyPhase implements ExchangePhase {
        /** Not started; the exchange is not registered yet. */
        CREATED,
        /** Not started, but the caller has left or the door has given up: the start ends it at once. */
        CANCELLED_BEFORE_START,
        /** Started; between two phases that hold something. */
        STARTED,
        /** Ended. */
        DONE;

        @Override
        public void release(@Nullable Reason why, long now) {}
    }

    /** Time until {@link #check} must be called; {@link #NEVER}: the deadline is the only time-out. */
    default long dueNanos(long now) {
        return NEVER;
    }

    /** Checks the phase's time-outs. Called when one of them may be due. */
    default Decision check(long now) {
        return Decision.Step.WAIT;
    }

    /** Gives back everything that the phase owns, once. */
    void release(@Nullable Reason why, long now);

    /**
     * The reason if the deadline passes now: {@code client-too-slow} while the gateway waits for the caller,
     * otherwise {@code deadline-exceeded}.
     */
    default Reason expiryReason(long now) {
        return Reason.DEADLINE_EXCEEDED;
    }

    /**
     * Decides the next step after the deadline has passed, and reports the missed deadline to the breaker.
     */
    default Decision expire(long now) {
        return Decision.Refuse.DEADLINE_EXCEEDED;
    }

    /** The decision that ends the exchange for this reason before the backend's answer is complete. */
    default Decision cutShort(Reason why, @Nullable String detail) {
        return new Decision.Refuse(why, detail);
    }

    /** Reports to the breaker that the caller ends the exchange. */
    default void endedByCaller(long now) {}

    /**
     * Whether the end of the phase closes the caller's side in an orderly way, so that no reset must follow.
     */
    default boolean closesCallerSide(Reason why) {
        return false;
    }

    /** Whether the caller receives the answer in this phase. */
    default boolean isDelivering() {
        return false;
    }

    /** The result that the caller gets if no further attempt starts; null: no attempt is retried. */
    default @Nullable RetriedResult retriedResult() {
        return null;
    }

    /** The instance whose connection the phase uses or asks for; null: none. */
    default @Nullable Instance usedInstance() {
        return null;
    }

    /** The other instance that the phase uses, while a hedge runs beside the first attempt; null: none. */
    default @Nullable Instance secondInstance() {
        return null;
    }

    /**
     * The instance of the exchange has opened: a call that waits in it for its answer, and may be sent twice,
     * goes to another one.
     */
    default Decision instanceOpened(Instance opened, long now) {
        return Decision.Step.WAIT;
    }

    /**
     * An instance has left, and its drain time-out has passed. If it is that of the exchange, a call that
     * waits for its answer, and may be sent twice, goes to another instance; any other exchange ends.
     */
    default Decision instanceGone(Pool left, long now) {
        Instance used = usedInstance();
        return used != null && used.pool() == left
                ? cutShort(Reason.CONNECTION_LOST, "the instance has left the backend")
                : Decision.Step.WAIT;
    }

    /** The calls of a route hang. */
    default void routeStalled(RouteHealth stalled, long now) {}

    /** Time for which the current permit has been used. */
    default long backendNanos(long now) {
        return 0;
    }
}
