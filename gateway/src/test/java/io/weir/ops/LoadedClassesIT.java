package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The classes that a gateway loads before it is ready, those that it loads later, and those that it never
 * loads.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class LoadedClassesIT {

    private static final Pattern LINE = Pattern.compile("^\\[(\\d+)ms] (\\S+) source:");

    @TempDir
    private Path directory;

    /** Starts a gateway, sends a request through each door and one without a route, and exits. */
    static final class Main {

        public static void main(String[] arguments) throws IOException {
            try (TestBackend backend = TestBackend.healthy();
                    TestGateway gateway = TestGateway.setup()
                            .backend("orders", backend.uri(), "deadline: 60s")
                            .route("orders", "orders")
                            .start()) {
                System.out.println(ManagementFactory.getRuntimeMXBean().getUptime());
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
    void loadsTheHttpClientBeforeReadinessAndNeverOpenTelemetry() throws Exception {
        Path loaded = directory.resolve("loaded");
        Path out = directory.resolve("out");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // The process only starts and exits, which an optimising compiler does not
                        // accelerate.
                        "-XX:TieredStopAtLevel=1",
                        "-Xlog:class+load:file=" + loaded + ":uptimemillis",
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
                    .as("the process exits: %s", Files.readString(out))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }

        List<String> printed = Files.readAllLines(out);
        assertThat(printed).endsWith("200", "200", "404");
        long readyMillis = Long.parseLong(printed.get(printed.size() - 4));
        Map<Boolean, List<String>> classes = Files.readAllLines(loaded).stream()
                .map(LINE::matcher)
                .filter(Matcher::find)
                .collect(Collectors.partitioningBy(
                        line -> Long.parseLong(line.group(1)) <= readyMillis,
                        Collectors.mapping(line -> line.group(2), Collectors.toList())));
        // Otherwise the first requests would wait on an event loop for these classes.
        assertThat(classes.get(true))
                .contains(
                        "reactor.netty.http.client.HttpClientOperations",
                        "reactor.netty.http.server.HttpServerConfig$Http11OrH2CleartextCodec");
        assertThat(classes.get(false))
                .as("classes loaded after readiness")
                .contains("io.weir.testing.TestCaller$Answer")
                .noneMatch(name -> name.startsWith("reactor.netty.http.client."));
        assertThat(classes.values().stream().flatMap(List::stream))
                .noneMatch(name -> name.startsWith("io.opentelemetry."));
    }
}
