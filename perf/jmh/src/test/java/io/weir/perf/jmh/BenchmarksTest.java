package io.weir.perf.jmh;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Each benchmark runs with each of its parameters; the test does not check speeds. */
class BenchmarksTest {

    static Stream<Arguments> benchmarks() {
        return Stream.of(
                Arguments.of(BulkheadBenchmark.class, 8),
                Arguments.of(ChoiceBenchmark.class, 4),
                Arguments.of(RefusalBenchmark.class, 6),
                Arguments.of(TokenBenchmark.class, 4));
    }

    @ParameterizedTest
    @MethodSource("benchmarks")
    void runsWithEachParameter(Class<?> benchmark, int runs) throws Exception {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .include(benchmark.getName())
                        .forks(0)
                        .warmupIterations(0)
                        .measurementIterations(1)
                        .measurementTime(TimeValue.milliseconds(20))
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .run();

        assertThat(results)
                .hasSize(runs)
                .allSatisfy(result ->
                        assertThat(result.getPrimaryResult().getScore()).isPositive());
    }
}
