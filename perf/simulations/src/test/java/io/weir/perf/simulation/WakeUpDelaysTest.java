package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WakeUpDelaysTest {

    @Test
    void countsAPauseOnceForEachDelayedWakeUp(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("rows.csv");
        AtomicLong now = new AtomicLong();
        RowFile rows = new RowFile(file);
        WakeUpDelays delays = new WakeUpDelays(rows, 0, now::get, now::addAndGet);

        assertThat(delays.wakeUp()).isTrue();
        // A pause of one second.
        now.addAndGet(1_000_000_000);
        for (int i = 0; i < 101; i++) {
            assertThat(delays.wakeUp()).isTrue();
        }
        rows.close();

        List<Long> delayMicros = Files.readAllLines(file).stream()
                .skip(1)
                .map(row -> Long.parseLong(row.split(",", -1)[2]))
                .toList();
        assertThat(delayMicros).hasSize(102).startsWith(0L, 990_000L, 980_000L).endsWith(10_000L, 0L, 0L);
        assertThat(delays.wakeUp()).as("the file is closed").isFalse();
    }
}
