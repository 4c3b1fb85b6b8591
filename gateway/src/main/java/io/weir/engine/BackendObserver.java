package io.weir.engine;

import io.weir.outcome.Reason;

/**
 * What a backend's meters and live figures are fed with. Called on event loops; must not block.
 */
public interface BackendObserver {

    /** Nobody watches. */
    BackendObserver NONE = new BackendObserver() {
        @Override
        public void dispatched(long queueNanos, long leftNanos) {}

        @Override
        public void served(long backendNanos) {}

        @Override
        public void retried(boolean allowed) {}

        @Override
        public void wouldRefuse(Reason reason) {}

        @Override
        public long uncongestedNanos() {
            return 0;
        }
    };

    /** A call got its permit after this wait, with this budget left. */
    void dispatched(long queueNanos, long leftNanos);

    /** A call gave its permit back, after this time with the backend. */
    void served(long backendNanos);

    /** A retry was wanted, and the budget allowed it or not. */
    void retried(boolean allowed);

    /** An exchange went on that would have been refused if the protection were enforced. */
    void wouldRefuse(Reason reason);

    /** The time that the backend takes for a call when it is not congested; 0 while it is not known. */
    long uncongestedNanos();
}
