package io.weir.lastgood;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The conditions of a request, as a cache evaluates them (RFC 9111, 4.3.2).
 *
 * <p>{@code Range} is ignored, which RFC 9110, 14.2, permits every server: the caller gets the whole answer
 * with status 200, whether {@code If-Range} matches or not.
 */
final class Preconditions {

    private static final String ANY = "*";
    private static final String WEAK = "W/";

    private Preconditions() {}

    /** Whether only the origin can evaluate the request, so that no stored answer replaces it. */
    static boolean areForOrigin(HttpHeaders request) {
        return request.contains(HttpHeaderNames.IF_MATCH) || request.contains(HttpHeaderNames.IF_UNMODIFIED_SINCE);
    }

    /** Whether the caller has the answer already: it gets a 304. */
    static boolean isUnmodified(HttpHeaders request, HttpHeaders answer) {
        List<String> tags = request.getAll(HttpHeaderNames.IF_NONE_MATCH);
        if (!tags.isEmpty()) {
            // If-Modified-Since does not count beside it.
            return matches(tags, answer.get(HttpHeaderNames.ETAG));
        }
        List<String> since = request.getAll(HttpHeaderNames.IF_MODIFIED_SINCE);
        if (since.size() != 1) {
            return false;
        }
        Instant asked = AnswerTerms.date(since.getFirst());
        String modified = answer.get(HttpHeaderNames.LAST_MODIFIED);
        Instant known = AnswerTerms.date(modified == null ? answer.get(HttpHeaderNames.DATE) : modified);
        return asked != null && known != null && !known.isAfter(asked);
    }

    private static boolean matches(List<String> lines, @Nullable String tag) {
        for (String line : lines) {
            if (line.strip().equals(ANY)) {
                return true;
            }
            if (tag != null && contains(line, opaque(tag))) {
                return true;
            }
        }
        return false;
    }

    /** Whether a list of entity tags contains one, by weak comparison. A tag may contain commas. */
    private static boolean contains(String list, String opaque) {
        int from = list.indexOf('"');
        while (from >= 0) {
            int end = list.indexOf('"', from + 1);
            if (end < 0) {
                return false;
            }
            if (list.substring(from, end + 1).equals(opaque)) {
                return true;
            }
            from = list.indexOf('"', end + 1);
        }
        return false;
    }

    private static String opaque(String tag) {
        String stripped = tag.strip();
        return stripped.startsWith(WEAK) ? stripped.substring(WEAK.length()) : stripped;
    }
}
