package io.weir.engine;

import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.engine.Decision.Refuse;
import io.weir.faults.InjectedFault;
import io.weir.health.Health;
import io.weir.health.RouteHealth;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import io.weir.ratelimit.Quota;
import org.jspecify.annotations.Nullable;

/** Builds the gateway's own answers. */
final class Refusals {

    private Refusals() {}

    /** The refusal for the caller. */
    static Refusal of(Refuse refuse, ExchangeRecord record, EngineResources resources) {
        Reason reason = refuse.reason();
        if (reason.isShedding()) {
            return new Refusal(
                    reason, refuse.detail(), RetryAfter.millis(retryAfterNanos(reason, record), resources.random()));
        }
        InjectedFault fault = record.fault();
        if (reason == Reason.FAULT_INJECTED && fault != null) {
            return injected(fault.order().status(), refuse.detail(), resources);
        }
        Quota quota = record.quota();
        if (reason == Reason.RATE_LIMITED && quota != null) {
            return new Refusal(
                    reason, refuse.detail(), RetryAfter.quotaMillis(quota.nanosToNextPermit(), resources.random()));
        }
        return new Refusal(reason, isDetailConfidential(reason) ? null : refuse.detail(), 0)
                .challenging(refuse.challenge());
    }

    /** An answer with any status: every 503 and 429 of the gateway says when to retry. */
    private static Refusal injected(int status, @Nullable String detail, EngineResources resources) {
        boolean isForLater = status == HttpResponseStatus.SERVICE_UNAVAILABLE.code()
                || status == HttpResponseStatus.TOO_MANY_REQUESTS.code();
        return new Refusal(
                Reason.FAULT_INJECTED, detail, isForLater ? RetryAfter.millis(0, resources.random()) : 0, status, null);
    }

    /** Whether the detail is for the log only: it may contain internal addresses. */
    private static boolean isDetailConfidential(Reason reason) {
        return switch (reason) {
            case CONNECT_FAILED, CONNECT_TIMEOUT, CONNECTION_LOST, INTERNAL_ERROR -> true;
            default -> false;
        };
    }

    /** The expected time until another request has a chance. */
    private static long retryAfterNanos(Reason reason, ExchangeRecord record) {
        Backend backend = record.backend();
        return switch (reason) {
            case CIRCUIT_OPEN -> {
                RouteHealth route = record.fellBack() ? null : record.route().health();
                Health refusing = route == null || !backend.health().isIn() ? backend.health() : route.health();
                yield refusing.probes().nanosToNext();
            }
            case BULKHEAD_FULL, QUEUE_TIMEOUT, QUEUE_EVICTED -> {
                QueueingBulkhead bulkhead = backend.bulkhead();
                // The time in which the backend, with all permits in use, serves the whole queue.
                long serviceNanos = backend.serviceTime().uncongestedNanos();
                yield serviceNanos * (bulkhead.queued() + 1) / bulkhead.maxConcurrentCalls();
            }
            default -> 0;
        };
    }
}
