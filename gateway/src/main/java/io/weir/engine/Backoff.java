package io.weir.engine;

import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The pause between two attempts. The exchange keeps its permits.
 *
 * @param admission the permits
 * @param endsAt the moment of the next attempt
 */
record Backoff(Admission admission, long endsAt) implements ExchangePhase {

    @Override
    public long dueNanos(long now) {
        return endsAt - now;
    }

    @Override
    public Decision check(long now) {
        return endsAt - now <= 0 ? Decision.Step.ADMIT : Decision.Step.WAIT;
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        admission.release(why, now);
    }

    @Override
    public long backendNanos(long now) {
        return admission.backendNanos(now);
    }
}
