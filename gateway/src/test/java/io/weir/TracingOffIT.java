package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nothing of OpenTelemetry is loaded where tracing is off. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class TracingOffIT {

    @TempDir
    private Path directory;

    /** A gateway, a request through each of its doors, one without a route, and the end. */
    static final class Main {

        public static void main(String[] arguments) throws IOException {
            try (TestBackend backend = TestBackend.healthy();
                    TestGateway gateway = TestGateway.setup()
                            .backend("orders", backend.uri())
                            .route("orders", "orders")
                            .start()) {
                for (Door door : Door.values()) {
                    System.out.println(TestCaller.get(gateway.port(), door.path("orders", "1"))
                            .status());
                }
                System.out.println(TestCaller.get(gateway.port(), "/nowhere").status());
            }
            System.exit(0);
        }
    }

    @Test
    void loadsNothingOfOpenTelemetry() throws Exception {
        Path loaded = directory.resolve("loaded");
        Path out = directory.resolve("out");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // It runs for as long as it takes to start, which no optimising compiler makes shorter.
                        "-XX:TieredStopAtLevel=1",
                        "-Xlog:class+load:file=" + loaded,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName())
                .directory(directory.toFile())
                .redirectOutput(out.toFile())
                .redirectError(directory.resolve("err").toFile());
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        Process process = builder.start();
        try {
            assertThat(process.waitFor(4, TimeUnit.MINUTES))
                    .as("it ends: %s", Files.readString(out))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }

        assertThat(out).content().endsWith("200\n200\n404\n");
        assertThat(Files.readString(loaded))
                .contains(" io.weir.door.FrontDoor ", " io.weir.engine.Exchange ")
                .doesNotContain(" io.opentelemetry.");
    }
}
