package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.experiment.Containment.ContainmentExtent;
import io.weir.perf.experiment.Containment.Front;
import io.weir.perf.run.LoadAssertion;
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
import org.junit.jupiter.api.io.TempDir;

/**
 * A short containment: the gateway contains the fault, and the run fails without its protections. It waits
 * for most of its time, and binds no latency: perf/integration runs it beside the gateway's integration
 * tests.
 */
@Timeout(300)
class ContainmentIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final RunOptions OPTIONS = new RunOptions(List.of(), false, true, 4, Optional.empty());

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

        /** A JVM that lives for seconds needs less compilation. */
        @Override
        public List<String> jvmOptions() {
            return List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
        }
    }

    @Test
    void failsOnlyWithoutProtections(@TempDir Path raw) throws Exception {
        PerfRun.RunOutcome outcome = PerfRun.measure(new Brief(), OPTIONS, ROOT, raw, Duration.ZERO);

        assertThat(outcome.holds()).isFalse();
        assertThat(outcome.failures()).singleElement().asString().startsWith("capped: neighbour: hang");
        assertThat(rows(raw, "assertions"))
                .anyMatch(row -> row.startsWith("protected,neighbour: hang") && row.contains(",true,"));
        assertThat(rows(raw, "steps")).hasSize(2).first().asString().startsWith("1,protected: hang,,");
        assertThat(rows(raw, "spans")).hasSize(2);
        assertThat(rows(raw, "requests"))
                .as("the gateway's reason, as the caller saw it")
                .anyMatch(row -> row.startsWith("1,") && row.endsWith(",sick,deadline-exceeded"))
                .as("no compartment")
                .anyMatch(row -> row.startsWith("2,") && row.endsWith(",neighbour,reset"))
                .noneMatch(row -> row.endsWith(",failed"));
        assertThat(rows(raw, "processes"))
                .anyMatch(row -> row.startsWith("1,") && row.contains(",gateway,"))
                .anyMatch(row -> row.startsWith("1,") && row.contains(",gatling-protected,"));
        assertThat(rows(raw, "meters")).anyMatch(row -> row.contains(",weir_breaker_state,"));
        assertThat(raw.resolve("gatling/protected/index.html")).exists();
        assertThat(ProcessHandle.current().descendants().filter(ContainmentIT::isOurs))
                .as("processes that were not stopped")
                .isEmpty();
    }

    private static List<String> rows(Path raw, String file) throws IOException {
        return Files.readAllLines(raw.resolve(file + ".csv")).stream().skip(1).toList();
    }

    private static boolean isOurs(ProcessHandle process) {
        return process.info().commandLine().orElse("").contains("weir-");
    }
}
