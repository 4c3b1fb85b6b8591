package io.weir.perf.result;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunFiguresTest {

    @TempDir
    Path temporary;

    private RunFigures figures;

    @BeforeEach
    void compute() throws IOException {
        figures = RunFigures.of(SampleRun.overTime(temporary).read());
    }

    @ParameterizedTest
    @CsvSource({
        "calm/requests, 100",
        "calm/throughput, 50",
        "calm/took-seconds, 2.98",
        "calm/mean-ms, 505",
        "calm/p50-ms, 500",
        "calm/p99-ms, 990",
        "calm/max-ms, 1000",
        "calm/p90-ms/GET orders, 900",
        "calm/bulkhead-full-percent, 0",
        "fault/success-percent, 80",
        "fault/bulkhead-full-percent, 20",
        "fault/throughput, 40",
        "fault/p99-ms, 50",
        "fault/cpu-percent/gateway, 50",
        "fault/cpu-micros-per-request/gateway, 10000",
        "calm/rss-mb/gateway, 210",
        "calm/rss-kb-per-request/gateway, 4200",
        "calm/connections/gateway, 9",
        "recovery, 0.25"
    })
    void areComputedFromTheRawFiles(String name, double value) {
        assertThat(figures.get(name).orElseThrow()).isCloseTo(value, within(1e-9));
    }

    @Test
    void excludesRequestsAndSamplesOutsideTheStep() throws IOException {
        RunFigures ofSteps = RunFigures.of(SampleRun.overTime(temporary)
                .with("steps.csv", "step,label,x,began_ms,ended_ms", "1,calm,,1001,2000", "2,fault,,2000,3999")
                .read());

        assertThat(ofSteps.get("calm/requests")).hasValue(50);
        assertThat(ofSteps.get("calm/cpu-percent/gateway")).isEmpty();
        assertThat(ofSteps.get("fault/connections/gateway")).hasValue(8);
    }

    @Test
    void areEmptyWithoutMeasurement() {
        assertThat(figures.get("fault/p99-ms/POST orders")).isEmpty();
    }
}
