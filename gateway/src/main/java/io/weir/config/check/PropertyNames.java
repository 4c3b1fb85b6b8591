package io.weir.config.check;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Names of properties: spellings, comparison, and the most similar known name. */
public final class PropertyNames {

    private static final int SHORT_LENGTH = 3;
    private static final int MIN_SUBSTRING_LENGTH = 4;

    private PropertyNames() {}

    /** {@code maxConcurrentCalls} as {@code max-concurrent-calls}. */
    static String kebabCase(String name) {
        StringBuilder kebabCase = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (Character.isUpperCase(c)) {
                kebabCase.append('-').append(Character.toLowerCase(c));
            } else {
                kebabCase.append(c);
            }
        }
        return kebabCase.toString();
    }

    /** A name without brackets as Spring Boot reads it: Spring Boot ignores all other characters. */
    static String withoutIgnoredCharacters(String name) {
        return name.codePoints()
                .filter(c -> Character.isLetterOrDigit(c) || c == '-' || c == '_' || c == '.')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    /**
     * The uniform spelling in which Spring Boot compares names: lower case, without dashes and underscores.
     */
    public static String uniform(String name) {
        return name.replace("-", "").replace("_", "").toLowerCase(Locale.ROOT);
    }

    /** The most similar known name; null if none is similar. */
    static @Nullable String nearest(String unknown, Collection<String> known) {
        String uniform = uniform(unknown);
        return known.stream()
                .filter(name -> isSimilar(uniform, uniform(name)))
                .min(Comparator.comparingInt((String name) -> editDistance(uniform, uniform(name)))
                        .thenComparing(Comparator.naturalOrder()))
                .orElse(null);
    }

    private static boolean isSimilar(String unknown, String known) {
        int length = Math.max(unknown.length(), known.length());
        int maxDistance = length <= SHORT_LENGTH ? 1 : Math.max(2, length / SHORT_LENGTH);
        return editDistance(unknown, known) <= maxDistance
                || (unknown.length() >= MIN_SUBSTRING_LENGTH && known.contains(unknown))
                || (known.length() >= MIN_SUBSTRING_LENGTH && unknown.contains(known));
    }

    /** The number of insertions, deletions, substitutions and transpositions from one name to the other. */
    static int editDistance(String a, String b) {
        int[][] cost = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            cost[i][0] = i;
        }
        for (int j = 0; j <= b.length(); j++) {
            cost[0][j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            for (int j = 1; j <= b.length(); j++) {
                int substitution = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                cost[i][j] = Math.min(cost[i - 1][j - 1] + substitution, 1 + Math.min(cost[i - 1][j], cost[i][j - 1]));
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    cost[i][j] = Math.min(cost[i][j], cost[i - 2][j - 2] + 1);
                }
            }
        }
        return cost[a.length()][b.length()];
    }
}
