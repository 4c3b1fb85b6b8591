package io.weir.ratelimit;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls that each caller of one route has under way, and the limit on them. A key is known only while it
 * has calls, so there are never more keys than calls under way. Thread-safe.
 */
// Concurrency: each change is one atomic operation of the map, from the number that was read. A refusal only
// reads. A number is at least 1: the last call removes its key.
public final class CallsPerKey {

    private final MaxConcurrentPerKeyProperties properties;
    private final RateLimitKey key;
    private final ConcurrentMap<String, Integer> underWay;
    private final LongAdder refused;

    private CallsPerKey(
            MaxConcurrentPerKeyProperties properties, ConcurrentMap<String, Integer> underWay, LongAdder refused) {
        this.properties = properties;
        this.key = RateLimitKey.parse(properties.key());
        this.underWay = underWay;
        this.refused = refused;
    }

    /**
     * The calls under way of a route.
     *
     * @param before those of this route in the configuration in force; null: none. With the same {@code key},
     *     they count on.
     */
    public static CallsPerKey of(MaxConcurrentPerKeyProperties properties, @Nullable CallsPerKey before) {
        return before != null && before.properties.key().equals(properties.key())
                ? new CallsPerKey(properties, before.underWay, before.refused)
                : new CallsPerKey(properties, new ConcurrentHashMap<>(), new LongAdder());
    }

    /** The key of a request's caller. The parameters are those of {@link RateLimiter#take}. */
    public String key(
            HttpHeaders head, Supplier<String> clientNetwork, Function<String, @Nullable String> callerByClaim) {
        return key.of(head, clientNetwork, callerByClaim);
    }

    /**
     * Counts a call, unless its caller is at the limit.
     *
     * @return whether the call counts; then {@link #leave} must follow exactly once
     */
    public boolean tryEnter(String caller) {
        while (true) {
            Integer calls = underWay.get(caller);
            if (calls == null) {
                if (underWay.putIfAbsent(caller, 1) == null) {
                    return true;
                }
            } else if (calls >= properties.calls()) {
                return false;
            } else if (underWay.replace(caller, calls, calls + 1)) {
                return true;
            }
        }
    }

    /** Counts a call although its caller may be at the limit; {@link #leave} must follow exactly once. */
    public void enterAnyway(String caller) {
        underWay.merge(caller, 1, Integer::sum);
    }

    /** A call that counts has ended. */
    public void leave(String caller) {
        underWay.computeIfPresent(caller, (known, calls) -> calls == 1 ? null : calls - 1);
    }

    /** A call was refused, since its caller is at the limit. */
    public void countRefusal() {
        refused.increment();
    }

    /** Whether calls above the limit are refused; otherwise they are only counted. */
    public boolean isEnforced() {
        return properties.enforce();
    }

    /** The number of callers that have calls under way. */
    public long keys() {
        return underWay.size();
    }

    /** Calls that were refused since the start. */
    public long refused() {
        return refused.sum();
    }
}
