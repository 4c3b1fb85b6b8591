package io.weir.config.check;

import java.util.Comparator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.util.PlaceholderResolutionException;

/**
 * A problem of the configuration.
 *
 * @param location the file and line, or another source
 * @param path the property, in its original spelling; empty if the problem concerns the whole file
 * @param value the configured value; null if there is none, or if it does not matter
 * @param why the cause of the problem, or the expected value
 * @param nearest the known name that is most similar to an unknown one; null if none is similar
 */
public record ConfigurationProblem(
        SourceLocation location,
        String path,
        @Nullable String value,
        String why,
        @Nullable String nearest) implements Comparable<ConfigurationProblem> {

    /** The first words of the problem of a certificate's file that does not exist. */
    static final String NO_SUCH_FILE = "no such file: ";

    private static final String PLACEHOLDER = "the placeholder";
    private static final String WITHOUT_VALUE = " has no value";
    private static final Pattern CONTROL = Pattern.compile("\\p{Cc}");
    private static final int LONGEST_VALUE = 120;
    private static final Comparator<ConfigurationProblem> ORDER = Comparator.comparing(ConfigurationProblem::location)
            .thenComparing(ConfigurationProblem::path)
            .thenComparing(problem -> String.valueOf(problem.value()))
            .thenComparing(ConfigurationProblem::why);

    /** Masks secrets, and joins lines. */
    public ConfigurationProblem {
        value = value == null ? null : shortened(oneLine(SecretMasking.mask(path, value)));
        why = oneLine(why);
    }

    /** A problem without a similar name. */
    static ConfigurationProblem of(SourceLocation location, String path, @Nullable String value, String why) {
        return new ConfigurationProblem(location, path, value, why, null);
    }

    /** A value that differs from the expected one. */
    static ConfigurationProblem expected(
            SourceLocation location, String path, @Nullable String value, String expected) {
        return of(location, path, value, "expected: " + expected);
    }

    /**
     * A value with a placeholder that cannot be resolved. Names only the placeholder, because the value may
     * be secret.
     */
    static ConfigurationProblem unresolved(Place place, String text, IllegalArgumentException unresolved) {
        String which = unresolved instanceof PlaceholderResolutionException one
                ? PLACEHOLDER + ' ' + one.getPlaceholder()
                : PLACEHOLDER;
        return place.problem(text, which + WITHOUT_VALUE);
    }

    /** Whether another environment may have what is missing: a placeholder's value, or a file of TLS. */
    boolean isUnresolved() {
        return why.startsWith(NO_SUCH_FILE) || (why.startsWith(PLACEHOLDER) && why.endsWith(WITHOUT_VALUE));
    }

    private static String oneLine(String value) {
        return value.strip().replaceAll("\\s*\\R\\s*", " ");
    }

    private static String shortened(String value) {
        return value.length() <= LONGEST_VALUE ? value : value.substring(0, LONGEST_VALUE) + "...";
    }

    @Override
    public int compareTo(ConfigurationProblem other) {
        return ORDER.compare(this, other);
    }

    /** A text without control characters, which could hide or forge lines in a terminal. */
    static String escaped(String text) {
        return CONTROL.matcher(text)
                .replaceAll(character ->
                        "\\\\u%04x".formatted((int) character.group().charAt(0)));
    }

    /**
     * {@code gateway.yml:7: weir.backends.orders.deadline: 0ms (expected: 1ms to 10m)}; control characters
     * are escaped.
     */
    @Override
    public String toString() {
        return escaped(text());
    }

    private String text() {
        String hint = nearest == null ? "" : "; did you mean " + nearest + '?';
        if (path.isEmpty()) {
            return location + ": " + why + hint;
        }
        return location + ": " + path + (value == null ? "" : ": " + value) + " (" + why + hint + ')';
    }
}
