package io.weir.engine;

import java.util.BitSet;
import java.util.Set;

/**
 * The configured part of a {@link Backend}. Immutable; a reload replaces it as a whole.
 *
 * @param name the backend's name
 * @param isHttp2 whether the backend speaks HTTP/2, without which there is no gRPC
 * @param deadlineNanos time for one exchange
 * @param maxWaitNanos longest wait in the bulkhead's queue; 0: a call never waits
 * @param connectTimeoutNanos time to establish a connection
 * @param streamIdleNanos longest pause of a stream
 * @param failureStatuses HTTP statuses that the breaker records as failures
 * @param failureGrpcStatuses gRPC statuses that the breaker records as failures
 * @param enforcesDeadline whether the deadline ends an exchange; if not, its expiries are counted
 */
public record BackendSettings(
        String name,
        boolean isHttp2,
        long deadlineNanos,
        long maxWaitNanos,
        long connectTimeoutNanos,
        long streamIdleNanos,
        BitSet failureStatuses,
        BitSet failureGrpcStatuses,
        boolean enforcesDeadline) {

    /** The statuses as a bit set; a request tests it without an allocation. */
    public static BitSet bits(Set<Integer> statuses) {
        BitSet bits = new BitSet();
        statuses.forEach(bits::set);
        return bits;
    }
}
