package io.weir.config;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps secrets out of reports. */
final class Secrets {

    private static final String HIDDEN = "******";
    private static final Pattern SECRET =
            Pattern.compile("token|secret|passw|credential|authorization|cookie|api[-_]?key", Pattern.CASE_INSENSITIVE);
    /** All that is under them, so that a misspelt token is hidden too. */
    private static final Pattern SECRETS_BELOW =
            Pattern.compile("weir\\.(management|tracing\\.headers)\\b.*", Pattern.CASE_INSENSITIVE);

    /** The arguments of a predicate or filter. */
    private static final Pattern ARGUMENTS = Pattern.compile("^(\\w+)=(.*)$", Pattern.DOTALL);

    private static final Pattern USER_INFO = Pattern.compile("(\\w+://)[^/?#\\s]*@");

    private Secrets() {}

    /** The value, or what may be shown of it. */
    static String hide(String path, String value) {
        if (isSecret(path)) {
            return HIDDEN;
        }
        if (isHidden(value)) {
            return value.substring(0, value.indexOf('=') + 1) + HIDDEN;
        }
        return USER_INFO.matcher(value).replaceAll("$1" + HIDDEN + '@');
    }

    /** Whether these are a predicate's or filter's arguments that are not to be shown. */
    static boolean isHidden(String definition) {
        Matcher arguments = ARGUMENTS.matcher(definition);
        return arguments.matches() && SECRET.matcher(arguments.group(2)).find();
    }

    /** Whether this property's value is not to be shown. */
    static boolean isSecret(String path) {
        String last = path.substring(path.lastIndexOf('.') + 1);
        return SECRET.matcher(last).find() || SECRETS_BELOW.matcher(path).matches();
    }
}
