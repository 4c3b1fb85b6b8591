package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class BackendSummaryTest {

    @Test
    void summarisesAnOpenBackend() {
        LiveView.BackendSnapshot backend = snapshot(
                new TestViews().calls(3, 0).breaker("open", 0), new Severity(85, "open"), Map.of("circuit-open", 40L));

        assertThat(BackendSummary.of(backend)).isEqualTo(new BackendSummary("orders", "open", "open", 85, 10, 3, 0));
    }

    /** Of ten seconds. A refusal or a fallback is no answer of the backend; an error of its own is one. */
    @Test
    void countsTheAnswersOfTheBackendWithAnyStatus() {
        LiveView.BackendSnapshot backend = snapshot(
                new TestViews(),
                Severity.NONE,
                Map.of(
                        "2xx",
                        100L,
                        "4xx",
                        20L,
                        "5xx",
                        3L,
                        "other",
                        1L,
                        "fallback",
                        50L,
                        "bulkhead-full",
                        60L,
                        "client-closed",
                        70L));

        assertThat(BackendSummary.of(backend).answersPerSecond()).isEqualTo(12.4);
    }

    private static LiveView.BackendSnapshot snapshot(TestViews now, Severity trouble, Map<String, Long> outcomes) {
        return new LiveView.BackendSnapshot(
                "orders", trouble, new LiveView.Recent(0, 0, 0, 0, outcomes, null, null, null, null), now.view());
    }
}
