package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OperatorLimitsTest {

    private final Map<String, String> paths = new HashMap<>();
    private final List<String> problems = new ArrayList<>();

    private void resolve(String backend, Map<String, String> limits) {
        OperatorLimits.resolve(backend, limits, paths, problems);
    }

    @ParameterizedTest
    @CsvSource({
        "max-concurrent-calls, bulkhead.max-concurrent-calls",
        "queue-capacity, bulkhead.queue-capacity",
        "max-wait-duration, bulkhead.max-wait-duration",
        "enforce, bulkhead.enforce",
        "bulkhead.enforce, bulkhead.enforce",
        "deadline, deadline",
        "deadline-enforce, deadline-enforce",
        "max-streams, max-streams",
        "stream-idle-timeout, stream-idle-timeout",
        "circuit-breaker.failure-rate-threshold, circuit-breaker.failure-rate-threshold",
        "recovery.probe-interval, recovery.probe-interval",
        "retry-budget.share, retry-budget.share"
    })
    void resolvesNamesAsInYaml(String name, String path) {
        resolve("orders", Map.of(name, "7"));

        assertThat(problems).isEmpty();
        assertThat(paths).containsOnly(Map.entry(path, "7"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "uri",
                "protocol",
                "connection.max-idle",
                "max-concurrent-call",
                "",
                "bulkhead",
                "../edge.port",
                "bulkhead.a.b"
            })
    void rejectsOtherProperties(String name) {
        resolve("orders", Map.of(name, "7"));

        assertThat(paths).isEmpty();
        assertThat(problems).singleElement().asString().contains(name + " (expected: one of");
    }

    @Test
    void rejectsPlaceholders() {
        resolve("orders", Map.of("deadline", "${HOME}"));

        assertThat(paths).isEmpty();
        assertThat(problems).containsExactly("deadline: ${HOME} (expected: a value without placeholders)");
    }

    @Test
    void rejectsAnEmptyChange() {
        resolve("orders", Map.of());

        assertThat(problems).containsExactly("limits: none (expected: at least one, such as max-concurrent-calls)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a.b", "orders[0]", "Orders"})
    void rejectsAnInvalidBackendName(String backend) {
        resolve(backend, Map.of("deadline", "1s"));

        assertThat(paths).isEmpty();
        assertThat(problems).containsExactly("backend: " + backend + " (expected: a configured backend)");
    }
}
