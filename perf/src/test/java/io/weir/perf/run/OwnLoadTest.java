package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.LightBackend;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Mono;

class OwnLoadTest {

    @TempDir
    private Path directory;

    /** The page of a scenario has the same raw data as that of an experiment. */
    @Test
    void recordsTheRequestsAndTheGeneratorOfALoadInThisProcess() throws Exception {
        CpuAllocation allocation = CpuAllocation.divide(List.of(0), 1, 1, false, false);
        try (ExperimentContext context = TestContext.create(directory, allocation, Optional.empty());
                LightBackend backend = LightBackend.answeringOk(request -> Mono.empty())) {
            OpenLoad load = new OpenLoad(backend.port(), List.of("/mvc/1"), 10, Duration.ofSeconds(5), 2);

            int sent = context.ownLoad("made-up", () -> load.burst(3).join()).size();

            load.burst(1).join();
            assertThat(sent).isEqualTo(3);
        }

        assertThat(rows("requests"))
                .hasSize(3)
                .allSatisfy(row -> assertThat(row).startsWith("1,").endsWith(",/mvc/1,success"));
        assertThat(rows("facts"))
                .anyMatch(row -> row.startsWith("generator.made-up.delay.longest,"))
                .as("a delay that is not known, since the load ended in the first seconds")
                .noneMatch(row -> row.startsWith("generator.made-up.delay.p99,"));
        assertThat(Files.readAllLines(directory.resolve("raw/run.properties")))
                .contains("load.model=open")
                .anyMatch(
                        line -> line.startsWith("notes=") && line.contains("generator.made-up.delay.p99: no figure."));
    }

    @Test
    void countsARequestInTheStepInWhichItWasSent() throws Exception {
        CpuAllocation allocation = CpuAllocation.divide(List.of(0), 1, 1, false, false);
        try (ExperimentContext context = TestContext.create(directory, allocation, Optional.empty());
                LightBackend backend = LightBackend.answeringOk(request -> Mono.empty())) {
            OpenLoad load = new OpenLoad(backend.port(), List.of("/mvc/1"), 10, Duration.ofSeconds(5), 2);

            context.ownLoad("made-up", () -> {
                long now = System.currentTimeMillis();
                OpenLoad.record(new Requests(List.of(new Request("", now, 700, "another-client", Request.SUCCESS))));
                load.burst(2).join();
                // Later than the time at which those were due.
                context.beginStep(context.nowMillis() + 100, "second", "");
                return load.run(10, Duration.ofMillis(500)).size()
                        + load.unrecorded().burst(3).join().size();
            });
        }

        assertThat(rows("requests"))
                .hasSize(8)
                .anyMatch(row -> row.startsWith("1,") && row.endsWith(",700,another-client,success"))
                .anyMatch(row -> row.startsWith("1,"))
                .anyMatch(row -> row.startsWith("2,"));
        assertThat(rows("steps")).extracting(row -> row.substring(0, 3)).containsExactly("1,m", "2,s");
    }

    private List<String> rows(String file) throws Exception {
        return BriefRun.rows(directory.resolve("raw"), file);
    }
}
