package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The heap's share of each collector, in a JVM of its own: garbage is no overload, a growing live set is. */
@Tag("full")
class HeapShareIT {

    private static final Pattern LARGEST = Pattern.compile("largest (\\d+)");
    private static final int DEFAULT_MAX_MEMORY_PERCENT = 90;

    /** The steady load waits for most of its time: both run at once. */
    @ParameterizedTest
    @ValueSource(strings = {"Serial", "Parallel", "G1", "Z"})
    void exceedsTheThresholdBeforeTheHeapIsExhaustedAndNotWhileHalfOfItIsLive(String collector) throws Exception {
        Process steady = start(collector, "steady", "50", "3");
        Process growing = start(collector, "growing");
        try {
            assertThat(largestPercent(growing)).isGreaterThan(DEFAULT_MAX_MEMORY_PERCENT);
            assertThat(largestPercent(steady)).isBetween(40, DEFAULT_MAX_MEMORY_PERCENT);
        } finally {
            steady.destroyForcibly();
            growing.destroyForcibly();
        }
    }

    private static Process start(String collector, String... arguments) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+Use" + collector + "GC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                HeapLoad.class.getName());
        builder.command().addAll(List.of(arguments));
        return builder.redirectErrorStream(true).start();
    }

    private static int largestPercent(Process process) throws IOException, InterruptedException {
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Matcher largest = LARGEST.matcher(output);
        assertThat(process.waitFor()).as(output).isZero();
        assertThat(largest.find()).as(output).isTrue();
        return Integer.parseInt(largest.group(1));
    }
}
