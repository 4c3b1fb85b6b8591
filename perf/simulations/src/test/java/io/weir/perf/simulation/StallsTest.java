package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StallsTest {

    @Test
    void countAStopForEachWakeUpThatItHeldUp(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("rows.csv");
        AtomicLong now = new AtomicLong();
        Rows rows = new Rows(file);
        Stalls stalls = new Stalls(rows, 0, now::get, now::addAndGet);

        assertThat(stalls.wake()).isTrue();
        // For a second nothing runs.
        now.addAndGet(1_000_000_000);
        for (int i = 0; i < 101; i++) {
            assertThat(stalls.wake()).isTrue();
        }
        rows.close();

        List<Long> late = Files.readAllLines(file).stream()
                .map(row -> Long.parseLong(row.split(",", -1)[1]))
                .toList();
        assertThat(late).hasSize(102).startsWith(0L, 990_000L, 980_000L).endsWith(10_000L, 0L, 0L);
        assertThat(stalls.wake()).as("nobody writes any more").isFalse();
    }
}
