package io.weir.management;

import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The end of an operator's change that ends by itself.
 *
 * @param at the end as it is shown
 * @param atNanos the end on the monotonic clock, which decides
 */
public record Expiry(Instant at, long atNanos) {

    /**
     * The end of a change.
     *
     * @param lasting its time to live; null: it has no end
     * @param since its beginning
     * @param nowNanos its beginning on the monotonic clock
     */
    public static @Nullable Expiry of(@Nullable Duration lasting, Instant since, long nowNanos) {
        return lasting == null ? null : new Expiry(since.plus(lasting), nowNanos + lasting.toNanos());
    }

    /** Whether the time of a change is over. */
    public static boolean isOver(@Nullable Expiry end, long nowNanos) {
        return end != null && nowNanos - end.atNanos >= 0;
    }

    /** The earliest of several ends, on the monotonic clock; empty: there is none. */
    public static OptionalLong first(Stream<Expiry> ends, long nowNanos) {
        OptionalLong wait = ends.mapToLong(end -> end.atNanos - nowNanos).min();
        return wait.isPresent() ? OptionalLong.of(nowNanos + wait.getAsLong()) : wait;
    }

    /** The words for the end of a change, to stand behind others; empty: it has no end. */
    public static String words(@Nullable Expiry end) {
        return end == null ? "" : ", until " + end.at;
    }

    /** The end for the endpoint, as ISO 8601 has it; null: there is none. */
    public static @Nullable String shown(@Nullable Expiry end) {
        return end == null ? null : end.at.toString();
    }
}
