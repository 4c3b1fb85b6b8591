package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.outcome.Reason;
import io.weir.ratelimit.Quota;
import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/**
 * Waits for the counter that all gateways share. Owns nothing: a permit that arrives after the caller has
 * left is used up.
 */
final class AwaitedQuota implements ExchangePhase {

    private final ExchangeContext exchange;
    private final RateLimiter limiter;
    private final long dueAt;
    private final String key;

    AwaitedQuota(ExchangeContext exchange, RateLimiter limiter, long now) {
        this.exchange = exchange;
        this.limiter = limiter;
        this.dueAt = now + limiter.sharedTimeoutNanos();
        ExchangeRecord record = exchange.record();
        Caller caller = record.caller();
        this.key = limiter.sharedKey(caller.received().headers(), caller.received()::callerNetwork, record::callerBy);
    }

    /** Asks for a permit. The answer is an event of its own, even if it is there at once. */
    void begin() {
        limiter.takeShared(key, quota -> exchange.loop().execute(() -> exchange.resume(this, () -> judge(quota))));
    }

    /**
     * The counter has answered.
     *
     * @param quota null: it has failed, and this gateway's own count decides
     */
    private Decision judge(@Nullable Quota quota) {
        if (quota == null) {
            return Step.TAKE_LOCAL_PERMIT;
        }
        Refuse overQuota = QuotaCheck.judge(exchange.record(), limiter, quota);
        return overQuota == null ? Step.CHECK_HEAD : overQuota;
    }

    @Override
    public long dueNanos(long now) {
        return dueAt - now;
    }

    @Override
    public Decision check(long now) {
        if (now - dueAt < 0) {
            return Step.WAIT;
        }
        limiter.sharedTimedOut(key);
        return Step.TAKE_LOCAL_PERMIT;
    }

    @Override
    public void release(@Nullable Reason why, long now) {}
}
