package io.weir.engine;

import io.weir.engine.Decision.Retry;
import io.weir.outcome.Reason;
import io.weir.retry.RetryPolicy;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether another attempt follows. Stateless; a retry is withdrawn from the backend's retry budget.
 */
final class RetryDecider {

    private RetryDecider() {}

    /** The retry after an answer with this status; null: pass the answer on. */
    static @Nullable Retry afterStatus(Attempt attempt, int status, long now) {
        RetryPolicy policy = attempt.exchange.record().route().retry();
        return policy != null && policy.retries(status) ? decide(attempt, policy, null, now) : null;
    }

    /** The retry after a failure of the backend or its connection; null: refuse. */
    static @Nullable Retry afterFailure(Attempt attempt, Reason failure, long now) {
        RetryPolicy policy = attempt.exchange.record().route().retry();
        return policy != null ? decide(attempt, policy, failure, now) : null;
    }

    private static @Nullable Retry decide(Attempt attempt, RetryPolicy policy, @Nullable Reason failure, long now) {
        Exchange exchange = attempt.exchange;
        Caller caller = exchange.record().caller();
        int attempts = exchange.record().attempts();
        if (!policy.allows(attempts, caller.method(), !attempt.withdraw(), caller.hasBody())) {
            return null;
        }
        long backoff = policy.backoffNanos(attempts, exchange.engine().random());
        if (exchange.timer().leftNanos(now) <= backoff) {
            // The deadline would pass first: the caller learns the known result now.
            return null;
        }
        boolean allowed = attempt.backend.retryBudget().tryWithdraw(now);
        attempt.backend.observer().retried(allowed);
        return allowed ? new Retry(backoff, failure) : null;
    }
}
