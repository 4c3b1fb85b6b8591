package io.weir.engine;

import io.weir.faults.FaultType;
import io.weir.hedge.HedgeResult;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;

/** Receives the measurements of one backend. Called on event loops; must not block. */
public interface BackendObserver {

    /** Ignores every measurement. */
    BackendObserver NONE = new BackendObserver() {
        @Override
        public void dispatched(Priority priority, long queueNanos, long leftNanos) {}

        @Override
        public void served(long backendNanos) {}

        @Override
        public void retried(boolean allowed) {}

        @Override
        public void wouldRefuse(Reason reason) {}
    };

    /**
     * A call received its permit.
     *
     * @param priority the class with which the call asked for it
     * @param queueNanos time that the call waited in the queue
     * @param leftNanos time left until the exchange's deadline
     */
    void dispatched(Priority priority, long queueNanos, long leftNanos);

    /**
     * A call released its permit.
     *
     * @param backendNanos time since the call was sent to the backend, without the time of waiting for the
     *     caller
     */
    void served(long backendNanos);

    /**
     * An attempt starts, also one that is a probe.
     *
     * @param isFirst whether it is the first one of its exchange with this backend
     */
    default void attempted(boolean isFirst) {}

    /** A call has taken a place in the compartment of streams in place of a permit. */
    default void movedToStreams(MoveReason reason) {}

    /** An attempt got an injected fault. */
    default void faultInjected(FaultType type) {}

    /** An exchange asked the retry budget for a retry. */
    void retried(boolean allowed);

    /** The answer of a call was late, and this has come of its hedge; {@code WON} follows {@code STARTED}. */
    default void hedged(HedgeResult result) {}

    /** A protection that is not enforced would have refused the exchange for this reason. */
    void wouldRefuse(Reason reason);
}
