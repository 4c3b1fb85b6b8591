package io.weir.compression;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A set of media types: single ones, all of a type ({@code text/*}), and all of a type with a suffix
 * ({@code application/*+json}). Immutable.
 */
final class MediaTypes {

    private static final String TOKEN = "[!#$%&'^_`{|}~0-9A-Za-z.+-]+";
    /** A media type without parameters, or one of the two patterns, as a regular expression. */
    static final String FORM = TOKEN + "/(" + TOKEN + "|\\*|\\*\\+" + TOKEN + ")";

    private final Set<String> types = new HashSet<>();

    /** The set of these types, each of {@link #FORM}. */
    MediaTypes(List<String> types) {
        types.forEach(type -> this.types.add(type.toLowerCase(Locale.ROOT)));
    }

    /**
     * Whether a {@code Content-Type} is one of the set.
     *
     * @param contentType the field's value; null: the answer has none
     */
    boolean contains(@Nullable String contentType) {
        if (contentType == null) {
            return false;
        }
        int end = contentType.indexOf(';');
        String type =
                (end < 0 ? contentType : contentType.substring(0, end)).strip().toLowerCase(Locale.ROOT);
        if (types.contains(type)) {
            return true;
        }
        int slash = type.indexOf('/');
        if (slash < 0) {
            return false;
        }
        String main = type.substring(0, slash + 1);
        int suffix = type.lastIndexOf('+');
        return types.contains(main + '*') || (suffix > slash && types.contains(main + '*' + type.substring(suffix)));
    }
}
