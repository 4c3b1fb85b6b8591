package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.PerfRun;
import io.weir.perf.run.RunOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A short pool-size, as an example of all experiments with a fixed number of callers. With {@code -Plong}.
 */
@Timeout(300)
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
class PoolSizeIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final RunOptions OPTIONS = new RunOptions(List.of(), false, true, 4, Optional.empty());

    /** No conditions on latencies, so that a busy machine does not matter. */
    private static final class Brief extends PoolSize {

        @Override
        List<ClosedRounds> services(boolean quick) {
            return List.of(pool(2, 1, 1, 2));
        }

        /** A JVM that lives for seconds needs less compilation. */
        @Override
        public List<String> jvmOptions() {
            return List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
        }
    }

    @Test
    void recordsTheServicesFigures(@TempDir Path raw) throws Exception {
        PerfRun.RunOutcome outcome = PerfRun.measure(new Brief(), OPTIONS, ROOT, raw, Duration.ZERO);

        assertThat(outcome.failures()).isEmpty();
        assertThat(rows(raw, "assertions")).singleElement().asString().contains(",true,");
        List<String> steps = rows(raw, "steps");
        assertThat(steps).hasSize(2);
        assertThat(steps.getFirst()).startsWith("1,warm-up,,");
        assertThat(steps.getLast()).startsWith("2,2x1,,");
        assertThat(rows(raw, "requests"))
                .anyMatch(row -> row.startsWith("2,"))
                .allMatch(row -> row.endsWith(",work,success"));
        assertThat(fact(raw, "2x1.retired")).isPositive();
        assertThat(fact(raw, "2x1.active")).isPositive();
        assertThat(fact(raw, "2x1.dead-time")).as("one of two waits").isBetween(0.01, 0.99);
        assertThat(rows(raw, "processes"))
                .anyMatch(row -> row.startsWith("2,") && row.contains(",service,"))
                .anyMatch(row -> row.startsWith("2,") && row.contains(",gatling-2x1,"))
                .as("PostgreSQL, with its clients' connections")
                .anyMatch(row -> row.contains(",postgres,") && !row.endsWith(",0"));
        assertThat(raw.resolve("gatling/2x1/index.html")).exists();
        assertThat(ProcessHandle.current().descendants().filter(PoolSizeIT::isOurs))
                .as("processes that were not stopped")
                .isEmpty();
    }

    private static double fact(Path raw, String name) throws IOException {
        return rows(raw, "facts").stream()
                .map(row -> row.split(",", -1))
                .filter(row -> row[0].equals(name))
                .mapToDouble(row -> Double.parseDouble(row[1]))
                .findFirst()
                .orElse(Double.NaN);
    }

    private static List<String> rows(Path raw, String file) throws IOException {
        return Files.readAllLines(raw.resolve(file + ".csv")).stream().skip(1).toList();
    }

    private static boolean isOurs(ProcessHandle process) {
        return process.info().commandLine().orElse("").contains("weir-");
    }
}
