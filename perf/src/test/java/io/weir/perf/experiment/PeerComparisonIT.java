package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.experiment.PeerComparison.ComparisonExtent;
import io.weir.perf.run.BriefRun;
import io.weir.perf.run.Host;
import io.weir.perf.run.PeerProxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * One peer for seconds: all kinds of figures are recorded, and all processes are stopped. With {@code
 * -Dpeers=true}.
 */
@Tag("full")
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
class PeerComparisonIT {

    /** The peer without protection: its behaviour does not depend on a busy machine. */
    private static final class Brief extends PeerComparison {

        @Override
        ComparisonExtent extent(boolean quick) {
            NeighbourLoad load = new NeighbourLoad(phases(1, 2, 1), 10, 10, 20);
            return new ComparisonExtent(List.of(PeerProxy.BARE), 1, 1, 1, load, 100, 0, 0);
        }

        @Override
        public List<String> jvmOptions() {
            return BriefRun.SHORT_LIVED_JVM;
        }
    }

    @Test
    void recordsAllKindsOfFigures(@TempDir Path raw) throws Exception {
        BriefRun run = BriefRun.of(new Brief(), 1, raw);

        assertThat(run.outcome().failures()).isEmpty();
        List<String> facts = run.rows("facts");
        assertThat(facts)
                .anyMatch(row -> row.startsWith("bare.hang.neighbour.success,"))
                .anyMatch(row -> row.startsWith("bare.hang.sick.p50,"))
                .anyMatch(row -> row.startsWith("bare.overload.goodput,"));
        if (Host.has("wrk")) {
            String notes = Files.readString(raw.resolve("run.properties"));
            // On a busy machine a request may not be answered in time: a note replaces the figure.
            for (String figure : List.of("bare.forward", "bare.refuse", "bare.memory")) {
                assertThat(facts.stream().anyMatch(row -> row.startsWith(figure))
                                || notes.contains(figure + ": no figure"))
                        .as(figure)
                        .isTrue();
            }
        }
        assertThat(run.rows("spans")).anyMatch(row -> row.contains(",hang,"));
        assertThat(run.properties()).contains("compare=bare");
        assertThat(ProcessHandle.current().descendants().filter(ProcessHandle::isAlive))
                .as("processes that were not stopped")
                .noneMatch(process -> process.info().commandLine().orElse("").contains("weir-perf.jar"));
    }
}
