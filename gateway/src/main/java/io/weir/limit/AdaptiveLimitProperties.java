package io.weir.limit;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.backends.<name>.bulkhead.limit}: the bounds of a limit that the gateway finds itself ({@code
 * max-concurrent-calls: auto}). A configured bound replaces a default that lies beyond it.
 *
 * @param min smallest limit; 1 to 1000000, at most {@code initial} and {@code max}; default: 2. A backend
 *     that works best with fewer calls needs a fixed limit.
 * @param max largest limit; 1 to 1000000; default: 1000. The backend's connection pool has room for as many
 *     calls.
 * @param initial limit before anything is measured; 1 to 1000000, at most {@code max}; default: 8. Lower it
 *     for a backend that answers fewer than 16 calls within its deadline; raise it so that a first burst does
 *     not wait.
 */
public record AdaptiveLimitProperties(
        @Min(1) @Max(QueueingBulkhead.LARGEST) @Nullable Integer min,
        @Min(1) @Max(QueueingBulkhead.LARGEST) @Nullable Integer max,
        @Min(1) @Max(QueueingBulkhead.LARGEST) @Nullable Integer initial) {

    /** The bounds, defaults included. */
    public LimitBounds bounds() {
        LimitBounds defaults = LimitBounds.DEFAULT;
        int largestSet = Math.max(min == null ? 1 : min, initial == null ? 1 : initial);
        int to = max == null ? Math.max(defaults.max(), largestSet) : max;
        int from = min == null ? Math.min(defaults.min(), initial == null ? to : initial) : min;
        int first = initial == null ? Math.clamp(defaults.initial(), from, to) : initial;
        return new LimitBounds(from, to, first);
    }
}
