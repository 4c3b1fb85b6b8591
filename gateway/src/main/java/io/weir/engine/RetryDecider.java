package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Retry;
import io.weir.outcome.Reason;
import io.weir.retry.PushbackField;
import io.weir.retry.RetryPolicy;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether another attempt follows. Stateless; a retry is withdrawn from the backend's retry budget.
 * While a hedge runs beside an attempt, neither is retried: the exchange waits for the other one.
 */
final class RetryDecider {

    private static final int MAX_GO_AWAYS = 3;

    private RetryDecider() {}

    /** The retry after an answer with this status; null: pass the answer on. */
    static @Nullable Retry afterStatus(Attempt attempt, int status, HttpHeaders head, long now) {
        RetryPolicy policy = attempt.exchange.record().route().retry();
        if (policy == null
                || !policy.retries(status)
                || attempt.isBesideAnother()
                || !withdrawIfAllowed(attempt, policy)) {
            return null;
        }
        long backoff = Math.max(backoffNanos(attempt, policy, now), PushbackField.nanosToRetry(head));
        return takeFromBudget(attempt, backoff, now) ? new Retry(backoff, null, status) : null;
    }

    /**
     * The retry after a failure of the backend or its connection; null: refuse.
     *
     * @param isUnsent whether the failure proves that nothing was sent, so that one more attempt on another
     *     connection follows even without a policy
     */
    static @Nullable Retry afterFailure(Attempt attempt, Refuse failure, boolean isUnsent, long now) {
        RetryPolicy policy = attempt.exchange.record().route().retry();
        if (attempt.isBesideAnother()) {
            return null;
        }
        if (policy == null) {
            return isUnsent || isRepeatableElsewhere(attempt, failure, now)
                    ? withoutPolicy(attempt, failure, now)
                    : null;
        }
        if (!withdrawIfAllowed(attempt, policy)) {
            return null;
        }
        long backoff = backoffNanos(attempt, policy, now);
        return takeFromBudget(attempt, backoff, now) ? new Retry(backoff, failure, 0) : null;
    }

    /**
     * Whether another instance can get the call: it has not been sent, or it may be sent twice and its
     * connection was lost before the answer's head.
     */
    private static boolean isRepeatableElsewhere(Attempt attempt, Refuse failure, long now) {
        if (!hasAnotherInstance(attempt, now)) {
            return false;
        }
        return switch (failure.reason()) {
            case CONNECT_TIMEOUT, CONNECT_FAILED -> true;
            case CONNECTION_LOST -> {
                Caller caller = attempt.exchange.record().caller();
                yield RetryPolicy.isRepeatable(caller.method(), caller.hasBody()) && !attempt.exchange.isStream();
            }
            default -> false;
        };
    }

    private static boolean hasAnotherInstance(Attempt attempt, long now) {
        return attempt.backend
                .instances()
                .hasAnother(attempt.instance, attempt.exchange.record().tried(), now);
    }

    /**
     * Retries without a backoff: once, or as long as there is an instance that has not failed the call. A
     * denial by the budget is not counted, since no policy asked for the retry.
     */
    private static @Nullable Retry withoutPolicy(Attempt attempt, Refuse failure, long now) {
        boolean isLost = failure.reason() == Reason.CONNECTION_LOST && isRepeatableElsewhere(attempt, failure, now);
        if ((attempt.exchange.record().attempts() > 1 && !hasAnotherInstance(attempt, now))
                || attempt.exchange.timer().leftNanos(now) <= 0
                || (!isLost && !attempt.withdraw())
                || !tryWithdraw(attempt, now)) {
            return null;
        }
        attempt.backend.observer().retried(true);
        return new Retry(0, failure, 0);
    }

    /**
     * The retry of a call that a GOAWAY has refused, even without a policy; null: refuse. A call may meet
     * several in a row: a backend that restarts ends all its connections.
     */
    static @Nullable Retry afterGoAway(Attempt attempt, Refuse failure, long now) {
        if (attempt.isBesideAnother()
                || attempt.exchange.record().attempts() > MAX_GO_AWAYS
                || attempt.exchange.timer().leftNanos(now) <= 0
                || !attempt.withdraw()
                || !tryWithdraw(attempt, now)) {
            return null;
        }
        attempt.backend.observer().retried(true);
        return new Retry(0, failure, 0);
    }

    /**
     * The retry of a call whose instance has opened while the call waited for its answer; null: it goes on
     * waiting.
     */
    static @Nullable Retry afterEjection(Attempt attempt, long now) {
        ExchangeContext exchange = attempt.exchange;
        Caller caller = exchange.record().caller();
        boolean isRepeatable = RetryPolicy.isRepeatable(caller.method(), caller.hasBody()) && !exchange.isStream();
        if (attempt.isBesideAnother()
                || attempt.evidence().isAnswered()
                || attempt.evidence().isProbe()
                || !hasAnotherInstance(attempt, now)
                || exchange.timer().leftNanos(now) <= 0
                || !tryWithdraw(attempt, now)) {
            return null;
        }
        // Last: an attempt that is withdrawn is never sent, so it must not go on waiting.
        if (!isRepeatable && !attempt.withdraw()) {
            attempt.backend.retryBudget().giveBack(CallerHash.of(exchange.record()));
            return null;
        }
        attempt.backend.observer().retried(true);
        return new Retry(0, Refuse.CIRCUIT_OPEN, 0);
    }

    private static boolean withdrawIfAllowed(Attempt attempt, RetryPolicy policy) {
        Caller caller = attempt.exchange.record().caller();
        return policy.allows(
                attempt.exchange.record().attempts(), caller.method(), !attempt.withdraw(), caller.hasBody());
    }

    /** The backoff of the policy, and at least until an instance takes retries. */
    private static long backoffNanos(Attempt attempt, RetryPolicy policy, long now) {
        ExchangeContext exchange = attempt.exchange;
        long ofPolicy = policy.backoffNanos(
                exchange.record().attempts(), exchange.resources().random());
        return Math.max(ofPolicy, attempt.backend.instances().pushbackNanos(now));
    }

    private static boolean takeFromBudget(Attempt attempt, long backoffNanos, long now) {
        if (attempt.exchange.timer().leftNanos(now) <= backoffNanos) {
            // The deadline would pass first: the caller gets the known result now.
            return false;
        }
        boolean allowed = tryWithdraw(attempt, now);
        attempt.backend.observer().retried(allowed);
        return allowed;
    }

    private static boolean tryWithdraw(Attempt attempt, long now) {
        int caller = CallerHash.of(attempt.exchange.record());
        return attempt.backend.retryBudget().tryWithdraw(caller, now);
    }
}
