package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SamplerTest {

    private static Proc used(long cpuMicros) {
        return new Proc(cpuMicros, 1, 1, 0);
    }

    @Test
    void knowsHowBusyAProcessWasInEachStepByItself(@TempDir Path directory) {
        AtomicInteger step = new AtomicInteger(1);
        try (Raw raw = new Raw(directory.resolve("raw"));
                Sampler sampler = new Sampler(raw, step::get)) {
            sampler.note("gatling", 0, used(5_000_000));
            sampler.note("gatling", 2000, used(6_800_000));
            step.set(2);
            sampler.note("gatling", 3000, used(7_000_000));
            sampler.note("gatling", 13_000, used(8_000_000));
            step.set(3);
            sampler.note("gatling", 14_000, used(9_000_000));

            assertThat(sampler.cores("gatling", 1)).hasValue(0.9);
            assertThat(sampler.cores("gatling", 2)).hasValue(0.1);
            assertThat(sampler.cores("gatling", 3)).as("sampled once").isEmpty();
            assertThat(sampler.cores("wrk", 1)).isEmpty();
        }
    }
}
