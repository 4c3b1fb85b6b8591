package io.weir.sim.faults;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** What can go wrong, and the fields beside the common ones that say how. */
enum FaultKind {
    /** Time before the work begins: {@code distribution} and its figures. */
    LATENCY("distribution", "delay", "min", "max", "median", "sigma", "scale", "shape"),
    /** Answers with a status instead of the work: {@code shares} by status. */
    ERRORS("shares"),
    /** The exchange is held without an answer until the fault heals; then it goes on. */
    HANG(),
    /** The connection is reset (RST) instead of an answer. */
    RESET(),
    /** The head promises the whole body, {@code share} of it comes, then the connection closes. */
    TRUNCATE("share"),
    /** The body comes {@code bytes} at a time, every {@code interval}. */
    TRICKLE("bytes", "interval"),
    /** Time before the work that shrinks from {@code delay} to nothing within {@code ramp}, as after a cold start. */
    SLOW_START("delay", "ramp"),
    /** The thread that serves the request computes for {@code burn} first. */
    CPU("burn"),
    /** Connections of the pool are held: {@code connections}, or all. */
    POOL("connections"),
    /** Another session of the database holds the lock of {@code row}. */
    LOCK("row");

    @SuppressWarnings("ImmutableEnumChecker") // List.of is.
    private final List<String> fields;

    FaultKind(String... fields) {
        this.fields = List.of(fields);
    }

    List<String> fields() {
        return fields;
    }

    /** Its name in documents, such as {@code slow-start}. */
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
