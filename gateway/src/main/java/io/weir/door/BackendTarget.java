package io.weir.door;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The request target for the backend: path and query. */
final class BackendTarget {

    private static final Pattern SLASHES = Pattern.compile("/{2,}");

    /** The received path has no dot segments; a filter can make one, such as of {@code /a../b} without /a. */
    private static final Pattern DOT_SEGMENT = Pattern.compile("/\\.{1,2}(?:[;/]|%2F|%5C|$)");

    private BackendTarget() {}

    /**
     * The target after the route's filters.
     *
     * @param path the path after the filters; adjacent slashes that a filter has produced are merged
     * @param query the query as received; null if there is none
     * @throws IllegalArgumentException if a filter has produced a dot segment: the backend would leave the
     *     directory of the path
     */
    static String of(String path, @Nullable String query) {
        String merged = path.contains("//") ? SLASHES.matcher(path).replaceAll("/") : path;
        if (merged.contains("/.") && DOT_SEGMENT.matcher(merged).find()) {
            throw new IllegalArgumentException("path: " + merged + " (expected: no dot segment after the filters)");
        }
        return query == null ? merged : merged + '?' + query;
    }

    /** The target for a backend that sees the path as received. */
    static String asReceived(String receivedPath, @Nullable String query) {
        return query == null ? receivedPath : receivedPath + '?' + query;
    }
}
