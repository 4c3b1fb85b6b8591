package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ShedLinesTest {

    @Test
    void selectsAHundredLinesASecond() {
        AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
        ShedLines lines = new ShedLines(clock::get);
        int selected = 0;
        for (int i = 0; i < 20_000; i++) {
            selected += lines.take() ? 1 : 0;
            clock.addAndGet(TimeUnit.MICROSECONDS.toNanos(100));
        }

        assertThat(selected).isEqualTo(2 * ShedLines.PER_SECOND);
    }
}
