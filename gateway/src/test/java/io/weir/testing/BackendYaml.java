package io.weir.testing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.convert.DurationStyle;

/**
 * A backend of a configuration in YAML. Most tests are about something else than its limit and its times, and
 * hold many calls at once. So the limit is fixed, the deadline and the connect time-out are long, and
 * unanswered calls open the breaker late, unless a property says otherwise.
 */
final class BackendYaml {

    private static final String DEADLINE = "deadline:";
    /** Also below the deadlines to which tests change those of their backends. */
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(20);

    private static final Duration STALL_DURATION = Duration.ofSeconds(10);

    private BackendYaml() {}

    /** A line below {@code weir.backends}. The properties are in flow style, one group each. */
    static String line(String name, String address, String... properties) {
        List<String> all = new ArrayList<>(List.of(properties));
        if (all.stream().noneMatch(property -> property.startsWith(DEADLINE))) {
            all.add(DEADLINE + " 60s");
        }
        if (all.stream().noneMatch(property -> property.startsWith("bulkhead:"))) {
            all.add("bulkhead: { max-concurrent-calls: 64 }");
        }
        Duration deadline = all.stream()
                .filter(property -> property.startsWith(DEADLINE))
                .map(property -> DurationStyle.SIMPLE.parse(
                        property.substring(DEADLINE.length()).strip()))
                .findFirst()
                .orElseThrow();
        // A recovery waits for a quarter of this time between probes: tests of recoveries have the default.
        if (all.stream().noneMatch(property -> property.startsWith("recovery:"))) {
            supplement(all, "circuit-breaker", "stall-duration", shorter(deadline, STALL_DURATION));
        }
        supplement(all, "connection", "connect-timeout", shorter(deadline, CONNECT_TIMEOUT));
        return "    " + name + ": { " + address + ", " + String.join(", ", all) + " }\n";
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** Adds a value to a group of properties, unless the group has it. */
    private static void supplement(List<String> properties, String group, String key, Duration value) {
        String start = group + ": {";
        String supplement = ' ' + key + ": " + value.toMillis() + "ms";
        for (int i = 0; i < properties.size(); i++) {
            String property = properties.get(i);
            if (property.startsWith(start)) {
                if (!property.contains(key + ':')) {
                    properties.set(i, property.replace(start, start + supplement + ','));
                }
                return;
            }
        }
        properties.add(start + supplement + " }");
    }
}
