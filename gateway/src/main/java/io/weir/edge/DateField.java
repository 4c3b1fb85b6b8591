package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/**
 * {@code Date} of answers that have none: of the gateway's own, and of those that a backend has sent without
 * it (RFC 9110, 6.6.1). A date of the backend stays, since caches compute an answer's age from it.
 */
// Concurrency: `latest` is immutable and replaced without coordination; after a lost race, one text is made
// twice.
final class DateField {

    /** The days of a month have two digits, unlike those of {@link DateTimeFormatter#RFC_1123_DATE_TIME}. */
    private static final DateTimeFormatter FORMAT = DateTimeFormatter.ofPattern(
                    "EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH)
            .withZone(ZoneOffset.UTC);

    private static final int MILLIS_PER_SECOND = 1_000;

    /** The system's clock. */
    static final DateField SYSTEM = new DateField(InstantSource.system());

    private final InstantSource clock;
    private volatile Stamp latest = new Stamp(Long.MIN_VALUE, AsciiString.EMPTY_STRING);

    /** The text of one second. */
    private record Stamp(long second, AsciiString text) {}

    DateField(InstantSource clock) {
        this.clock = clock;
    }

    /** Completes the head of an answer. */
    void addIfMissing(HttpHeaders head) {
        if (!head.contains(HttpHeaderNames.DATE)) {
            head.set(HttpHeaderNames.DATE, now());
        }
    }

    private AsciiString now() {
        long second = Math.floorDiv(clock.millis(), MILLIS_PER_SECOND);
        Stamp stamp = latest;
        if (stamp.second != second) {
            stamp = new Stamp(second, new AsciiString(FORMAT.format(Instant.ofEpochSecond(second))));
            latest = stamp;
        }
        return stamp.text;
    }
}
