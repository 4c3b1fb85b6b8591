package io.weir.fallback;

import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.util.EnumSet;
import java.util.Set;

/** A route's fallback: the reasons for which it is used, its limit, and its static answer if it has one. */
public final class Fallback {

    private final FallbackProperties properties;
    private final Set<Reason> reasons;
    private final QueueingBulkhead limit;
    private final StaticAnswer answer;

    /** The fallback of a route. */
    public Fallback(FallbackProperties properties) {
        this(properties, new QueueingBulkhead(properties.maxConcurrentCalls(), 0));
    }

    /**
     * The fallback of a route after a change of its properties.
     *
     * @param limit the predecessor's limit, with the permits in use
     */
    public Fallback(FallbackProperties properties, QueueingBulkhead limit) {
        this.properties = properties;
        this.reasons =
                properties.reasons().isEmpty() ? EnumSet.noneOf(Reason.class) : EnumSet.copyOf(properties.reasons());
        this.limit = limit;
        this.answer = new StaticAnswer(
                properties.status(), properties.contentType(), properties.body(), properties.headers());
    }

    /** Whether the fallback replaces a refusal with this reason. */
    public boolean covers(Reason reason) {
        return reasons.contains(reason);
    }

    /** Whether the fallback is a static answer; otherwise it is another backend. */
    public boolean isStatic() {
        return properties.backend() == null;
    }

    /** The limit on concurrent fallbacks. An exchange that takes a permit releases it at its end. */
    public QueueingBulkhead limit() {
        return limit;
    }

    /** The static answer; without a meaning if another backend answers. */
    public StaticAnswer answer() {
        return answer;
    }
}
