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

/** What a gateway loads by the time that it is ready, what it does not load until its first request, and what it never loads. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class LoadedClassesIT {

    private static final Pattern LINE = Pattern.compile("^\\[(\\d+)ms] (\\S+) source:");

    @TempDir
    private Path directory;

    /** A gateway, a request through each of its doors, one without a route, and the end. */
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
    void loadsItsClientBeforeItIsReadyAndNothingOfOpenTelemetryEver() throws Exception {
        Path loaded = directory.resolve("loaded");
        Path out = directory.resolve("out");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // It runs for as long as it takes to start, which no optimising compiler makes shorter.
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
                    .as("it ends: %s", Files.readString(out))
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
        // Else the first callers would wait for them on an event loop.
        assertThat(classes.get(true))
                .contains(
                        "reactor.netty.http.client.HttpClientOperations",
                        "reactor.netty.http.server.HttpServerConfig$Http11OrH2CleartextCodec");
        assertThat(classes.get(false))
                .as("loaded after it was ready")
                .contains("io.weir.testing.TestCaller$Answer")
                .noneMatch(name -> name.startsWith("reactor.netty.http.client."));
        assertThat(classes.values().stream().flatMap(List::stream))
                .noneMatch(name -> name.startsWith("io.opentelemetry."));
    }
}
