package io.weir.config.check;

import java.util.Collection;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps secrets out of reports. Rather too much is hidden than too little: what is hidden can be looked up where it is written. */
final class SecretMasking {

    static final String MASK = "******";

    private static final Pattern SECRET_NAME = Pattern.compile(
            "token|secret|passw|passphrase|credential|authorization|cookie|(?:api|access|private)[-_]?key",
            Pattern.CASE_INSENSITIVE);
    /** The name of a property. */
    private static final Pattern KEY_NAME = Pattern.compile("(?:^|[-_])key$", Pattern.CASE_INSENSITIVE);
    /** All that is under them, so that a misspelt token is hidden too. */
    private static final Pattern SECRET_SUBTREE =
            Pattern.compile("weir\\.(management|tracing\\.headers)\\b.*", Pattern.CASE_INSENSITIVE);

    /** The arguments of a predicate or filter. */
    private static final Pattern DEFINITION = Pattern.compile("^(\\w+)=(.*)$", Pattern.DOTALL);

    /** A filter that gives a field or parameter a value, where a name that says so little is enough. */
    private static final Pattern SECRET_FIELD_FILTER = Pattern.compile(
            "^(?:Add|Set)\\w*(?:Header|Parameter)\\w*=[^,:]*(?:auth|key|sign|session)", Pattern.CASE_INSENSITIVE);
    /** What is secret whatever it is called. */
    private static final Pattern SECRET_VALUE = Pattern.compile(
            "\\b(?:basic|bearer) +[\\w.~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY", Pattern.CASE_INSENSITIVE);

    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^}$]*)");
    /** To the last sign that may end it: a password with a slash that ought to have been encoded is one all the same. */
    private static final Pattern USER_INFO = Pattern.compile("(://)\\S*@");

    private static final Pattern SECRET_PARAMETER = Pattern.compile(
            "([?&][^=&?#\\s]*(?:token|secret|passw|key|sig)[^=&?#\\s]*=)[^&#\\s]*", Pattern.CASE_INSENSITIVE);

    private SecretMasking() {}

    /** The value, or what may be shown of it. */
    static String mask(String path, String value) {
        if (isSecretProperty(path)) {
            return MASK;
        }
        if (hasSecretArguments(value)) {
            return value.substring(0, value.indexOf('=') + 1) + MASK;
        }
        if (SECRET_VALUE.matcher(value).find()) {
            return MASK;
        }
        String anonymous = USER_INFO.matcher(value).replaceAll("$1" + MASK + '@');
        return SECRET_PARAMETER.matcher(anonymous).replaceAll("$1" + MASK);
    }

    /**
     * The value, or what may be shown of it.
     *
     * @param written the same before placeholders were resolved, whose names may say what it is
     */
    static String mask(String path, String written, String value) {
        if (!hasSecretPlaceholder(written)) {
            return mask(path, value);
        }
        Matcher arguments = DEFINITION.matcher(value);
        return arguments.matches() ? arguments.group(1) + '=' + MASK : MASK;
    }

    /** Whether a text has a placeholder in it whose value is not to be shown. */
    static boolean hasSecretPlaceholder(String written) {
        return PLACEHOLDER
                .matcher(written)
                .results()
                .anyMatch(name -> SECRET_NAME.matcher(name.group(1)).find());
    }

    /** Whether these are a predicate's or filter's arguments that are not to be shown. */
    static boolean hasSecretArguments(String definition) {
        Matcher arguments = DEFINITION.matcher(definition);
        return arguments.matches()
                && (SECRET_NAME.matcher(arguments.group(2)).find()
                        || SECRET_VALUE.matcher(arguments.group(2)).find()
                        || SECRET_FIELD_FILTER.matcher(definition).find());
    }

    /** Whether a predicate's or filter's arguments are not to be shown, in whatever order they stand. */
    static boolean hasSecretArguments(String name, Collection<String> arguments) {
        return hasSecretArguments(name + '=' + String.join(",", arguments))
                || arguments.stream().anyMatch(argument -> hasSecretArguments(name + '=' + argument));
    }

    /** Whether this property's value is not to be shown. */
    static boolean isSecretProperty(String path) {
        String last = path.substring(path.lastIndexOf('.') + 1);
        return SECRET_NAME.matcher(last).find()
                || KEY_NAME.matcher(last).find()
                || SECRET_SUBTREE.matcher(path).matches();
    }
}
