package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgePolicy;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Instances;
import io.weir.limit.QueueingBulkhead;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether a backend can bear a hedge: it has room for more calls, and nothing in it recovers. Without
 * a side effect; permits and budget are taken later. Stateless.
 */
final class HedgeCheck {

    private HedgeCheck() {}

    /** Why the call is not sent a second time; null: nothing is against it. */
    static @Nullable HedgeResult refusal(Attempt waiting, HedgePolicy policy, long now) {
        Backend backend = waiting.backend;
        Instances instances = backend.instances();
        QueueingBulkhead bulkhead = backend.bulkhead();
        if (instances.isSingle()) {
            return HedgeResult.NO_INSTANCE;
        }
        if (isRecovering(backend, waiting.exchange.record(), now)) {
            return HedgeResult.RECOVERING;
        }
        if (bulkhead.queued() > 0) {
            return HedgeResult.QUEUE;
        }
        // Also of a bulkhead that is not enforced.
        if (bulkhead.inUse() >= bulkhead.maxConcurrentCalls()) {
            return HedgeResult.NO_PERMIT;
        }
        if (!instances.hasAnother(waiting.instance, waiting.exchange.record().tried(), now)) {
            return HedgeResult.NO_INSTANCE;
        }
        return policy.isEnforced() ? null : HedgeResult.WOULD_START;
    }

    private static boolean isRecovering(Backend backend, ExchangeRecord record, long now) {
        State state = backend.health().state();
        RouteHealth route = record.routeHealth();
        return (state != State.CLOSED && state != State.DISABLED)
                || (route != null && !route.isClosed())
                || backend.instances().isRecovering(now);
    }
}
