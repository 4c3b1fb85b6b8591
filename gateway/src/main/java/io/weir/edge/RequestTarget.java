package io.weir.edge;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A request's target as the gateway matches and forwards it: the path in its normalised spelling, and the
 * query unchanged.
 *
 * <p>If gateway and backend read a path differently, a caller without access to {@code /admin} can ask for
 * {@code /x/%2e%2e/admin}. So unreserved characters are decoded, hexadecimal digits become upper case,
 * characters that a URI cannot contain ({@code "<>[]^`{|}}) are encoded, slashes are merged, and dot segments
 * are removed (RFC 3986, 5.2.4 and 6.2.2), with effect in this order: decode, merge, remove. Targets that
 * only attackers send are refused: {@code ..} above the root; dot segments with parameters ({@code /..;/},
 * which servlet containers read as dot segments); segments of parameters only ({@code /;/}, which they read
 * as an empty segment, and drop), except the last one; malformed encoding; control characters; backslashes;
 * raw characters that are not visible ASCII; encoded slashes or backslashes unless they are allowed. Dot
 * segments beside encoded slashes are refused even if encoded slashes are allowed.
 *
 * <p>The query is forwarded unchanged, because signatures cover it, except that {@link TargetEncoder} has
 * encoded characters that no URI may contain. Characters that would break a request line are refused. So is a
 * fragment: no client sends one, and readers disagree whether it belongs to the path.
 *
 * <p>A route may ask for the {@linkplain #receivedPath() path as received}. Even then, the route is matched
 * by the normalised path.
 *
 * <p>Almost every target is normalised already. One scan detects that, and allocates nothing except this
 * object, and the path if there is a query.
 */
public final class RequestTarget {

    private static final byte PLAIN = 0;
    private static final byte SLASH = 1;
    private static final byte PERCENT = 2;
    private static final byte PATH_END = 3;
    private static final byte ENCODED = 4;
    private static final byte REFUSED = 5;

    private static final byte[] CLASSES = new byte[128];
    private static final boolean[] UNRESERVED = new boolean[128];
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();
    private static final String NO_FRAGMENT = "no fragment";
    private static final String TARGET_EXPECTED = "a path, or a URI of http or https with a host";

    static {
        Arrays.fill(CLASSES, REFUSED);
        for (char c = 0; c < 128; c++) {
            UNRESERVED[c] = isLetterOrDigit(c) || "-._~".indexOf(c) >= 0;
            if (UNRESERVED[c] || "!$&'()*+,;=:@".indexOf(c) >= 0) {
                CLASSES[c] = PLAIN;
            } else if ("\"<>[]^`{|}".indexOf(c) >= 0) {
                CLASSES[c] = ENCODED;
            }
        }
        CLASSES['/'] = SLASH;
        CLASSES['%'] = PERCENT;
        CLASSES['?'] = PATH_END;
    }

    private final String path;
    private final String receivedPath;
    private final String pathAndQuery;
    private final @Nullable String authority;

    private RequestTarget(String path, String receivedPath, String pathAndQuery, @Nullable String authority) {
        this.path = path;
        this.receivedPath = receivedPath;
        this.pathAndQuery = pathAndQuery;
        this.authority = authority;
    }

    /**
     * Parses the target of a request line, or {@code :path}.
     *
     * @param rawTarget the target as received, in origin-form or absolute-form
     * @param allowEncodedSlashes whether the path may contain {@code %2F} and {@code %5C}; they stay
     *     unchanged then
     * @throws MalformedTargetException if it cannot be matched or passed on
     */
    public static RequestTarget parse(String rawTarget, boolean allowEncodedSlashes) {
        if (!rawTarget.isEmpty() && rawTarget.charAt(0) == '/') {
            return parseOrigin(rawTarget, null, allowEncodedSlashes);
        }
        int start = authorityStart(rawTarget);
        int end = start;
        while (end < rawTarget.length() && "/?#".indexOf(rawTarget.charAt(end)) < 0) {
            end++;
        }
        String authority = rawTarget.substring(start, end);
        if (!Authority.isValid(authority)) {
            throw new MalformedTargetException("target", rawTarget, end, TARGET_EXPECTED);
        }
        String origin = rawTarget.substring(end);
        return parseOrigin(origin.startsWith("/") ? origin : "/" + origin, authority, allowEncodedSlashes);
    }

    /**
     * The path as received, with its empty segments, dot segments and escapes.
     *
     * @throws MalformedTargetException if it contains {@code ..} in any spelling: a backend that reads it
     *     differently would serve another path than the one whose route was chosen
     */
    public String receivedPath() {
        if (!receivedPath.equals(path)) {
            String decoded = receivedPath.replace("%2e", ".").replace("%2E", ".") + "/";
            int parent = decoded.indexOf("/../");
            if (parent >= 0) {
                throw new MalformedTargetException(
                        "path", receivedPath, receivedPath.length(), "no .., because the path is preserved");
            }
        }
        return receivedPath;
    }

    /** The normalised path; it begins with a slash. */
    public String path() {
        return path;
    }

    /** The query as received, without the question mark; null if there is none. */
    public @Nullable String rawQuery() {
        return path.length() == pathAndQuery.length() ? null : pathAndQuery.substring(path.length() + 1);
    }

    /** The normalised path and the query, as the backend receives them. */
    public String pathAndQuery() {
        return pathAndQuery;
    }

    /**
     * The authority of a target in absolute-form, which overrides {@code Host}; null for a target in
     * origin-form.
     */
    public @Nullable String authority() {
        return authority;
    }

    @Override
    public String toString() {
        return authority == null ? pathAndQuery : "//" + authority + pathAndQuery;
    }

    private static int authorityStart(String target) {
        if (target.regionMatches(true, 0, "http://", 0, 7)) {
            return 7;
        }
        if (target.regionMatches(true, 0, "https://", 0, 8)) {
            return 8;
        }
        throw new MalformedTargetException("target", target, target.length(), TARGET_EXPECTED);
    }

    private static RequestTarget parseOrigin(String target, @Nullable String authority, boolean allowEncodedSlashes) {
        int length = target.length();
        boolean clean = true;
        int i = 0;
        scan:
        while (i < length) {
            char c = target.charAt(i);
            switch (c < 128 ? CLASSES[c] : REFUSED) {
                case PLAIN -> i++;
                case SLASH -> clean &= !needsNormalisation(target, ++i);
                case PERCENT -> {
                    clean &= isPlainEscape(target, i);
                    i++;
                }
                case ENCODED -> {
                    clean = false;
                    i++;
                }
                case PATH_END -> {
                    break scan;
                }
                default ->
                    throw new MalformedTargetException(
                            "path",
                            target,
                            i + 1,
                            switch (c) {
                                case '\\' -> "no backslash";
                                case '#' -> NO_FRAGMENT;
                                default -> "visible ASCII characters, others percent-encoded";
                            });
            }
        }
        if (i < length) {
            checkQuery(target, i + 1);
        }
        String received = i == length ? target : target.substring(0, i);
        if (clean) {
            return new RequestTarget(received, received, target, authority);
        }
        String path = new Normalizer(target, i, allowEncodedSlashes).normalize();
        return new RequestTarget(path, received, i == length ? path : path + target.substring(i), authority);
    }

    private static void checkQuery(String target, int from) {
        for (int i = from; i < target.length(); i++) {
            char c = target.charAt(i);
            if (c == '#') {
                throw new MalformedTargetException("query", target, i + 1, NO_FRAGMENT);
            }
            if (c <= ' ' || c >= 0x7f) {
                throw new MalformedTargetException(
                        "query", target, i + 1, "visible ASCII characters, others percent-encoded");
            }
        }
    }

    /**
     * Whether a segment may be a dot segment, or is empty and not the last, or has nothing but parameters.
     */
    private static boolean needsNormalisation(String target, int segment) {
        if (segment == target.length()) {
            return false;
        }
        char first = target.charAt(segment);
        if (first != '.') {
            return first == '/' || first == ';';
        }
        int i = segment + 1;
        if (i < target.length() && target.charAt(i) == '.') {
            i++;
        }
        return i == target.length() || "/?#;%".indexOf(target.charAt(i)) >= 0;
    }

    /** Whether an escape is normalised already, with or without encoded slashes allowed. */
    private static boolean isPlainEscape(String target, int percent) {
        if (percent + 2 >= target.length()) {
            return false;
        }
        char high = target.charAt(percent + 1);
        char low = target.charAt(percent + 2);
        int value = hex(high) << 4 | hex(low);
        // The ASCII codes of lower-case digits are larger than those of upper-case digits.
        return value >= 0x20
                && high < 'a'
                && low < 'a'
                && value != 0x7f
                && value != '/'
                && value != '\\'
                && !(value < 128 && UNRESERVED[value]);
    }

    /** The value of a hexadecimal digit; -1 for any other character. */
    static int hex(char c) {
        if (c >= '0' && c <= '9') {
            return c - '0';
        }
        char upper = (char) (c & ~0x20);
        return upper >= 'A' && upper <= 'F' ? upper - 'A' + 10 : -1;
    }

    private static boolean isLetterOrDigit(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }

    /** Normalises a path segment by segment. */
    private static final class Normalizer {

        private final String target;
        private final int end;
        private final boolean allowEncodedSlashes;
        private final StringBuilder out;

        Normalizer(String target, int end, boolean allowEncodedSlashes) {
            this.target = target;
            this.end = end;
            this.allowEncodedSlashes = allowEncodedSlashes;
            this.out = new StringBuilder(end + 16);
        }

        String normalize() {
            int i = 0;
            boolean directory = true;
            while (i < end) {
                // The character at i is a slash.
                int start = out.length();
                out.append('/');
                i = appendSegment(i + 1);
                directory = removeRedundantSegment(start, i);
            }
            if (directory && (out.isEmpty() || out.charAt(out.length() - 1) != '/')) {
                out.append('/');
            }
            return out.toString();
        }

        private int appendSegment(int from) {
            int i = from;
            while (i < end) {
                char c = target.charAt(i);
                if (c == '/') {
                    break;
                }
                if (c == '%') {
                    appendEscape(i);
                    i += 3;
                } else {
                    if (CLASSES[c] == ENCODED) {
                        appendEncoded(c);
                    } else {
                        out.append(c);
                    }
                    i++;
                }
            }
            return i;
        }

        private void appendEscape(int percent) {
            int high = percent + 2 < end ? hex(target.charAt(percent + 1)) : -1;
            int low = percent + 2 < end ? hex(target.charAt(percent + 2)) : -1;
            if (high < 0 || low < 0) {
                throw refused(percent + 3, "two hex digits after %");
            }
            int value = high << 4 | low;
            if (value < 0x20 || value == 0x7f) {
                throw refused(percent + 3, "no encoded control characters");
            }
            if (!allowEncodedSlashes && (value == '/' || value == '\\')) {
                throw refused(percent + 3, "no encoded slash or backslash");
            }
            if (value < 128 && UNRESERVED[value]) {
                out.append((char) value);
            } else {
                appendEncoded((char) value);
            }
        }

        private void appendEncoded(char c) {
            out.append('%').append(HEX[c >> 4]).append(HEX[c & 0xf]);
        }

        /**
         * Removes an empty segment or a dot segment; returns whether it removed one, so that a slash must
         * follow.
         */
        private boolean removeRedundantSegment(int start, int at) {
            int segment = start + 1;
            int length = out.length() - segment;
            refuseHiddenSegments(segment, at);
            if (length == 0 || (length == 1 && out.charAt(segment) == '.')) {
                out.setLength(start);
                return true;
            }
            if (length == 2 && out.charAt(segment) == '.' && out.charAt(segment + 1) == '.') {
                if (start == 0) {
                    throw refused(at, "no .. above the root");
                }
                out.setLength(out.lastIndexOf("/", start - 1));
                return true;
            }
            return false;
        }

        /**
         * Refuses segments that are dot segments, or are empty, once parameters are ignored or encoded
         * slashes are decoded.
         */
        private void refuseHiddenSegments(int segment, int at) {
            int part = segment;
            int nameEnd = -1;
            for (int i = segment; i <= out.length(); i++) {
                boolean slash = isEncodedSlash(i);
                if (slash || i == out.length()) {
                    if (nameEnd == part && (slash || at < end)) {
                        throw refused(at, "no segment that consists of parameters only");
                    }
                    boolean hidden = nameEnd >= 0 || slash || part != segment;
                    if (hidden && isDots(part, nameEnd >= 0 ? nameEnd : i)) {
                        throw refused(at, "no dot segment with parameters or encoded slashes");
                    }
                    part = i + 3;
                    nameEnd = -1;
                } else if (nameEnd < 0 && out.charAt(i) == ';') {
                    nameEnd = i;
                }
            }
        }

        private boolean isEncodedSlash(int i) {
            return i + 2 < out.length()
                    && out.charAt(i) == '%'
                    && ((out.charAt(i + 1) == '2' && out.charAt(i + 2) == 'F')
                            || (out.charAt(i + 1) == '5' && out.charAt(i + 2) == 'C'));
        }

        private boolean isDots(int from, int to) {
            int length = to - from;
            return (length == 1 || length == 2) && out.charAt(from) == '.' && out.charAt(to - 1) == '.';
        }

        private MalformedTargetException refused(int until, String expected) {
            return new MalformedTargetException("path", target, Math.min(until, end), expected);
        }
    }
}
