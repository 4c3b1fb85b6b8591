package io.weir.engine;

import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The answer is complete; its last bytes are being written to the caller. The backend's permit is already
 * returned.
 *
 * @param reader the caller's progress
 */
record Flushing(SlowReaderDetector reader) implements ExchangePhase {

    @Override
    public long dueNanos(long now) {
        return reader.dueNanos(now);
    }

    @Override
    public Decision check(long now) {
        return reader.isStalled(now) ? Decision.BreakOff.ANSWER_NOT_READ : Decision.Step.WAIT;
    }

    @Override
    public Reason expiryReason(long now) {
        return Reason.CLIENT_TOO_SLOW;
    }

    @Override
    public Decision expire(long now) {
        return Decision.BreakOff.ANSWER_NOT_READ;
    }

    @Override
    public Decision cutShort(Reason why, @Nullable String detail) {
        return new Decision.BreakOff(why, detail);
    }

    @Override
    public boolean isDelivering() {
        return true;
    }

    @Override
    public void release(@Nullable Reason why, long now) {}
}
