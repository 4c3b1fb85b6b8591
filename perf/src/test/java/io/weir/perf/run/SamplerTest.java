package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.ResultWriter;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SamplerTest {

    private static ProcessStats used(long cpuMicros) {
        return new ProcessStats(cpuMicros, 1, 0, 1, 0);
    }

    @Test
    void measuresBusyCoresPerStep(@TempDir Path directory) throws Exception {
        AtomicInteger step = new AtomicInteger(1);
        try (ResultWriter results = new ResultWriter(directory.resolve("raw"));
                Sampler sampler = new Sampler(results, step::toString)) {
            sampler.add("gatling", 0, used(5_000_000));
            sampler.add("gatling", 2000, used(6_800_000));
            step.set(2);
            sampler.add("gatling", 3000, used(7_000_000));
            sampler.add("gatling", 13_000, used(8_000_000));
            step.set(3);
            sampler.add("gatling", 14_000, used(9_000_000));

            assertThat(sampler.busyCores("gatling", "1")).hasValue(0.9);
            assertThat(sampler.busyCores("gatling", "2")).hasValue(0.1);
            assertThat(sampler.busyCores("gatling", "3")).as("one sample").isEmpty();
            assertThat(sampler.busyCores("wrk", "1")).isEmpty();
        }
    }
}
