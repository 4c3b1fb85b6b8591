package io.weir.management;

import io.weir.health.Health;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A change by an operator that is in force.
 *
 * @param value {@code open}, {@code closed} or {@code drained}; the property's value
 * @param by the operator
 * @param health the health whose state the change holds; null: the change is of a property
 */
public record OperatorChange(
        Subject subject,
        String value,
        String by,
        Term term,
        @Nullable Health health) {

    /**
     * The part of a backend that is changed.
     *
     * @param change {@code breaker}, {@code instance}, or the path of a property below the backend
     * @param instance the address of the drained instance; null: the change is of the whole backend
     */
    public record Subject(
            String backend, String change, @Nullable String instance) {

        private static final String BREAKER = "breaker";

        static Subject breaker(String backend) {
            return new Subject(backend, BREAKER, null);
        }

        static Subject instance(String backend, String address) {
            return new Subject(backend, "instance", address);
        }

        boolean isBreaker() {
            return change.equals(BREAKER);
        }

        /** The full path of a property. */
        public String path() {
            return "weir.backends." + backend + '.' + change;
        }

        /** The words for a breaker or an instance. */
        @Override
        public String toString() {
            return instance == null
                    ? "Breaker of backend " + backend
                    : "Instance " + instance + " of backend " + backend;
        }
    }

    /**
     * The time of a change.
     *
     * @param until the end as it is shown; null: an operator ends the change
     * @param untilNanos the end on the monotonic clock, which decides; without meaning if there is no end
     */
    public record Term(Instant since, @Nullable Instant until, long untilNanos) {

        /** Whether the change ends by itself. */
        public boolean hasEnd() {
            return until != null;
        }

        /** The words for the end, to stand behind others; empty: there is none. */
        public String words() {
            return until == null ? "" : ", until " + until;
        }
    }

    /** Whether the change is of a property, and not of a breaker or an instance. */
    boolean isOfProperty() {
        return health == null;
    }

    boolean isOver(long nowNanos) {
        return term.hasEnd() && nowNanos - term.untilNanos >= 0;
    }

    OperatorChangeView view() {
        Instant until = term.until;
        return new OperatorChangeView(
                subject.change,
                value,
                subject.instance,
                by,
                term.since.toString(),
                until == null ? null : until.toString());
    }
}
