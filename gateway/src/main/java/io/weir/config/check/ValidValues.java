package io.weir.config.check;

import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The values that are sound by themselves, defaults included, by the canonical paths of their properties. */
final class ValidValues {

    /**
     * A value.
     *
     * @param value converted
     * @param location where it is written; for a default, where the properties around it are
     * @param path as it is written
     * @param text as it is written; null if it is the default
     */
    record Entry(
            Object value,
            SourceLocation location,
            String path,
            @Nullable String text) {

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

    /** All of them. */
    Map<String, Entry> entries() {
        return Collections.unmodifiableMap(entries);
    }

    /** The names under a path at which the user chooses names, with the places where they are. */
    Map<String, SourceLocation> names(String path) {
        return names.getOrDefault(path, Map.of());
    }

    /** A value; empty if it is not sound, or has no default. */
    Optional<Entry> get(String path) {
        return Optional.ofNullable(entries.get(path));
    }

    /** A value that is written, and no default. */
    Optional<Entry> explicit(String path) {
        return get(path).filter(Entry::isExplicit);
    }

    <T> Optional<T> value(String path, Class<T> type) {
        return get(path).map(Entry::value).map(type::cast);
    }

    Optional<Duration> duration(String path) {
        return value(path, Duration.class);
    }
}
