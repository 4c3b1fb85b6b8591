package io.weir.authentication;

/** A pattern with at most one {@code *}, which stands for one character or more. */
final class Wildcard {

    static final int NO_DELIMITER = -1;

    private Wildcard() {}

    /**
     * Whether a text matches a pattern with at most one wildcard.
     *
     * @param delimiter the character that the wildcard does not cover; {@link #NO_DELIMITER}: it covers all
     */
    static boolean matches(String pattern, String text, int delimiter) {
        int wildcard = pattern.indexOf('*');
        if (wildcard < 0) {
            return pattern.equals(text);
        }
        int after = pattern.length() - wildcard - 1;
        int end = text.length() - after;
        if (end <= wildcard
                || !text.regionMatches(0, pattern, 0, wildcard)
                || !text.regionMatches(end, pattern, wildcard + 1, after)) {
            return false;
        }
        int found = delimiter == NO_DELIMITER ? NO_DELIMITER : text.indexOf(delimiter, wildcard);
        return found < 0 || found >= end;
    }
}
