package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SchedulerStatisticsTest {

    @TempDir
    private Path directory;

    @Test
    void readsTheSecondNumberEachTime() throws IOException {
        Path file = file("926487 123 3\n");
        SchedulerStatistics wait = new SchedulerStatistics(file);
        assertThat(wait.nanos()).isEqualTo(123);

        Files.writeString(file, "1926487 9223372036854775807 4\n");
        assertThat(wait.nanos()).isEqualTo(Long.MAX_VALUE);
        wait.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "1 ", "a b c", "12 -1 3"})
    void isZeroIfTheFileDoesNotTellIt(String text) throws IOException {
        SchedulerStatistics wait = new SchedulerStatistics(file(text));

        assertThat(wait.nanos()).isZero();
    }

    @Test
    void isZeroWithoutTheFile() {
        SchedulerStatistics wait = new SchedulerStatistics(directory.resolve("missing"));

        assertThat(wait.nanos()).isZero();
        assertThat(wait.nanos()).isZero();
    }

    @Test
    void staysAfterItsEnd() throws IOException {
        Path file = file("1 5 1");
        SchedulerStatistics wait = new SchedulerStatistics(file);
        assertThat(wait.nanos()).isEqualTo(5);
        wait.close();
        Files.writeString(file, "1 7 1");

        assertThat(wait.nanos()).isEqualTo(5);
    }

    @EnabledOnOs(OS.LINUX)
    @Test
    void readsWhatTheSystemSaysOfTheThread() throws IOException {
        Path system = Path.of("/proc/thread-self/schedstat");
        SchedulerStatistics wait = new SchedulerStatistics();
        long before = waitIn(Files.readString(system));

        long nanos = wait.nanos();

        assertThat(nanos).isBetween(before, waitIn(Files.readString(system)));
        wait.close();
    }

    private static long waitIn(String schedstat) {
        return Long.parseLong(schedstat.split(" ", -1)[1]);
    }

    private Path file(String text) throws IOException {
        return Files.writeString(directory.resolve("schedstat"), text);
    }
}
