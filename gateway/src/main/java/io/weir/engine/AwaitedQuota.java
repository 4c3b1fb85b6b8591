package io.weir.engine;

import io.weir.outcome.Reason;
import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/**
 * Waits for the counter that all gateways share. Owns nothing: a permit that arrives after the caller has
 * left is used up.
 */
final class AwaitedQuota implements ExchangePhase {

    private final Exchange exchange;
    private final RateLimiter limiter;
    private final long dueAt;
    private final String key;

    AwaitedQuota(Exchange exchange, RateLimiter limiter, long now) {
        this.exchange = exchange;
        this.limiter = limiter;
        this.dueAt = now + limiter.sharedTimeoutNanos();
        ExchangeRecord record = exchange.record();
        Caller caller = record.caller();
        this.key = limiter.sharedKey(caller.headers(), caller::callerNetwork, record::callerBy);
    }

    /** Asks for a permit. The answer is an event of its own, even if it is there at once. */
    void begin() {
        limiter.takeShared(key, quota -> exchange.loop().execute(() -> exchange.quotaArrived(this, quota)));
    }

    RateLimiter limiter() {
        return limiter;
    }

    @Override
    public long dueNanos(long now) {
        return dueAt - now;
    }

    @Override
    public Decision check(long now) {
        if (now - dueAt < 0) {
            return Decision.Step.WAIT;
        }
        limiter.sharedTimedOut(key);
        return Decision.Step.TAKE_LOCAL_PERMIT;
    }

    @Override
    public void release(@Nullable Reason why, long now) {}
}
