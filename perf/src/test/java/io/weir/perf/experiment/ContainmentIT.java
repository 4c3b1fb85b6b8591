package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.experiment.Containment.ContainmentExtent;
import io.weir.perf.experiment.Containment.Front;
import io.weir.perf.run.BriefRun;
import io.weir.perf.run.LoadAssertion;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * A short containment: the gateway contains the fault, and the run fails without its protections. It waits
 * for most of its time, and asserts no latency, so it runs beside {@code ScenarioIT}.
 */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(BriefRun.BUILT_JARS)
class ContainmentIT {

    /** Little load and no conditions on latencies, so that a busy machine does not matter. */
    private static final class Brief extends Containment {

        @Override
        ContainmentExtent extent(boolean quick, boolean remote) {
            return new ContainmentExtent(
                    List.of(Front.PROTECTED, Front.CAPPED),
                    List.of(Front.PROTECTED, Front.CAPPED),
                    15,
                    new NeighbourLoad(new PhasedLoad.Phases(4).thenFault(1, "hang", 6, 1), 30, 10, 30),
                    List.of(LoadAssertion.successPercent(60)),
                    List.of(),
                    List.of());
        }

        @Override
        public List<String> jvmOptions() {
            return BriefRun.SHORT_LIVED_JVM;
        }
    }

    @Test
    void failsOnlyWithoutProtections(@TempDir Path raw) throws Exception {
        BriefRun run = BriefRun.of(new Brief(), 4, raw);

        assertThat(run.outcome().holds()).isFalse();
        assertThat(run.outcome().failures()).singleElement().asString().startsWith("capped: neighbour: hang");
        assertThat(run.rows("assertions"))
                .anyMatch(row -> row.startsWith("protected,neighbour: hang") && row.contains(",true,"));
        assertThat(run.rows("steps")).hasSize(2).first().asString().startsWith("1,protected: hang,,");
        assertThat(run.rows("spans")).hasSize(2);
        assertThat(run.rows("requests"))
                .as("the gateway's reason, as the caller saw it")
                .anyMatch(row -> row.startsWith("1,") && row.endsWith(",sick,deadline-exceeded"))
                .as("no compartment")
                .anyMatch(row -> row.startsWith("2,") && row.endsWith(",neighbour,reset"))
                .noneMatch(row -> row.endsWith(",failed"));
        assertThat(run.rows("processes"))
                .anyMatch(row -> row.startsWith("1,") && row.contains(",gateway,"))
                .anyMatch(row -> row.startsWith("1,") && row.contains(",gatling-protected,"));
        assertThat(run.rows("meters")).anyMatch(row -> row.contains(",weir_breaker_state,"));
        assertThat(raw.resolve("gatling/protected/index.html")).exists();
        assertThat(BriefRun.processesOf(BriefRun.BUILT_JARS))
                .as("processes that were not stopped")
                .isEmpty();
    }
}
