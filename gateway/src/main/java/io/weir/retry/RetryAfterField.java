package io.weir.retry;

import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads the field {@code Retry-After} of a backend's answer (RFC 9110, section 10.2.3): the time before which
 * the backend wants no further request.
 *
 * <p>A date is compared with the {@code Date} of the same answer, so that the clocks of the gateway and of
 * the backend need not agree. An answer with a date but without {@code Date} is not retried, since the wait
 * is unknown.
 */
public final class RetryAfterField {

    /** No retry at all: longer than any deadline. */
    public static final long NEVER = Long.MAX_VALUE;

    private RetryAfterField() {}

    /**
     * The time before which the backend wants no retry; 0: no such field, or its value is neither a number
     * nor a date.
     */
    public static long nanos(HttpHeaders head) {
        String value = head.get(HttpHeaderNames.RETRY_AFTER);
        if (value == null || value.isBlank()) {
            return 0;
        }
        String wish = value.strip();
        return wish.chars().allMatch(c -> c >= '0' && c <= '9') ? ofSeconds(wish) : untilDate(wish, head);
    }

    private static long ofSeconds(String digits) {
        try {
            return TimeUnit.SECONDS.toNanos(Long.parseLong(digits));
        } catch (NumberFormatException e) {
            // More digits than a long has.
            return NEVER;
        }
    }

    private static long untilDate(String wish, HttpHeaders head) {
        Instant until = parse(wish);
        if (until == null) {
            return 0;
        }
        String date = head.get(HttpHeaderNames.DATE);
        Instant now = date == null ? null : parse(date);
        return now == null
                ? NEVER
                : Math.max(0, TimeUnit.MILLISECONDS.toNanos(until.toEpochMilli() - now.toEpochMilli()));
    }

    private static @Nullable Instant parse(String date) {
        Date parsed = DateFormatter.parseHttpDate(date);
        return parsed == null ? null : parsed.toInstant();
    }
}
