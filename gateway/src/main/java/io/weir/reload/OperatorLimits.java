package io.weir.reload;

import io.weir.limit.BulkheadProperties;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The backend properties that an operator may change, and their full paths. */
final class OperatorLimits {

    /** Limits only. A backend's address and connection can only be changed in the files. */
    private static final Pattern ALLOWED = Pattern.compile(
            "(bulkhead(\\.limit)?|circuit-breaker|recovery|retry-budget)\\.[a-z-]+|deadline(-enforce)?|max-streams|stream-idle-timeout");

    /** The properties of the bulkhead; these need no prefix. */
    private static final Set<String> BULKHEAD_PROPERTIES = Stream.of(BulkheadProperties.class.getRecordComponents())
            .map(RecordComponent::getName)
            .map(OperatorLimits::dashed)
            .collect(Collectors.toUnmodifiableSet());

    private static final Pattern BACKEND = Pattern.compile("[a-z]([a-z0-9-]{0,61}[a-z0-9])?");

    private OperatorLimits() {}

    /**
     * Resolves the names of limits to full property paths. A placeholder is no value here, unlike in the
     * files: a token for changes must not read the environment.
     *
     * @param paths receives the paths with their values
     * @param problems receives a line for each invalid name, and each placeholder
     */
    static void resolve(String backend, Map<String, String> limits, Map<String, String> paths, List<String> problems) {
        if (!BACKEND.matcher(backend).matches()) {
            problems.add("backend: " + backend + " (expected: a configured backend)");
            return;
        }
        if (limits.isEmpty()) {
            problems.add("limits: none (expected: at least one, such as max-concurrent-calls)");
        }
        limits.forEach((name, value) -> {
            String path = BULKHEAD_PROPERTIES.contains(name) ? "bulkhead." + name : name;
            if (value.contains("${")) {
                problems.add(name + ": " + value + " (expected: a value without placeholders)");
            } else if (ALLOWED.matcher(path).matches()) {
                paths.put("weir.backends." + backend + '.' + path, value);
            } else {
                problems.add(name + " (expected: one of "
                        + String.join(
                                ", ", BULKHEAD_PROPERTIES.stream().sorted().toList())
                        + ", deadline, deadline-enforce, max-streams, stream-idle-timeout, or a property of bulkhead, circuit-breaker,"
                        + " recovery or retry-budget, such as circuit-breaker.failure-rate-threshold)");
            }
        });
    }

    private static String dashed(String name) {
        return name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    }
}
