package io.weir.sim.faults;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The kinds of fault, each with the fields that it takes beside the common ones. */
enum FaultKind {
    /** A delay before the work: {@code distribution} and its parameters. */
    LATENCY("distribution", "delay", "min", "max", "median", "sigma", "scale", "shape"),
    /** An error status instead of the work: {@code shares} by status. */
    ERRORS("shares"),
    /** The exchange waits without an answer until the fault heals; then it continues. */
    HANG(),
    /** The connection is reset (RST) instead of an answer. */
    RESET(),
    /** The head announces the whole body; {@code share} of the body follows; then the connection closes. */
    TRUNCATE("share"),
    /** The body is sent {@code bytes} at a time, one part per {@code interval}. */
    TRICKLE("bytes", "interval"),
    /**
     * A delay before the work that shrinks from {@code delay} to 0 within {@code ramp}, as after a cold
     * start.
     */
    SLOW_START("delay", "ramp"),
    /** The thread that serves the request computes for {@code burn} first. */
    CPU("burn"),
    /** The fault holds {@code connections} connections of the pool, or all. */
    POOL("connections"),
    /** Another database session holds the lock of {@code row}. */
    LOCK("row");

    @SuppressWarnings("ImmutableEnumChecker") // List.of is immutable.
    private final List<String> fields;

    FaultKind(String... fields) {
        this.fields = List.of(fields);
    }

    List<String> fields() {
        return fields;
    }

    /** The name in documents, such as {@code slow-start}. */
    String id() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    static Optional<FaultKind> of(String id) {
        return Arrays.stream(values()).filter(kind -> kind.id().equals(id)).findFirst();
    }

    static List<String> ids() {
        return Arrays.stream(values()).map(FaultKind::id).toList();
    }
}
