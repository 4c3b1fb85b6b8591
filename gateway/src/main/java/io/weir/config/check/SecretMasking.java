package io.weir.config.check;

import java.util.Collection;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Masks secrets in reports. It masks too much rather than too little, because the reader can find the value
 * at its location.
 */
final class SecretMasking {

    static final String MASK = "******";

    private static final Pattern SECRET_NAME = Pattern.compile(
            "token|secret|passw|passphrase|credential|authorization|cookie|(?:api|access|private)[-_]?key",
            Pattern.CASE_INSENSITIVE);
    /** A property name that ends with the word key. */
    private static final Pattern KEY_NAME = Pattern.compile("(?:^|[-_])key$", Pattern.CASE_INSENSITIVE);
    /** A property that names a kind of key, and has no key as its value. */
    private static final Pattern KIND_OF_KEY = Pattern.compile(
            "weir\\.(?:(?:routes\\..*\\.rate-?limit|backends\\..+\\.fairness)\\.key"
                    + "|routes\\..*\\.max-?concurrent-?per-?key(?:\\.key)?"
                    + "|backends\\..+\\.load-?balancing\\.hash-?key)",
            Pattern.CASE_INSENSITIVE);

    /** All properties below these but the hosts are masked, so that a misspelt token is masked too. */
    private static final Pattern SECRET_SUBTREE = Pattern.compile(
            "weir\\.(management(?!\\.allowed-?hosts)|tracing\\.headers)\\b.*", Pattern.CASE_INSENSITIVE);

    /** The shortcut notation of a predicate or filter: name and arguments. */
    private static final Pattern DEFINITION = Pattern.compile("^(\\w+)=(.*)$", Pattern.DOTALL);

    /**
     * A filter that sends a value to the backend, which may be a secret under any name, or one that sets a
     * field of the response. For this one, even a vague name such as X-Auth marks the value as secret.
     */
    private static final Pattern SECRET_FIELD_FILTER = Pattern.compile(
            "^(?:Add|Set|Rewrite)Request(?:Header|HeadersIfNotPresent|Parameter)=[^,:]*[,:]"
                    + "|^(?:Add|Set)\\w*Header\\w*=[^,:]*(?:auth|key|sign|session)",
            Pattern.CASE_INSENSITIVE);
    /** The name of the only field or parameter that a filter writes. */
    private static final Pattern FIELD = Pattern.compile("^\\w+Request(?:Header|Parameter)= *[\\w.-]+ *, *");
    /** A value that is secret under any name. */
    private static final Pattern SECRET_VALUE = Pattern.compile(
            "\\b(?:basic|bearer) +[\\w.~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY", Pattern.CASE_INSENSITIVE);

    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^}$]*)");
    /** Extends to the last @, because a password may contain a slash that should have been encoded. */
    private static final Pattern USER_INFO = Pattern.compile("(://)\\S*@");

    private static final Pattern SECRET_PARAMETER = Pattern.compile(
            "([?&][^=&?#\\s]*(?:token|secret|passw|key|sig)[^=&?#\\s]*=)[^&#\\s]*", Pattern.CASE_INSENSITIVE);

    private SecretMasking() {}

    /** The value with secrets masked. */
    static String mask(String path, String value) {
        if (isSecretProperty(path)) {
            return MASK;
        }
        if (hasSecretArguments(value)) {
            Matcher field = FIELD.matcher(value);
            return (field.find() ? field.group() : value.substring(0, value.indexOf('=') + 1)) + MASK;
        }
        if (SECRET_VALUE.matcher(value).find()) {
            return MASK;
        }
        String anonymous = USER_INFO.matcher(value).replaceAll("$1" + MASK + '@');
        return SECRET_PARAMETER.matcher(anonymous).replaceAll("$1" + MASK);
    }

    /**
     * The value with secrets masked.
     *
     * @param unresolved the value before placeholders were resolved; a placeholder's name can mark it as
     *     secret
     */
    static String mask(String path, String unresolved, String value) {
        if (!hasSecretPlaceholder(unresolved)) {
            return mask(path, value);
        }
        Matcher arguments = DEFINITION.matcher(value);
        return arguments.matches() ? arguments.group(1) + '=' + MASK : MASK;
    }

    /** Whether a text contains a placeholder with the name of a secret. */
    static boolean hasSecretPlaceholder(String unresolved) {
        // Few texts have placeholders; a start masks each setting.
        return unresolved.contains("${")
                && PLACEHOLDER
                        .matcher(unresolved)
                        .results()
                        .anyMatch(name -> SECRET_NAME.matcher(name.group(1)).find());
    }

    /** Whether a predicate or filter has an argument that must be masked. */
    static boolean hasSecretArguments(String definition) {
        Matcher arguments = DEFINITION.matcher(definition);
        return arguments.matches()
                && (SECRET_NAME.matcher(arguments.group(2)).find()
                        || SECRET_VALUE.matcher(arguments.group(2)).find()
                        || SECRET_FIELD_FILTER.matcher(definition).find());
    }

    /** Whether a predicate or filter has an argument that must be masked, in any order of the arguments. */
    static boolean hasSecretArguments(String name, Collection<String> arguments) {
        return hasSecretArguments(name + '=' + String.join(",", arguments))
                || arguments.stream().anyMatch(argument -> hasSecretArguments(name + '=' + argument));
    }

    /** Whether the value of a property must be masked. */
    static boolean isSecretProperty(String path) {
        String last = path.substring(path.lastIndexOf('.') + 1);
        return SECRET_NAME.matcher(last).find()
                || (KEY_NAME.matcher(last).find() && !KIND_OF_KEY.matcher(path).matches())
                || SECRET_SUBTREE.matcher(path).matches();
    }
}
