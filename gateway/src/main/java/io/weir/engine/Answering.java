package io.weir.engine;

import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The gateway passes the backend's answer on to the caller as it arrives.
 *
 * @param attempt the attempt that receives the answer
 * @param reader the caller's progress
 */
record Answering(Attempt attempt, SlowReaderDetector reader) implements ExchangePhase {

    @Override
    public long dueNanos(long now) {
        return Math.min(
                Math.min(AttemptTimeout.dueNanosAnswering(attempt, now), HeldUpCall.dueNanos(attempt, true, now)),
                reader.dueNanos(now));
    }

    @Override
    public Decision check(long now) {
        if (reader.isStalled(attempt.answerBytes(), attempt.isHeldUpByCaller(), now)) {
            attempt.endedByCaller(now);
            return Decision.BreakOff.ANSWER_NOT_READ;
        }
        if (AttemptTimeout.isStreamIdle(attempt, now)) {
            return new Decision.BreakOff(AttemptTimeout.STREAM_IDLE.reason(), AttemptTimeout.STREAM_IDLE.detail());
        }
        if (HeldUpCall.isBelowMinimumRate(attempt, now)) {
            attempt.endedByCaller(now);
            return Decision.BreakOff.BELOW_MINIMUM_RATE;
        }
        HeldUpCall.moveIfHeldUp(attempt, attempt.outcomes().answer(now), now);
        return Decision.Step.WAIT;
    }

    @Override
    public Reason expiryReason(long now) {
        return reader.isBehind(attempt.isHeldUpByCaller()) ? Reason.CLIENT_TOO_SLOW : Reason.DEADLINE_EXCEEDED;
    }

    @Override
    public Decision expire(long now) {
        if (expiryReason(now) == Reason.CLIENT_TOO_SLOW) {
            attempt.endedByCaller(now);
            return Decision.BreakOff.CALLER_TOO_SLOW;
        }
        attempt.deadlinePassed(now);
        return Decision.BreakOff.DEADLINE_EXCEEDED;
    }

    @Override
    public Decision cutShort(Reason why, @Nullable String detail) {
        return new Decision.BreakOff(why, detail);
    }

    @Override
    public void endedByCaller(long now) {
        attempt.endedByCaller(now);
    }

    @Override
    public boolean closesCallerSide(Reason why) {
        return attempt.closesCallerSide(why);
    }

    @Override
    public boolean isDelivering() {
        return true;
    }

    @Override
    public Instance usedInstance() {
        return attempt.usedInstance();
    }

    @Override
    public long backendNanos(long now) {
        return attempt.backendNanos(now);
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        attempt.release(attempt.answerBytes(), why, now);
    }
}
