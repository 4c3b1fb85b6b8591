package io.weir.engine;

import io.weir.engine.Decision.Refuse;
import io.weir.outcome.Reason;
import io.weir.ratelimit.Quota;
import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/** Takes an exchange's permit from its route's rate limit. Called once per exchange. */
final class QuotaCheck {

    private QuotaCheck() {}

    /**
     * The refusal of a request over its caller's quota; null: the request may proceed. A refusal that is not
     * enforced is counted.
     */
    static @Nullable Refuse refusal(ExchangeRecord record) {
        RateLimiter limiter = record.route().rateLimiter();
        if (limiter == null) {
            return null;
        }
        Caller caller = record.caller();
        return judge(
                record,
                limiter,
                limiter.take(caller.received().headers(), caller.received()::callerNetwork, record::callerBy));
    }

    /** The same for a quota that is known. */
    static @Nullable Refuse judge(ExchangeRecord record, RateLimiter limiter, Quota quota) {
        if (limiter.isEnforced()) {
            record.quota = quota;
        }
        boolean isRefused = !quota.isAllowed() && record.backend().enforces(limiter.isEnforced(), Reason.RATE_LIMITED);
        return isRefused ? Refuse.RATE_LIMITED : null;
    }
}
