package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.management.BackendView;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SeverityTest {

    @ParameterizedTest
    @CsvSource({
        // state, share of trouble, active, waiting, overdue, word, score
        "open, 1, 0, 0, 0, open, 100",
        "open, 0, 0, 0, 0, open, 80",
        "half-open, 0, 1, 0, 0, half-open, 75",
        "forced-open, 0, 0, 0, 0, forced-open, 60",
        "forced-closed, 0, 0, 0, 0, forced-closed, 60",
        "forced-closed, 1, 0, 0, 0, failing, 75",
        "closed, 0.2, 1, 0, 0, failing, 47",
        "closed, 0, 9, 3, 2, hanging, 30",
        "closed, 0, 10, 3, 0, queueing, 25",
        "closed, 0, 10, 0, 0, full, 20",
        "closed, 0, 9, 0, 0, calm, 0"
    })
    void ratesTheWorstProblem(
            String state, double share, int active, int waiting, int overdue, String word, int score) {
        assertThat(Severity.of(view(state, active, waiting, overdue), share)).isEqualTo(new Severity(score, word));
    }

    @Test
    void ratesFailuresAboveEarlySigns() {
        assertThat(Severity.of(view("closed", 1, 0, 0), 0.01).score())
                .isGreaterThan(Severity.of(view("closed", 10, 10, 10), 0).score());
    }

    @ParameterizedTest
    @CsvSource({"open, instance-out", "half-open, instance-out", "drained, calm", "closed, calm"})
    void ratesAnEjectedInstance(String state, String word) {
        assertThat(Severity.of(view("closed", 0, 0, 0, List.of(instance("closed"), instance(state))), 0)
                        .word())
                .isEqualTo(word);
    }

    private static BackendView.InstanceView instance(String state) {
        return new BackendView.InstanceView(
                "http://10.0.0.1:80",
                1,
                0,
                null,
                0,
                0,
                0,
                breaker(state, 0),
                null,
                new BackendView.Connections(0, 0, 0, 1));
    }

    private static BackendView.BreakerView breaker(String state, int overdue) {
        return new BackendView.BreakerView(
                state, state.startsWith("forced"), true, "2026-01-01T00:00:00Z", "", null, null, overdue, 0, null);
    }

    private static BackendView view(String state, int active, int waiting, int overdue) {
        return view(state, active, waiting, overdue, null);
    }

    private static BackendView view(
            String state, int active, int waiting, int overdue, @Nullable List<BackendView.InstanceView> instances) {
        return new BackendView(
                "http://orders",
                800,
                new BackendView.Calls(active, 10, waiting, Map.of(), 10, 100),
                new BackendView.LimitView(10, "fixed", 10, 10, 10, null, null, null, "fixed", null),
                new BackendView.Streams(0, 1),
                breaker(state, overdue),
                new BackendView.Connections(0, 0, 0, 1),
                null,
                null,
                0,
                null,
                instances,
                null,
                List.of());
    }
}
