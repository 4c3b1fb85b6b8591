package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.perf.simulation.LoadPlan.CallerRound;
import io.weir.perf.simulation.LoadPlan.LoadPhase;
import io.weir.perf.simulation.LoadPlan.OpenCallers;
import io.weir.perf.simulation.LoadPlan.PlannedAssertion;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LoadPlanTest {

    @Test
    void readsAllFields() throws Exception {
        LoadPlan plan = LoadPlan.parse("""
                {"url": "http://127.0.0.1:1", "timeoutMillis": 5000, "rows": "/tmp/rows", "beganMillis": 7,
                 "request": "job", "phases": [{"name": "calm", "seconds": 8}],
                 "callers": [{"name": "sick", "path": "/a", "rate": 80, "overloadRate": 500, "exponential": true}],
                 "rounds": [{"name": "one", "path": "/block?a=b&c=d", "callers": 10, "seconds": 24, "once": true, "thinkMillis": 1000}],
                 "assertions": [{"request": "one", "figure": "p99", "operator": "lt", "value": 400}]}
                """);

        assertThat(plan.timeoutMillis()).isEqualTo(5000);
        assertThat(plan.phases()).containsExactly(new LoadPhase("calm", 8));
        assertThat(plan.callers()).containsExactly(new OpenCallers("sick", "/a", 80, 500, true));
        assertThat(plan.rounds()).containsExactly(new CallerRound("one", "/block?a=b&c=d", 10, 24, true, 1000));
        assertThat(plan.assertions()).containsExactly(new PlannedAssertion("one", "p99", "lt", 400));
        assertThat(plan.gatlingAssertions()).hasSize(1);
    }

    @Test
    void refusesUnknownField() {
        assertThatThrownBy(() -> LoadPlan.parse("{\"uri\": 1}")).hasMessageContaining("uri");
    }

    @Test
    void leavesTimeForTheLastAnswers() {
        assertThat(new CallerRound("one", "/", 1, 7, false, 0).requestPeriod()).isEqualTo(Duration.ofSeconds(5));
    }
}
