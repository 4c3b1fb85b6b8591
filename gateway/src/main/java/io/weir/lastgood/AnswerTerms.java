package io.weir.lastgood;

import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The terms on which an answer may be kept and used, by the rules of RFC 9111 for a shared cache, and of RFC
 * 5861 for errors.
 *
 * @param initialAgeSeconds its age when it arrived
 * @param usableSeconds the age from which it is not used any more; {@link #UNLIMITED}: the answer permits
 *     any
 * @param isPublic whether answers to requests with credentials may be kept, and used for anybody
 * @param varyNames the request fields that selected it, in lower case
 */
record AnswerTerms(long initialAgeSeconds, long usableSeconds, boolean isPublic, SortedSet<String> varyNames) {

    static final long UNLIMITED = Long.MAX_VALUE;

    private static final String ALL = "*";
    private static final String SET_COOKIE2 = "set-cookie2";
    private static final String NO_CACHE = "no-cache";

    /**
     * The terms of an answer with status 200; null: it must not be kept.
     *
     * @param nowMillis wall-clock time
     */
    static @Nullable AnswerTerms of(HttpHeaders answer, long nowMillis) {
        CacheControl control = CacheControl.of(answer);
        if (control.has("no-store")
                || control.has("private")
                || control.has(NO_CACHE)
                || (control.isEmpty() && answer.containsValue(HttpHeaderNames.PRAGMA, NO_CACHE, true))
                || answer.contains(HttpHeaderNames.SET_COOKIE)
                || answer.contains(SET_COOKIE2)
                || answer.contains(HttpHeaderNames.CONTENT_RANGE)
                // The trailers would be missing.
                || answer.contains(HttpHeaderNames.TRAILER)) {
            return null;
        }
        SortedSet<String> vary = varyNames(answer);
        if (vary.contains(ALL)) {
            return null;
        }
        if (answer.contains(HttpHeaderNames.CONTENT_ENCODING)
                && !answer.containsValue(HttpHeaderNames.CONTENT_ENCODING, HttpHeaderValues.IDENTITY, true)) {
            // Only callers who accept the encoding may get it, even if the backend does not say so.
            vary.add("accept-encoding");
        }
        long age = ageSeconds(answer, nowMillis);
        long usable = usableSeconds(control, answer, nowMillis);
        return age < usable ? new AnswerTerms(age, usable, control.has("public"), vary) : null;
    }

    private static SortedSet<String> varyNames(HttpHeaders answer) {
        SortedSet<String> names = new TreeSet<>();
        for (String line : answer.getAll(HttpHeaderNames.VARY)) {
            for (String name : line.split(",", -1)) {
                String stripped = name.strip();
                if (!stripped.isEmpty()) {
                    names.add(stripped.toLowerCase(Locale.ROOT));
                }
            }
        }
        return names;
    }

    /** RFC 9111, 4.2.3: the time for which other caches had the answer. */
    private static long ageSeconds(HttpHeaders answer, long nowMillis) {
        String age = answer.get(HttpHeaderNames.AGE);
        Instant date = date(answer.get(HttpHeaderNames.DATE));
        long apparent = date == null ? 0 : Math.max(0, secondsBetween(date, Instant.ofEpochMilli(nowMillis)));
        return Math.max(apparent, age == null ? 0 : CacheControl.seconds(age.strip()));
    }

    /** RFC 9111, 4.2.4, and RFC 5861, 4. */
    private static long usableSeconds(CacheControl control, HttpHeaders answer, long nowMillis) {
        long fresh = Math.max(0, freshSeconds(control, answer, nowMillis));
        if (control.has("must-revalidate") || control.has("proxy-revalidate")) {
            return fresh;
        }
        long staleIfError = control.secondsOf("stale-if-error");
        if (staleIfError != CacheControl.ABSENT) {
            return fresh + staleIfError;
        }
        return control.has("s-maxage") ? fresh : UNLIMITED;
    }

    /** RFC 9111, 4.2.1, without heuristics. */
    private static long freshSeconds(CacheControl control, HttpHeaders answer, long nowMillis) {
        long shared = control.secondsOf("s-maxage");
        long explicit = shared == CacheControl.ABSENT ? control.secondsOf("max-age") : shared;
        if (explicit != CacheControl.ABSENT) {
            return explicit;
        }
        Instant expires = date(answer.get(HttpHeaderNames.EXPIRES));
        if (expires == null) {
            return 0;
        }
        Instant date = date(answer.get(HttpHeaderNames.DATE));
        return secondsBetween(date == null ? Instant.ofEpochMilli(nowMillis) : date, expires);
    }

    private static long secondsBetween(Instant from, Instant to) {
        return Duration.between(from, to).toSeconds();
    }

    /** A date of HTTP; null: there is none, or it is unreadable. */
    @SuppressWarnings("JavaUtilDate") // Netty's parser.
    static @Nullable Instant date(@Nullable String value) {
        Date parsed = value == null ? null : DateFormatter.parseHttpDate(value);
        return parsed == null ? null : parsed.toInstant();
    }
}
