package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.Host;
import io.weir.perf.run.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** One peer, for seconds: each kind of figure is there, and nothing is left running. With {@code -Plong}: it takes half a minute. */
@Timeout(300)
@EnabledIfSystemProperty(named = "peers", matches = "true")
class SideBySideIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** The smallest, without any protection: what it does is the same on a busy machine. */
    private static final class Brief extends SideBySide {

        @Override
        Extent extent(boolean quick) {
            return new Extent(
                    List.of(Peer.BARE),
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(1),
                    1,
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(2),
                    Duration.ofSeconds(1),
                    10,
                    10,
                    20,
                    100,
                    Map.of());
        }

        @Override
        public List<String> jvm() {
            return List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
        }
    }

    @Test
    void hasAFigureForEverything(@TempDir Path raw) throws Exception {
        Run.Outcome outcome = Run.measure(new Brief(), true, 1, Optional.empty(), ROOT, raw, Duration.ZERO, System.out);

        assertThat(outcome.failures()).isEmpty();
        List<String> facts = rows(raw, "facts");
        assertThat(facts)
                .anyMatch(row -> row.startsWith("bare.hang.neighbour.success,"))
                .anyMatch(row -> row.startsWith("bare.hang.sick.p50,"))
                .anyMatch(row -> row.startsWith("bare.overload.goodput,"));
        if (Host.has("wrk")) {
            String notes = Files.readString(raw.resolve("run.properties"));
            // On a busy machine a request may get no answer in time: then there is no figure, and a word.
            for (String figure : List.of("bare.forward", "bare.refuse", "bare.memory")) {
                assertThat(facts.stream().anyMatch(row -> row.startsWith(figure))
                                || notes.contains(figure + ": no figure"))
                        .as(figure)
                        .isTrue();
            }
        }
        assertThat(rows(raw, "spans")).anyMatch(row -> row.contains(",hang,"));
        assertThat(Files.readAllLines(raw.resolve("run.properties"))).contains("compare=bare");
        assertThat(ProcessHandle.current().descendants().filter(ProcessHandle::isAlive))
                .as("what was started and goes on")
                .noneMatch(process -> process.info().commandLine().orElse("").contains("weir-perf.jar"));
    }

    private static List<String> rows(Path raw, String file) throws IOException {
        return Files.readAllLines(raw.resolve(file + ".csv")).stream().skip(1).toList();
    }
}
