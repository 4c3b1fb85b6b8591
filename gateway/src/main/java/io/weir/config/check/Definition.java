package io.weir.config.check;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A predicate or filter.
 *
 * @param text its shortcut notation; null if it uses the expanded notation
 */
record Definition(
        String name, Map<String, String> args, @Nullable String text, String path, SourceLocation location) {

    boolean hasArguments() {
        return !args.isEmpty() || (text != null && text.contains("="));
    }

    boolean hasSecretArguments() {
        return SecretMasking.hasSecretArguments(name, args.values());
    }

    @Override
    public String toString() {
        return text != null ? text : name;
    }
}
