package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.BriefRun;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A short pool-size, as an example of all experiments with a fixed number of callers. With {@code
 * -Dpeers=true}.
 */
@Tag("full")
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
class PoolSizeIT {

    /** No conditions on latencies, so that a busy machine does not matter. */
    private static final class Brief extends PoolSize {

        @Override
        List<ClosedRounds> services(boolean quick) {
            return List.of(pool(2, 1, 1, 2));
        }

        @Override
        public List<String> jvmOptions() {
            return BriefRun.SHORT_LIVED_JVM;
        }
    }

    @Test
    void recordsTheServicesFigures(@TempDir Path raw) throws Exception {
        BriefRun run = BriefRun.of(new Brief(), 4, raw);

        assertThat(run.outcome().failures()).isEmpty();
        assertThat(run.rows("assertions")).singleElement().asString().contains(",true,");
        List<String> steps = run.rows("steps");
        assertThat(steps).hasSize(2);
        assertThat(steps.getFirst()).startsWith("1,warm-up,,");
        assertThat(steps.getLast()).startsWith("2,2x1,,");
        assertThat(run.rows("requests"))
                .anyMatch(row -> row.startsWith("2,"))
                .allMatch(row -> row.endsWith(",work,success"));
        assertThat(run.fact("2x1.retired")).isPositive();
        assertThat(run.fact("2x1.active")).isPositive();
        assertThat(run.fact("2x1.dead-time")).as("one of two waits").isBetween(0.01, 0.99);
        assertThat(run.rows("processes"))
                .anyMatch(row -> row.startsWith("2,") && row.contains(",service,"))
                .anyMatch(row -> row.startsWith("2,") && row.contains(",gatling-2x1,"))
                .as("PostgreSQL, with its clients' connections")
                .anyMatch(row -> row.contains(",postgres,") && !row.endsWith(",0"));
        assertThat(raw.resolve("gatling/2x1/index.html")).exists();
        assertThat(BriefRun.processesOf("weir-"))
                .as("processes that were not stopped")
                .isEmpty();
    }
}
