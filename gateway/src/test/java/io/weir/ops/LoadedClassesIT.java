package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.WeirApplication;
import io.weir.testing.Door;
import io.weir.testing.FreePort;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A gateway in a process of its own: the classes that it loads before it is ready, those that it loads later,
 * and those that it never loads; and its exit code after SIGTERM.
 */
@Tag("full")
class LoadedClassesIT {

    private static final Pattern LINE = Pattern.compile("^\\[(\\d+)ms] (\\S+) source:");

    @TempDir
    private Path directory;

    /**
     * Starts the gateway by its main method, sends a request through each door and one without a route, and
     * serves on.
     */
    static final class Main {

        public static void main(String[] arguments) throws IOException {
            int port = FreePort.next();
            String yaml =
                    """
                    server: { port: %d, address: 127.0.0.1 }
                    management.server: { port: %d, address: 127.0.0.1 }
                    logging.level.root: WARN
                    weir:
                      backends.orders: { uri: "%s", deadline: 60s }
                      access-log.file: access.log
                      drain: { delay: 0s, timeout: 5s }
                    spring.cloud.gateway.server.webflux.routes:
                      - { id: compiled, uri: "backend://orders", predicates: [ "Path=/compiled/**" ] }
                      - { id: general, uri: "backend://orders", predicates: [ "Path=/general/**",
                          "After=2020-01-01T00:00:00Z" ] }
                    """.formatted(port, FreePort.next(), TestBackend.healthy().uri());
            WeirApplication.main(new String[] {
                Files.writeString(Path.of("gateway.yml"), yaml).toString()
            });
            System.out.println(ManagementFactory.getRuntimeMXBean().getUptime());
            for (Door door : Door.values()) {
                System.out.println(
                        TestCaller.get(port, door.path("orders", "1")).status());
            }
            System.out.println(TestCaller.get(port, "/nowhere").status());
        }
    }

    @Test
    void loadsTheHttpClientBeforeReadinessAndExitsWithZeroOnSigterm() throws Exception {
        Path loaded = directory.resolve("loaded");
        Path out = directory.resolve("out");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // The process only starts and exits, which an optimising compiler does not
                        // accelerate.
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
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
            await().atMost(Duration.ofMinutes(3))
                    .until(() -> !process.isAlive() || Files.readString(out).endsWith("404\n"));
            // Its default would be an end without a drain.
            assertThat(new ProcessBuilder("kill", "-USR1", Long.toString(process.pid()))
                            .start()
                            .waitFor())
                    .isZero();
            await().until(() ->
                    !process.isAlive() || Files.readString(out).contains("SIGUSR1 is ignored (expected: SIGTERM"));
            assertThat(process.isAlive()).as("after SIGUSR1").isTrue();
            // SIGTERM.
            process.destroy();
            assertThat(process.waitFor(1, TimeUnit.MINUTES))
                    .as("the process exits: %s", Files.readString(out))
                    .isTrue();
            assertThat(process.exitValue())
                    .as("exit code: %s", Files.readString(directory.resolve("err")))
                    .isZero();
        } finally {
            process.destroyForcibly();
        }

        List<String> printed = Files.readAllLines(out).stream()
                .filter(line -> line.matches("\\d+"))
                .toList();
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
                .noneMatch(name -> name.startsWith("io.opentelemetry."))
                .noneMatch(name -> name.startsWith("io.lettuce."));
    }
}
