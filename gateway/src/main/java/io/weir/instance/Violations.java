package io.weir.instance;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the violations of HTTP by a backend that end a connection, but no call. Each kind is logged once, so
 * that a backend that always violates the protocol does not fill the log. Thread-safe.
 */
public final class Violations {

    private static final Logger log = LoggerFactory.getLogger(Violations.class);

    /** The kinds of violations. */
    public enum Kind {
        /** The backend sent more than the answer, such as a body after HEAD, 204 or 304. */
        BYTES_AFTER_ANSWER("bytes-after-answer", "bytes after the end of an answer"),
        /** The backend sent something on a connection without a request. */
        BYTES_WITHOUT_REQUEST("bytes-without-request", "bytes on a connection on which no request was under way");

        private final String word;
        private final String text;

        Kind(String word, String text) {
            this.word = word;
            this.text = text;
        }

        /** The kind in metrics. */
        public String word() {
            return word;
        }
    }

    private final String backend;
    private final Map<Kind, LongAdder> counts = new EnumMap<>(Kind.class);

    /** No violations yet of the backend of this name. */
    public Violations(String backend) {
        this.backend = backend;
        for (Kind kind : Kind.values()) {
            counts.put(kind, new LongAdder());
        }
    }

    /** The number of violations of a kind. */
    public long count(Kind kind) {
        return Objects.requireNonNull(counts.get(kind)).sum();
    }

    /**
     * Counts a violation.
     *
     * @param instance the address of the backend's instance
     */
    void add(Kind kind, Object instance) {
        LongAdder adder = Objects.requireNonNull(counts.get(kind));
        // Benign: of two that are the first at once, both are logged.
        boolean isFirst = adder.sum() == 0;
        adder.increment();
        if (isFirst) {
            log.warn(
                    "Backend {}, {}: {}. Its connection was closed, and no caller was affected. Further ones are only"
                            + " counted: weir_backend_violations_total, kind {}",
                    backend,
                    instance,
                    kind.text,
                    kind.word);
        }
    }
}
