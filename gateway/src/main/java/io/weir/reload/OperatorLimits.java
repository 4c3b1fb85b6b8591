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

/** Which of a backend's properties an operator may change, and what they are called in full. */
final class OperatorLimits {

    /** Where a backend is and how it is reached is no limit: that is for the files to say. */
    private static final Pattern ALLOWED = Pattern.compile(
            "(bulkhead|circuit-breaker|recovery|retry-budget)\\.[a-z-]+|deadline(-enforce)?|max-streams|stream-idle-timeout");

    /** May be called by their name alone. */
    private static final Set<String> OF_BULKHEAD = Stream.of(BulkheadProperties.class.getRecordComponents())
            .map(RecordComponent::getName)
            .map(OperatorLimits::dashed)
            .collect(Collectors.toUnmodifiableSet());

    private static final Pattern BACKEND = Pattern.compile("[a-z]([a-z0-9-]{0,61}[a-z0-9])?");

    private OperatorLimits() {}

    /**
     * Adds the full paths.
     *
     * @param paths where they are put, with the values
     * @param problems what is no limit
     */
    static void paths(String backend, Map<String, String> limits, Map<String, String> paths, List<String> problems) {
        if (!BACKEND.matcher(backend).matches()) {
            problems.add("backend: " + backend + " (expected: a configured one)");
            return;
        }
        if (limits.isEmpty()) {
            problems.add("limits: none (expected: some, such as max-concurrent-calls)");
        }
        limits.forEach((name, value) -> {
            String path = OF_BULKHEAD.contains(name) ? "bulkhead." + name : name;
            if (ALLOWED.matcher(path).matches()) {
                paths.put("weir.backends." + backend + '.' + path, value);
            } else {
                problems.add(name + " (expected: one of "
                        + String.join(", ", OF_BULKHEAD.stream().sorted().toList())
                        + ", deadline, deadline-enforce, max-streams, stream-idle-timeout, or a property of bulkhead, circuit-breaker,"
                        + " recovery or retry-budget, such as circuit-breaker.failure-rate-threshold)");
            }
        });
    }

    private static String dashed(String name) {
        return name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    }
}
