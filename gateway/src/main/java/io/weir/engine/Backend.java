package io.weir.engine;

import io.weir.health.Breaker;
import io.weir.instance.Pool;
import io.weir.limit.QueueingBulkhead;
import io.weir.retry.RetryBudget;
import java.net.URI;
import java.util.BitSet;
import java.util.Set;

/**
 * One backend and its compartment: everything that a request needs to know about it, on one immutable object.
 *
 * @param name its name
 * @param uri where it is
 * @param authority its {@code Host}
 * @param deadlineNanos time for an exchange
 * @param maxWaitNanos time in the bulkhead's queue
 * @param connectTimeoutNanos time for a connection
 * @param streamIdleNanos time that a stream may stand still
 * @param bulkhead the cap on calls, with its queue
 * @param streams the cap on streams, without a queue
 * @param breaker its circuit breaker
 * @param pool its connections
 * @param retryBudget how many retries it bears
 * @param failureStatuses its statuses that are failures
 * @param failureGrpcStatuses its gRPC statuses that are failures
 * @param enforcement which of its protections refuse
 * @param observer its meters
 */
public record Backend(
        String name,
        URI uri,
        String authority,
        long deadlineNanos,
        long maxWaitNanos,
        long connectTimeoutNanos,
        long streamIdleNanos,
        QueueingBulkhead bulkhead,
        QueueingBulkhead streams,
        Breaker breaker,
        Pool pool,
        RetryBudget retryBudget,
        BitSet failureStatuses,
        BitSet failureGrpcStatuses,
        Enforcement enforcement,
        BackendObserver observer) {

    /** The set as bits, which a request tests without allocating. */
    public static BitSet bits(Set<Integer> statuses) {
        BitSet bits = new BitSet();
        statuses.forEach(bits::set);
        return bits;
    }
}
