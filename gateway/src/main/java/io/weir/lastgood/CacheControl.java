package io.weir.lastgood;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The directives of {@code Cache-Control} (RFC 9111, 5.2), of a request or an answer. A qualified directive,
 * such as {@code private="x-user"}, counts like the one without fields, as RFC 9111 permits.
 */
final class CacheControl {

    /** The directive is missing. */
    static final long ABSENT = -1;

    /** The largest time that a directive needs to express (RFC 9111, 1.2.2). */
    private static final long MAX_SECONDS = 1L << 31;

    private final Map<String, String> directives = new HashMap<>();

    private CacheControl() {}

    /** Reads all lines of the field. */
    static CacheControl of(HttpHeaders headers) {
        CacheControl control = new CacheControl();
        for (String line : headers.getAll(HttpHeaderNames.CACHE_CONTROL)) {
            control.read(line);
        }
        return control;
    }

    private void read(String line) {
        int from = 0;
        while (from < line.length()) {
            int end = endOfElement(line, from);
            add(line.substring(from, end));
            from = end + 1;
        }
    }

    /** The next comma outside of quotes. */
    private static int endOfElement(String line, int from) {
        boolean isQuoted = false;
        for (int i = from; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '"') {
                isQuoted = !isQuoted;
            } else if (c == '\\' && isQuoted) {
                i++;
            } else if (c == ',' && !isQuoted) {
                return i;
            }
        }
        return line.length();
    }

    private void add(String element) {
        int equals = element.indexOf('=');
        String name = (equals < 0 ? element : element.substring(0, equals)).strip();
        if (!name.isEmpty()) {
            String value =
                    equals < 0 ? "" : unquoted(element.substring(equals + 1).strip());
            // Of contradicting values the shorter time holds.
            directives.merge(
                    name.toLowerCase(Locale.ROOT), value, (one, other) -> seconds(one) <= seconds(other) ? one : other);
        }
    }

    private static String unquoted(String value) {
        return value.length() >= 2 && value.startsWith("\"") && value.endsWith("\"")
                ? value.substring(1, value.length() - 1)
                : value;
    }

    boolean has(String directive) {
        return directives.containsKey(directive);
    }

    boolean isEmpty() {
        return directives.isEmpty();
    }

    /** The directive's time; 0 if it is unreadable, so that nothing is fresh by mistake. */
    long secondsOf(String directive) {
        String value = directives.get(directive);
        return value == null ? ABSENT : seconds(value);
    }

    /** A number of seconds; 0 if it is unreadable. */
    static long seconds(String value) {
        if (value.isEmpty() || !value.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return 0;
        }
        // More digits than 2^31 has.
        return value.length() > 10 ? MAX_SECONDS : Math.min(MAX_SECONDS, Long.parseLong(value));
    }
}
