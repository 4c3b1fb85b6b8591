package io.weir.engine;

import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import org.jspecify.annotations.Nullable;

/** What a caller is told when the gateway answers by itself. */
final class Refusals {

    private Refusals() {}

    /**
     * A refusal.
     *
     * @param backend the one that was asked last, or would have been
     * @param what exactly, for the log; null: there is nothing to add
     */
    static Refusal of(Reason why, @Nullable String what, Backend backend, Engine engine) {
        if (why.isShedding()) {
            return new Refusal(why, what, RetryAfter.millis(expectedNanos(why, backend), engine.random()));
        }
        return Refusal.of(why, isAboutBackend(why) ? null : what);
    }

    /** Whether what exactly happened is for the log only: it may name addresses that are nobody's business. */
    private static boolean isAboutBackend(Reason why) {
        return switch (why) {
            case CONNECT_FAILED, CONNECT_TIMEOUT, CONNECTION_LOST, INTERNAL_ERROR -> true;
            default -> false;
        };
    }

    /** When it is expected to be worth while to try again. */
    private static long expectedNanos(Reason why, Backend backend) {
        return switch (why) {
            case CIRCUIT_OPEN -> backend.breaker().nanosToNextProbe();
            case BULKHEAD_FULL, QUEUE_TIMEOUT -> {
                QueueingBulkhead bulkhead = backend.bulkhead();
                // The time in which the backend works off those who wait, each permit serving one after the other.
                long service = backend.serviceTime().uncongestedNanos();
                yield service * (bulkhead.queued() + 1) / bulkhead.maxConcurrentCalls();
            }
            default -> 0;
        };
    }
}
