package io.weir.reload;

import io.weir.config.check.ConfigurationSnapshot;
import io.weir.management.Expiry;
import io.weir.management.OperatorChangeView;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The values of properties that operators have set, by path. They are in force in place of those in the
 * files. Immutable.
 */
record OperatorValues(Map<String, Value> values) {

    /** No values. */
    static final OperatorValues NONE = new OperatorValues(Map.of());

    private static final Pattern PATH = Pattern.compile("weir\\.backends\\.([^.]+)\\.(.+)");
    private static final String LIMIT = "bulkhead.max-concurrent-calls";

    /**
     * A value.
     *
     * @param by the operator
     * @param end the time at which the value of the files applies again; null: an operator releases it
     */
    record Value(
            String text, String by, Instant since, @Nullable Expiry end) {

        boolean isOver(long now) {
            return Expiry.isOver(end, now);
        }
    }

    /** Copies the values. */
    OperatorValues {
        values = Map.copyOf(values);
    }

    boolean isEmpty() {
        return values.isEmpty();
    }

    /**
     * These values and others, which replace those of the same path, with their time.
     *
     * @param texts the other values, by path
     * @param end the end of their time; null: they have none
     */
    OperatorValues with(Map<String, String> texts, String by, Instant since, @Nullable Expiry end) {
        Map<String, Value> more = new HashMap<>(values);
        texts.forEach((path, text) -> more.put(path, new Value(text, by, since, end)));
        return new OperatorValues(more);
    }

    /** The values whose time is over. */
    OperatorValues over(long now) {
        return only((path, value) -> value.isOver(now));
    }

    OperatorValues without(OperatorValues others) {
        return only((path, value) -> !value.equals(others.values.get(path)));
    }

    OperatorValues ofBackends(Set<String> names) {
        return only((path, value) -> names.contains(backend(path)));
    }

    OperatorValues withoutBackends(Set<String> names) {
        return only((path, value) -> !names.contains(backend(path)));
    }

    OperatorValues and(OperatorValues others) {
        Map<String, Value> all = new HashMap<>(values);
        all.putAll(others.values);
        return new OperatorValues(all);
    }

    private OperatorValues only(BiPredicate<String, Value> wanted) {
        return new OperatorValues(values.entrySet().stream()
                .filter(entry -> wanted.test(entry.getKey(), entry.getValue()))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue)));
    }

    /** A configuration with these values in place of its own, and of those that it has of operators. */
    ConfigurationSnapshot over(ConfigurationSnapshot base) {
        Map<String, String> texts = new TreeMap<>();
        values.forEach((path, value) -> texts.put(path, value.text()));
        return base.withOperatorValues(texts);
    }

    /** The values that are valid together with a configuration; of each backend, all of them or none. */
    OperatorValues fitting(ConfigurationSnapshot next) {
        if (isEmpty() || !isValid(next)) {
            return NONE;
        }
        OperatorValues present = ofBackends(next.weir().backends().keySet());
        if (isValid(present.over(next))) {
            return present;
        }
        OperatorValues fitting = NONE;
        for (String backend : present.backends()) {
            OperatorValues more = fitting.and(present.ofBackends(Set.of(backend)));
            fitting = isValid(more.over(next)) ? more : fitting;
        }
        return fitting;
    }

    static boolean isValid(ConfigurationSnapshot snapshot) {
        return snapshot.report().problems().isEmpty();
    }

    /** The backends whose values these are. */
    Set<String> backends() {
        return values.keySet().stream().map(OperatorValues::backend).collect(Collectors.toCollection(TreeSet::new));
    }

    /** The backends whose limit on concurrent calls is among these values. */
    Set<String> backendsWithLimit() {
        return values.keySet().stream()
                .filter(path -> property(path).equals(LIMIT))
                .map(OperatorValues::backend)
                .collect(Collectors.toSet());
    }

    /** The names of these values' operators. */
    String operators() {
        return values.values().stream().map(Value::by).distinct().sorted().collect(Collectors.joining(", "));
    }

    /** Whether one of the values at these paths ends by itself. */
    boolean hasEnd(Set<String> paths) {
        return values.entrySet().stream()
                .anyMatch(entry ->
                        paths.contains(entry.getKey()) && entry.getValue().end() != null);
    }

    /** The next moment at which the time of a value is over, on the monotonic clock. */
    OptionalLong nextEnd(long now) {
        return Expiry.first(values.values().stream().map(Value::end).flatMap(Stream::ofNullable), now);
    }

    /** The values by backend, for operators. */
    Map<String, List<OperatorChangeView>> views() {
        Map<String, List<OperatorChangeView>> views = new HashMap<>();
        sorted().forEach(entry -> {
            Value value = entry.getValue();
            views.computeIfAbsent(backend(entry.getKey()), any -> new ArrayList<>())
                    .add(new OperatorChangeView(
                            property(entry.getKey()),
                            value.text(),
                            null,
                            value.by(),
                            value.since().toString(),
                            Expiry.shown(value.end())));
        });
        return views;
    }

    /** One line for each value. */
    List<String> lines() {
        return sorted().map(entry -> entry.getKey() + ": " + entry.getValue().text() + ", set by "
                        + entry.getValue().by())
                .toList();
    }

    private Stream<Map.Entry<String, Value>> sorted() {
        return values.entrySet().stream().sorted(Comparator.comparing(Map.Entry::getKey));
    }

    private static String backend(String path) {
        return part(path, 1);
    }

    private static String property(String path) {
        return part(path, 2);
    }

    private static String part(String path, int group) {
        Matcher parts = PATH.matcher(path);
        if (!parts.matches()) {
            throw new IllegalStateException("path: " + path + " (expected: a property of a backend)");
        }
        return parts.group(group);
    }
}
