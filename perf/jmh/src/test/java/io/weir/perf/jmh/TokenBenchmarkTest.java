package io.weir.perf.jmh;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Each benchmark runs for both signatures; the test does not check speeds. */
class TokenBenchmarkTest {

    @Test
    void runsEachBenchmarkForBothSignatures() throws Exception {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .include(TokenBenchmark.class.getName())
                        .forks(0)
                        .warmupIterations(0)
                        .measurementIterations(1)
                        .measurementTime(TimeValue.milliseconds(20))
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .run();

        assertThat(results)
                .hasSize(4)
                .allSatisfy(result ->
                        assertThat(result.getPrimaryResult().getScore()).isPositive());
    }
}
