package io.weir.perf.result;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunResultTest {

    @TempDir
    Path temporary;

    private SampleRun run;

    @BeforeEach
    void writeFiles() throws IOException {
        run = SampleRun.overTime(temporary);
    }

    @Test
    void readsAllFiles() {
        RunResult read = run.read();

        assertThat(read.property("command")).isEqualTo("perf/run made-up");
        assertThat(read.steps()).extracting(RunResult.Step::name).containsExactly("calm", "fault");
        assertThat(read.requests()).hasSize(200).first().satisfies(first -> {
            assertThat(first.atMillis()).isEqualTo(20);
            assertThat(first.micros()).isEqualTo(10_000);
            assertThat(first.endMillis()).isEqualTo(30);
        });
        assertThat(read.meters().getFirst().labelsByName()).isEqualTo(Map.of("backend", "orders", "state", "closed"));
        assertThat(read.spans()).containsExactly(new RunResult.ShadedSpan("2", "hang", 2200, 3200));
        assertThat(read.facts()).containsExactly(new RunResult.Fact("recovery", 0.25, "s"));
    }

    @Test
    void namesStepsByLabelAndX() {
        run.with(
                "steps.csv",
                "step,label,x,began_ms,ended_ms",
                "1,calm,,0,1",
                "2,calm,,1,2",
                "3,stack,64,2,3",
                "4,stack,200,3,4");
        run.with("requests.csv", "step,at_ms,micros,request,outcome", "");

        assertThat(run.read().steps())
                .extracting(RunResult.Step::name)
                .containsExactly("calm", "calm 2", "stack@64", "stack@200");
    }

    @Test
    void readsRunsWithoutOptionalFiles() throws IOException {
        for (String file : new String[] {"processes.csv", "meters.csv", "spans.csv", "facts.csv", "assertions.csv"}) {
            Files.delete(temporary.resolve(file));
        }

        assertThat(run.read().processes()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "steps.csv    | 1 | step,label,began_ms,ended_ms | a,a,0,1 | Missing 1 header column: [\"x\"]",
                "steps.csv    | 2 | step,label,x,began_ms,ended_ms | a,a,many,0,1 | x: many (expected: a number)",
                "steps.csv    | 2 | step,label,x,began_ms,ended_ms | a,a,,5,1 | ended_ms: 1 (expected: 5 or later)",
                "requests.csv | 2 | step,at_ms,micros,request,outcome | 1,soon,1,r,success | at_ms: soon (expected: long)",
                "requests.csv | 2 | step,at_ms,micros,request,outcome | 1,1,-1,r,success | micros: -1 (expected: 0 or more)",
                "requests.csv | 2 | step,at_ms,micros,request,outcome | 1,1,1,r | Not enough column values: expected 5, found 4",
                "requests.csv | 2 | step,at_ms,micros,request,outcome | storm,1,1,r,success | step: storm (expected: a step of steps.csv)",
                "requests.csv | 2 | step,at_ms,micros,request,outcome | 1,1,1,,success | request:  (expected: a name)",
                "assertions.csv | 2 | run,assertion,holds,actual | load,all,maybe,1 | holds: maybe (expected: boolean)",
                "meters.csv   | 2 | step,at_ms,meter,labels,value | 1,1,breaker,,NaN | value: NaN (expected: a number)",
                "processes.csv | 2 | step,at_ms,process,cpu_micros,rss_bytes,threads,connections | 1,1,gateway,-1,1,1,1 | cpu_micros: -1 (expected: 0 or more)",
                "facts.csv    | 2 | name,value,unit | recovery,NaN,s | value: NaN (expected: a number)"
            })
    void reportsFileLineAndExpectedValue(String file, int line, String header, String row, String message) {
        run.with(file, header, row, "");

        assertThatThrownBy(run::read)
                .isInstanceOf(InvalidFileException.class)
                .hasMessageStartingWith(temporary.resolve(file) + ":" + line + ": ")
                .hasMessageContaining(message);
    }

    @Test
    void reportsMissingFile() throws IOException {
        Files.delete(temporary.resolve("requests.csv"));

        assertThatThrownBy(run::read)
                .isInstanceOf(InvalidFileException.class)
                .hasMessage("%s: missing (expected: a file with the columns step,at_ms,micros,request,outcome)"
                        .formatted(temporary.resolve("requests.csv")));
    }

    @Test
    void reportsMissingProperty() {
        run.with("run.properties", "experiment=made-up", "mode=quick", "command=perf/run made-up");

        assertThatThrownBy(run::read)
                .isInstanceOf(InvalidFileException.class)
                .hasMessageEndingWith("run.properties: limit.sentence: missing");
    }

    @Test
    void writesWholeRowsFromSeveralThreads() throws Exception {
        Path directory = temporary.resolve("written");
        try (ResultWriter writer = new ResultWriter(directory);
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> written = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                String name = "thread " + thread;
                written.add(threads.submit(
                        () -> IntStream.range(0, 250).forEach(i -> writer.add(new RunResult.Fact(name, i, "")))));
            }
            for (Future<?> one : written) {
                one.get();
            }
        }

        assertThat(RunResult.FACTS.read(directory))
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 1000)
                        .mapToObj(i -> new RunResult.Fact("thread " + i / 250, i % 250, ""))
                        .toList());
    }

    @Test
    void readsWhatItHasWritten() throws IOException {
        RunResult.MeterSample meter = new RunResult.MeterSample("", 7, "breaker", "backend=\"mvc\",state=\"open\"", 1);
        RunResult.Assertion assertion = new RunResult.Assertion("", "a, b", true, "1");
        Path directory = temporary.resolve("written");
        try (ResultWriter writer = new ResultWriter(directory)) {
            writer.add(meter);
            writer.add(assertion);
        }

        assertThat(Files.readAllLines(directory.resolve("meters.csv")))
                .element(1)
                .isEqualTo(",7,breaker,\"backend=\"\"mvc\"\",state=\"\"open\"\"\",1.0");
        assertThat(RunResult.METERS.read(directory)).containsExactly(meter);
        assertThat(RunResult.ASSERTIONS.read(directory)).containsExactly(assertion);
    }
}
