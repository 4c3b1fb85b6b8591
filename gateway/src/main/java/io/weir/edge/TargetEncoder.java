package io.weir.edge;

/**
 * Percent-encodes the characters of a target that browsers send although no URI may contain them: {@code
 * "<>^`{|}} in path and query, {@code [} and {@code ]} in the path, {@code \\} in the query, and {@code %} in
 * the query without two hexadecimal digits behind it.
 *
 * <p>None of these characters is a delimiter there, so every reader treats both spellings alike. Parsers that
 * follow RFC 3986, Spring's and those of many backends, refuse the raw ones.
 */
public final class TargetEncoder {

    private static final boolean[] ILLEGAL_IN_PATH = new boolean[128];
    private static final boolean[] ILLEGAL_IN_QUERY = new boolean[128];
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    static {
        for (char c : "\"<>[]^`{|}".toCharArray()) {
            ILLEGAL_IN_PATH[c] = true;
        }
        for (char c : "\"<>\\^`{|}".toCharArray()) {
            ILLEGAL_IN_QUERY[c] = true;
        }
    }

    private TargetEncoder() {}

    /** The encoded target; the same object if it contains no such character. */
    public static String encode(String rawTarget) {
        int length = rawTarget.length();
        boolean inQuery = false;
        StringBuilder encoded = null;
        int copied = 0;
        for (int i = originStart(rawTarget); i < length; i++) {
            char c = rawTarget.charAt(i);
            if (c == '?') {
                inQuery = true;
            } else if (c < 128 && (inQuery ? isIllegalInQuery(rawTarget, i) : ILLEGAL_IN_PATH[c])) {
                encoded = encoded == null ? new StringBuilder(length + 16) : encoded;
                encoded.append(rawTarget, copied, i)
                        .append('%')
                        .append(HEX[c >> 4])
                        .append(HEX[c & 0xf]);
                copied = i + 1;
            }
        }
        return encoded == null
                ? rawTarget
                : encoded.append(rawTarget, copied, length).toString();
    }

    private static boolean isIllegalInQuery(String target, int i) {
        char c = target.charAt(i);
        if (c != '%') {
            return ILLEGAL_IN_QUERY[c];
        }
        return i + 2 >= target.length()
                || RequestTarget.hex(target.charAt(i + 1)) < 0
                || RequestTarget.hex(target.charAt(i + 2)) < 0;
    }

    /** The index of the path; behind the authority of a target in absolute-form. */
    private static int originStart(String target) {
        if (target.startsWith("/")) {
            return 0;
        }
        int colon = target.indexOf("://");
        int i = colon < 0 ? target.length() : colon + 3;
        while (i < target.length() && target.charAt(i) != '/' && target.charAt(i) != '?') {
            i++;
        }
        return i;
    }
}
