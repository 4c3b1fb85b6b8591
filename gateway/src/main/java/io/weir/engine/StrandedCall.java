package io.weir.engine;

import io.weir.engine.Decision.Retry;
import io.weir.retry.RetryPolicy;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A call that waits in an instance which has opened, because the retry budget was empty at that moment. Where
 * one primary had all calls, those under way are more than the budget holds. It fills again before their
 * deadlines, so each of them asks again from time to time.
 *
 * <p>Stateless: the state is that of the instance.
 */
final class StrandedCall {

    /** The shortest and the longest time between two tries. */
    private static final long SHORTEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long LONGEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** A call that has waited for longer tries less often. */
    private static final int TRIES_OF_WAIT = 8;

    private StrandedCall() {}

    /** Time until the call must be checked. */
    static long dueNanos(Attempt attempt, long now) {
        return isStranded(attempt)
                ? Math.clamp(attempt.backendOnlyNanos(now) / TRIES_OF_WAIT, SHORTEST_PERIOD_NANOS, LONGEST_PERIOD_NANOS)
                : ExchangePhase.NEVER;
    }

    /** The retry at another instance; null: none, or the call is not stranded. */
    static @Nullable Retry retry(Attempt attempt, long now) {
        return isStranded(attempt) ? RetryDecider.afterEjection(attempt, now) : null;
    }

    private static boolean isStranded(Attempt attempt) {
        if (attempt.backend.instances().isSingle() || !attempt.instance.health().hasHangingCalls()) {
            return false;
        }
        Caller caller = attempt.exchange.record().caller();
        return RetryPolicy.isRepeatable(caller.method(), caller.hasBody())
                && !attempt.evidence().isAnswered()
                && !attempt.evidence().isProbe();
    }
}
