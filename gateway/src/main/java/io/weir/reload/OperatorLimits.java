package io.weir.reload;

import io.weir.config.check.ConfigurationSnapshot;
import io.weir.limit.BulkheadProperties;
import io.weir.management.HeldChanges;
import io.weir.management.OperatorChange;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The backend properties that an operator may change, and configurations with their values. */
final class OperatorLimits {

    /** Limits only. A backend's address and connection can only be changed in the files. */
    private static final Pattern ALLOWED = Pattern.compile(
            "(bulkhead(\\.limit)?|circuit-breaker|recovery|retry-budget)\\.[a-z-]+|deadline(-enforce)?|max-streams|stream-idle-timeout");

    /** The properties of the bulkhead; these need no prefix. */
    private static final Set<String> BULKHEAD_PROPERTIES = Stream.of(BulkheadProperties.class.getRecordComponents())
            .map(RecordComponent::getName)
            .map(OperatorLimits::dashed)
            .collect(Collectors.toUnmodifiableSet());

    private static final String LIMIT = "bulkhead.max-concurrent-calls";

    private static final Pattern BACKEND = Pattern.compile("[a-z]([a-z0-9-]{0,61}[a-z0-9])?");

    private OperatorLimits() {}

    /**
     * Resolves the names of limits to paths below the backend. A placeholder is no value here, unlike in the
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
                paths.put(path, value);
            } else {
                problems.add(name + " (expected: one of "
                        + String.join(
                                ", ", BULKHEAD_PROPERTIES.stream().sorted().toList())
                        + ", deadline, deadline-enforce, max-streams, stream-idle-timeout, or a property of bulkhead, circuit-breaker,"
                        + " recovery or retry-budget, such as circuit-breaker.failure-rate-threshold)");
            }
        });
    }

    /** A configuration with operators' values in place of its own, and of those that it has of operators. */
    static ConfigurationSnapshot apply(HeldChanges values, ConfigurationSnapshot base) {
        Map<String, String> texts = new TreeMap<>();
        values.all().forEach(change -> texts.put(change.subject().path(), change.value()));
        return base.withOperatorValues(texts);
    }

    /** The values that are valid together with a configuration; of each backend, all of them or none. */
    static HeldChanges fitting(HeldChanges values, ConfigurationSnapshot next) {
        if (values.isEmpty() || !isValid(next)) {
            return HeldChanges.NONE;
        }
        HeldChanges present = values.ofBackends(next.weir().backends().keySet());
        if (isValid(apply(present, next))) {
            return present;
        }
        HeldChanges fitting = HeldChanges.NONE;
        for (String backend : present.backends()) {
            HeldChanges more = fitting.with(present.ofBackends(Set.of(backend)).all());
            fitting = isValid(apply(more, next)) ? more : fitting;
        }
        return fitting;
    }

    static boolean isValid(ConfigurationSnapshot snapshot) {
        return snapshot.report().problems().isEmpty();
    }

    /** The backends whose limit on concurrent calls is among these values. */
    static Set<String> backendsWithLimit(HeldChanges values) {
        return values.all().stream()
                .map(OperatorChange::subject)
                .filter(subject -> subject.change().equals(LIMIT))
                .map(OperatorChange.Subject::backend)
                .collect(Collectors.toSet());
    }

    private static String dashed(String name) {
        return name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    }
}
