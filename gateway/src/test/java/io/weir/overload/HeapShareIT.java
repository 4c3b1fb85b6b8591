package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The heap's share of each collector, in a JVM of its own: garbage is no overload, a growing live set is. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class HeapShareIT {

    private static final Pattern LARGEST = Pattern.compile("largest (\\d+)");
    private static final int DEFAULT_MAX_MEMORY_PERCENT = 90;

    @ParameterizedTest
    @ValueSource(strings = {"Serial", "Parallel", "G1", "Z"})
    void staysBelowTheThresholdWhileHalfOfTheHeapIsLive(String collector) throws Exception {
        assertThat(largestPercent(collector, "steady", "50", "3")).isBetween(40, DEFAULT_MAX_MEMORY_PERCENT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Serial", "Parallel", "G1", "Z"})
    void exceedsTheThresholdBeforeTheHeapIsExhausted(String collector) throws Exception {
        assertThat(largestPercent(collector, "growing")).isGreaterThan(DEFAULT_MAX_MEMORY_PERCENT);
    }

    private static int largestPercent(String collector, String... arguments) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+Use" + collector + "GC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                HeapLoad.class.getName());
        builder.command().addAll(List.of(arguments));
        Process process = builder.redirectErrorStream(true).start();
        try {
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            Matcher largest = LARGEST.matcher(output);
            assertThat(process.waitFor()).as(output).isZero();
            assertThat(largest.find()).as(output).isTrue();
            return Integer.parseInt(largest.group(1));
        } finally {
            process.destroyForcibly();
        }
    }
}
