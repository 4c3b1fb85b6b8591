package io.weir.perf.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.weir.perf.experiment.ExperimentNames;
import io.weir.perf.result.Request;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.SampleRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A set of all experiments stays within its limit, also if each of them has 200 000 requests. */
@Tag("full")
class KeptSizeTest {

    private static final int SECONDS = 400;
    private static final int PER_SECOND = 500;

    @TempDir
    private Path results;

    private Path run;

    @BeforeEach
    void measure() throws IOException {
        Random random = new Random(7);
        StringBuilder requests = new StringBuilder("step,at_ms,micros,request,outcome\n");
        for (int i = 0; i < SECONDS * PER_SECOND; i++) {
            int at = i * 1000 / PER_SECOND;
            String name = i % 3 == 0 ? "sick" : "neighbour";
            boolean refused = at > 100_000 && at < 300_000 && name.equals("sick") && random.nextInt(3) > 0;
            long micros = refused ? 200 + random.nextInt(3000) : (long) (20_000 * Math.exp(random.nextGaussian() / 2));
            requests.append(at < 100_000 ? 1 : 2)
                    .append(',')
                    .append(at)
                    .append(',')
                    .append(micros)
                    .append(',')
                    .append(name)
                    .append(',')
                    .append(refused ? random.nextBoolean() ? "queue-evicted" : "circuit-open" : "success")
                    .append('\n');
        }
        StringBuilder processes = new StringBuilder("step,at_ms,process,cpu_micros,rss_bytes,threads,connections\n");
        for (String process : List.of("gateway", "mvc", "neighbour", "postgres")) {
            long cpu = 0;
            for (int second = 0; second < SECONDS; second++) {
                cpu += 300_000 + random.nextInt(200_000);
                processes.append(String.format(
                        Locale.ROOT,
                        "%d,%d,%s,%d,%d,%d,%d%n",
                        second < 100 ? 1 : 2,
                        second * 1000L,
                        process,
                        cpu,
                        300_000_000 + random.nextInt(20_000_000),
                        30 + random.nextInt(3),
                        100 + random.nextInt(40)));
            }
        }
        run = SampleRun.overTime(results.resolve("made-up/quick"))
                .with("steps.csv", "step,label,x,began_ms,ended_ms", "1,calm,,0,100000", "2,fault,,100000,400000")
                .with("spans.csv", "step,label,from_ms,to_ms", "2,hang,100000,300000")
                .with("requests.csv", requests.toString())
                .with("processes.csv", processes.toString())
                .directory();
    }

    @Test
    void keepsALargeRunWithinItsShareOfTheSet() throws IOException {
        Path kept = results.resolve("2-cores");

        assertThat(PerfReport.run("--keep", kept.toString(), results.toString()))
                .isZero();

        RunResult before = RunResult.read(run);
        RunResult after = RunResult.read(kept.resolve("made-up"));
        assertThat(after.requests().size()).isEqualTo(before.requests().size());
        assertThat(after.requests().countByOutcome())
                .isEqualTo(before.requests().countByOutcome());
        assertThat(after.requests().by(Request::name).keySet())
                .isEqualTo(before.requests().by(Request::name).keySet());
        assertThat(RunFigures.of(after).get("fault/p99-ms").orElseThrow())
                .as("a figure of all requests")
                .isCloseTo(RunFigures.of(before).get("fault/p99-ms").orElseThrow(), within(1e-3));
        assertThat(after.requests().percentile(50))
                .as("what plots show")
                .isCloseTo(
                        before.requests().percentile(50),
                        within(.3 * before.requests().percentile(50)));
        try (Stream<Path> files = Files.walk(kept.resolve("made-up"))) {
            List<Path> all = files.filter(Files::isRegularFile).toList();
            long bytes = all.stream().mapToLong(file -> file.toFile().length()).sum();
            assertThat(bytes * ExperimentNames.count())
                    .as(
                            "%s",
                            all.stream()
                                    .map(file -> file.getFileName() + " "
                                            + file.toFile().length())
                                    .toList())
                    .isLessThanOrEqualTo(PerfReport.MAX_KEPT_BYTES);
        }
    }
}
