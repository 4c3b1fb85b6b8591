package io.weir.config.check;

import java.util.Collection;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps secrets out of reports. Rather too much is hidden than too little: what is hidden can be looked up where it is written. */
final class SecretMasking {

    static final String HIDDEN = "******";

    private static final Pattern SECRET = Pattern.compile(
            "token|secret|passw|passphrase|credential|authorization|cookie|(?:api|access|private)[-_]?key",
            Pattern.CASE_INSENSITIVE);
    /** The name of a property. */
    private static final Pattern KEY = Pattern.compile("(?:^|[-_])key$", Pattern.CASE_INSENSITIVE);
    /** All that is under them, so that a misspelt token is hidden too. */
    private static final Pattern SECRETS_BELOW =
            Pattern.compile("weir\\.(management|tracing\\.headers)\\b.*", Pattern.CASE_INSENSITIVE);

    /** The arguments of a predicate or filter. */
    private static final Pattern ARGUMENTS = Pattern.compile("^(\\w+)=(.*)$", Pattern.DOTALL);

    /** A filter that gives a field or parameter a value, where a name that says so little is enough. */
    private static final Pattern GIVES_A_VALUE = Pattern.compile(
            "^(?:Add|Set)\\w*(?:Header|Parameter)\\w*=[^,:]*(?:auth|key|sign|session)", Pattern.CASE_INSENSITIVE);
    /** What is secret whatever it is called. */
    private static final Pattern SECRET_BY_ITSELF = Pattern.compile(
            "\\b(?:basic|bearer) +[\\w.~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY", Pattern.CASE_INSENSITIVE);

    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^}$]*)");
    /** To the last sign that may end it: a password with a slash that ought to have been encoded is one all the same. */
    private static final Pattern USER_INFO = Pattern.compile("(://)\\S*@");

    private static final Pattern PARAMETER = Pattern.compile(
            "([?&][^=&?#\\s]*(?:token|secret|passw|key|sig)[^=&?#\\s]*=)[^&#\\s]*", Pattern.CASE_INSENSITIVE);

    private SecretMasking() {}

    /** The value, or what may be shown of it. */
    static String hide(String path, String value) {
        if (isSecret(path)) {
            return HIDDEN;
        }
        if (isHidden(value)) {
            return value.substring(0, value.indexOf('=') + 1) + HIDDEN;
        }
        if (SECRET_BY_ITSELF.matcher(value).find()) {
            return HIDDEN;
        }
        String anonymous = USER_INFO.matcher(value).replaceAll("$1" + HIDDEN + '@');
        return PARAMETER.matcher(anonymous).replaceAll("$1" + HIDDEN);
    }

    /**
     * The value, or what may be shown of it.
     *
     * @param written the same before placeholders were resolved, whose names may say what it is
     */
    static String hide(String path, String written, String value) {
        if (!namesASecret(written)) {
            return hide(path, value);
        }
        Matcher arguments = ARGUMENTS.matcher(value);
        return arguments.matches() ? arguments.group(1) + '=' + HIDDEN : HIDDEN;
    }

    /** Whether a text has a placeholder in it whose value is not to be shown. */
    static boolean namesASecret(String written) {
        return PLACEHOLDER
                .matcher(written)
                .results()
                .anyMatch(name -> SECRET.matcher(name.group(1)).find());
    }

    /** Whether these are a predicate's or filter's arguments that are not to be shown. */
    static boolean isHidden(String definition) {
        Matcher arguments = ARGUMENTS.matcher(definition);
        return arguments.matches()
                && (SECRET.matcher(arguments.group(2)).find()
                        || SECRET_BY_ITSELF.matcher(arguments.group(2)).find()
                        || GIVES_A_VALUE.matcher(definition).find());
    }

    /** Whether a predicate's or filter's arguments are not to be shown, in whatever order they stand. */
    static boolean isHidden(String name, Collection<String> arguments) {
        return isHidden(name + '=' + String.join(",", arguments))
                || arguments.stream().anyMatch(argument -> isHidden(name + '=' + argument));
    }

    /** Whether this property's value is not to be shown. */
    static boolean isSecret(String path) {
        String last = path.substring(path.lastIndexOf('.') + 1);
        return SECRET.matcher(last).find()
                || KEY.matcher(last).find()
                || SECRETS_BELOW.matcher(path).matches();
    }
}
