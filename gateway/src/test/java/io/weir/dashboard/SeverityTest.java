package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.management.BackendView;
import java.util.Map;
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

    private static BackendView view(String state, int active, int waiting, int overdue) {
        return new BackendView(
                "http://orders",
                800,
                new BackendView.Calls(active, 10, waiting, Map.of(), 10, 100),
                new BackendView.LimitView(10, "fixed", 10, 10, 10, null, null, null, "fixed", null),
                new BackendView.Streams(0, 1),
                new BackendView.BreakerView(
                        state,
                        state.startsWith("forced"),
                        true,
                        "2026-01-01T00:00:00Z",
                        "",
                        null,
                        null,
                        overdue,
                        0,
                        null),
                new BackendView.Connections(0, 0, 0, 1),
                null,
                null,
                0,
                null,
                null,
                null);
    }
}
