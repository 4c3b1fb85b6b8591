package io.weir.config.check;

import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The individually valid values, including defaults, by canonical property path. */
final class ValidValues {

    /**
     * A value.
     *
     * @param value the converted value
     * @param location the location of the value; for a default, the location of the enclosing group
     * @param path the property in its original spelling
     * @param text the configured text; null for a default
     */
    record Entry(
            Object value,
            SourceLocation location,
            String path,
            @Nullable String text) implements Place {

        boolean isExplicit() {
            return text != null;
        }
    }

    private final Map<String, Entry> entries = new HashMap<>();
    private final Map<String, Map<String, SourceLocation>> names = new LinkedHashMap<>();

    void put(String path, Entry entry) {
        entries.put(path, entry);
    }

    void addName(String path, String name, SourceLocation location) {
        names.computeIfAbsent(path, any -> new LinkedHashMap<>()).putIfAbsent(name, location);
    }

    /** All values by path. */
    Map<String, Entry> entries() {
        return Collections.unmodifiableMap(entries);
    }

    /** The user-defined names below a path, with their locations. */
    Map<String, SourceLocation> names(String path) {
        return names.getOrDefault(path, Map.of());
    }

    /** A value; empty if it is invalid, or not configured and without default. */
    Optional<Entry> get(String path) {
        return Optional.ofNullable(entries.get(path));
    }
}
