package io.weir.faults;

import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** A fault that is, or was, active. Immutable, except the number of its calls. Thread-safe. */
public final class InjectedFault {

    private final long number;
    private final FaultOrder order;
    private final String by;
    private final Instant startedAt;
    private final Instant endsAt;
    private final long endsAtNanos;
    private final LongAdder injected = new LongAdder();

    /**
     * A fault that starts now.
     *
     * @param number consecutive, from 1
     * @param by the operator
     * @param endsAtNanos the end on the engine's clock
     */
    public InjectedFault(long number, FaultOrder order, String by, Instant startedAt, long endsAtNanos) {
        this.number = number;
        this.order = order;
        this.by = by;
        this.startedAt = startedAt;
        this.endsAt = startedAt.plus(order.duration());
        this.endsAtNanos = endsAtNanos;
    }

    /** Whether the fault may act on a call. */
    boolean matches(@Nullable String route, String backend, String instance, HttpHeaders head, long now) {
        return now - endsAtNanos < 0 && order.scope().covers(route, backend, instance) && hasHeader(head);
    }

    private boolean hasHeader(HttpHeaders head) {
        String name = order.header();
        if (name == null) {
            return true;
        }
        String value = order.value();
        return value == null ? head.contains(name) : head.contains(name, value, false);
    }

    void countCall() {
        injected.increment();
    }

    /** Consecutive, from 1; names the fault in the endpoint. */
    public long number() {
        return number;
    }

    /** The operator's order. */
    public FaultOrder order() {
        return order;
    }

    /** The misbehaviour. */
    public FaultType type() {
        return order.type();
    }

    /** The operator. */
    public String by() {
        return by;
    }

    /** When it started. */
    public Instant startedAt() {
        return startedAt;
    }

    /** When it heals by itself. */
    public Instant endsAt() {
        return endsAt;
    }

    /** The calls that got it so far, the gateway's own included. */
    public long calls() {
        return injected.sum();
    }

    /** {@code injected fault 3 (hang)}. */
    public String label() {
        return "injected fault " + number + " (" + type().word() + ")";
    }
}
