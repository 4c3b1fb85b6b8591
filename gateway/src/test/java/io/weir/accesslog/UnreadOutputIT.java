package io.weir.accesslog;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.WeirApplication;
import io.weir.testing.FreePort;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

/** A gateway in a process of its own, whose standard output is a pipe that nobody reads. */
@Tag("full")
class UnreadOutputIT {

    private static final Pattern DROPPED = Pattern.compile("(?m)^weir_log_dropped_total\\S* ([\\d.E]+)$");

    private final TestBackend first = TestBackend.healthy();
    private final TestBackend second = TestBackend.healthy();
    private final int port = FreePort.next();
    private final int managementPort = FreePort.next();

    @TempDir
    private Path directory;

    private @Nullable Process started;

    @AfterEach
    void stop() {
        if (started != null) {
            started.destroyForcibly();
        }
        first.close();
        second.close();
    }

    /** Starts a gateway that logs several lines for each connection on its event loop. */
    private Process start(ProcessBuilder.Redirect error) throws IOException {
        Path file = Files.writeString(
                directory.resolve("gateway.yml"), """
                server: { port: %d, address: 127.0.0.1 }
                management.server: { port: %d, address: 127.0.0.1 }
                logging.level: { reactor.netty: debug, reactor.netty.channel: debug }
                weir:
                  # The host that TestCaller names.
                  management.allowed-hosts: weir.test
                  backends:
                    first: { uri: "%s", deadline: 50s }
                    second: { uri: "%s", deadline: 50s }
                  drain: { delay: 0s, timeout: 5s }
                  # It would fill the output at once.
                  warm-up: { max-duration: 0s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: first, uri: "backend://first", predicates: [ "Path=/first/**" ] }
                  - { id: second, uri: "backend://second", predicates: [ "Path=/second/**" ] }
                """.formatted(port, managementPort, first.uri(), second.uri()));
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // The process only starts up, which the optimising compiler does not accelerate.
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        WeirApplication.class.getName(),
                        file.toString())
                .directory(directory.toFile())
                .redirectError(error);
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        Process process = builder.start();
        started = process;
        return process;
    }

    /** Sends SIGTERM. {@link Process#destroy} would close the pipes, too. */
    private static void terminate(Process process) {
        assertThat(process.toHandle().destroy()).isTrue();
    }

    private ProcessBuilder.Redirect errorFile() {
        return ProcessBuilder.Redirect.to(directory.resolve("err").toFile());
    }

    private void awaitReadiness() {
        await().ignoreExceptionsInstanceOf(IOException.class)
                .until(() -> TestCaller.get(managementPort, "/actuator/health/readiness")
                                .status()
                        == 200);
    }

    /** Calls both backends until lines of the log have been dropped; each call must be answered. */
    private void callUntilLinesAreDropped() throws IOException {
        for (int call = 0; droppedLines() == 0; call++) {
            assertThat(call).as("calls without a dropped line").isLessThan(10_000);
            for (int i = 0; i < 20; i++) {
                assertThat(TestCaller.get(port, "/first/" + call).status()).isEqualTo(200);
                assertThat(TestCaller.get(port, "/second/" + call).status()).isEqualTo(200);
            }
        }
    }

    private long droppedLines() throws IOException {
        Matcher meter = DROPPED.matcher(
                TestCaller.get(managementPort, "/actuator/prometheus").text());
        assertThat(meter.find()).isTrue();
        return (long) Double.parseDouble(meter.group(1));
    }

    @Test
    void theCallsOfAllBackendsAreAnsweredAndTheLogContinuesWhenItIsReadAgain() throws Exception {
        Process process = start(errorFile());
        awaitReadiness();
        callUntilLinesAreDropped();

        CompletableFuture<List<String>> output = CompletableFuture.supplyAsync(() -> {
            try (BufferedReader reader = process.inputReader()) {
                return reader.readAllLines();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        terminate(process);

        List<String> lines = output.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
        // Each line is whole.
        assertThat(lines).allSatisfy(line -> JsonMapper.shared().readTree(line));
        assertThat(lines)
                .filteredOn(line -> line.contains("Log CONSOLE: "))
                .singleElement()
                .satisfies(line -> assertThat(line).containsPattern("(\\d+) lines dropped, \\1 since the start"));
        assertThat(lines).anyMatch(line -> line.contains("Draining: refusing new work"));
    }

    @Test
    void itStopsOnSigtermThoughNobodyReadsItsOutputs() throws Exception {
        Process process = start(ProcessBuilder.Redirect.PIPE);
        awaitReadiness();
        callUntilLinesAreDropped();

        terminate(process);

        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
    }

    @Test
    void aStartThatFailsWritesItsWholeError() throws Exception {
        try (ServerSocket taken = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            assertThat(taken.isBound()).isTrue();
            Process process = start(errorFile());

            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(4);
            assertThat(output.lines()).allSatisfy(line -> JsonMapper.shared().readTree(line));
            assertThat(output).doesNotContain("APPLICATION FAILED TO START");
            assertThat(output.lines().toList().getLast())
                    .contains("The start failed: ", "Port " + port + " was already in use. Identify and stop");
        }
    }
}
