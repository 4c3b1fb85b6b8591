package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationReader;
import io.weir.management.OperatorChangeStore;
import io.weir.management.RecentEvents;
import io.weir.metrics.MeterBook;
import io.weir.metrics.ReloadMeters;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.VirtualTimer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;
import org.springframework.cloud.gateway.config.GatewayProperties;
import tools.jackson.databind.json.JsonMapper;

/** {@code weir rollback} with the configurations that a live configuration has kept. */
class RollbackTest {

    private static String yaml(int calls) {
        return """
                # %d calls
                weir:
                  backends:
                    orders: { uri: "http://localhost:1", bulkhead: { max-concurrent-calls: %d } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                """.formatted(calls, calls);
    }

    private record Result(int exitCode, String out) {}

    @TempDir
    private Path directory;

    private Path file;
    private Path optional;
    private Path history;
    private LiveConfiguration configuration;
    private HttpServer management;
    private final VirtualTimer timer = new VirtualTimer();

    @BeforeEach
    void start() throws IOException {
        Files.createDirectories(directory.resolve("bin"));
        Files.createDirectories(directory.resolve("lib"));
        Files.copy(Path.of("..", "ops", "release", "weir"), directory.resolve("bin/weir"));
        Files.copy(Path.of("..", "ops", "jdks.sh"), directory.resolve("lib/jdks.sh"));
        file = Files.writeString(directory.resolve("weir.yml"), yaml(4));
        optional = directory.resolve("more.yml");
        history = directory.resolve("state/configurations");
        ConfigurationReader reader = new ConfigurationReader(
                new StandardReactiveWebEnvironment(),
                "--spring.config.additional-location=file:" + file + ",optional:file:" + optional);
        ConfigurationTarget target = new ConfigurationTarget() {

            @Override
            public Preparation prepare(WeirProperties weir) {
                return () -> {};
            }

            @Override
            public void apply(WeirProperties weir, GatewayProperties gateway) {
                // The tests read the live configuration.
            }

            @Override
            public void showOperatorsLimits(Set<String> backends) {
                // Nothing shows them.
            }
        };
        configuration = new LiveConfiguration(
                reader.get(),
                reader,
                target,
                () -> false,
                new OperatorChangeStore(timer, timer::nanos, timer::instant),
                timer::instant,
                new ReloadMeters(new MeterBook(new SimpleMeterRegistry()), Instant.EPOCH),
                new RecentEvents(timer::instant),
                KeptConfigurations.in(history));
        configuration.keepFilesOfStart();
        management = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        management.createContext("/actuator/weirreload", exchange -> {
            // A complete load finds Spring Boot's classes by it.
            Thread.currentThread().setContextClassLoader(RollbackTest.class.getClassLoader());
            ConfigurationChange change = configuration.reload(Trigger.REQUEST, "weir rollback");
            byte[] body = JsonMapper.shared().writeValueAsBytes(Map.of("problems", change.problems()));
            exchange.sendResponseHeaders(change.isApplied() ? 200 : 400, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        management.start();
    }

    @AfterEach
    void stop() {
        management.stop(0);
    }

    private void write(int calls) throws IOException {
        Files.writeString(file, yaml(calls));
        assertThat(configuration.reload(Trigger.WATCH, "file watch").problems()).isEmpty();
    }

    private int limit() {
        return configuration
                .inForce()
                .weir()
                .backends()
                .values()
                .iterator()
                .next()
                .bulkhead()
                .maxConcurrentCalls()
                .orElse(0);
    }

    private Result weir(String... arguments) throws Exception {
        List<String> command =
                new ArrayList<>(List.of("bash", directory.resolve("bin/weir").toString()));
        command.addAll(List.of(arguments));
        Path out = directory.resolve("out");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment()
                .putAll(Map.of(
                        "WEIR_RELOAD_HISTORY",
                        history.toString(),
                        "WEIR_MANAGEMENT_URL",
                        "http://127.0.0.1:" + management.getAddress().getPort()));
        Process process = builder.start();
        try {
            return new Result(process.waitFor(), Files.readString(out));
        } finally {
            process.destroyForcibly();
        }
    }

    private List<String> entries() throws IOException {
        try (Stream<Path> all = Files.list(history)) {
            return all.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void putsTheConfigurationInForceBackIfTheFileIsBroken() throws Exception {
        write(5);
        Files.writeString(file, yaml(5).replace("uri:", "ury:"));
        assertThat(configuration.reload(Trigger.WATCH, "file watch").problems()).isNotEmpty();

        Result result = weir("rollback");

        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(result.out())
                .contains("-    orders: { ury:")
                .contains("+    orders: { uri:")
                .endsWith("""
                weir: put back the files of %s
                weir: reloaded
                """.formatted(configuration.state().hash()));
        assertThat(file).hasContent(yaml(5));
        assertThat(directory.resolve("weir.yml.rolled-back")).content().contains("ury:");
        assertThat(configuration.history().lastRejected()).isNull();
        // The next comparison of the watch finds what is in force.
        assertThat(configuration.rereadUnchanged()).isNotNull();
        assertThat(configuration.reload(Trigger.WATCH, "file watch").differences())
                .isEmpty();
        assertThat(limit()).isEqualTo(5);
    }

    @Test
    void putsThePreviousConfigurationBackAndASecondRollbackTheLaterOne() throws Exception {
        write(5);

        Result result = weir("rollback");

        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(result.out()).contains("max-concurrent-calls: 5").contains("max-concurrent-calls: 4");
        assertThat(limit()).isEqualTo(4);
        assertThat(file).hasContent(yaml(4));

        assertThat(weir("rollback").exitCode()).isZero();
        assertThat(limit()).isEqualTo(5);
    }

    @Test
    void takesARollbackFromABrokenFileBackAndLosesNoEdit() throws Exception {
        write(5);
        String broken = yaml(5).replace("uri:", "ury:");
        Files.writeString(file, broken);
        assertThat(weir("rollback").exitCode()).isZero();

        Result second = weir("rollback");

        assertThat(second.exitCode()).as(second.out()).isEqualTo(1);
        assertThat(second.out()).contains("put back the files that the last rollback replaced", "orders.ury: http");
        assertThat(file).hasContent(broken);
        assertThat(directory.resolve("weir.yml.rolled-back")).hasContent(yaml(5));
        assertThat(limit()).isEqualTo(5);

        assertThat(weir("rollback").exitCode()).isZero();
        assertThat(file).hasContent(yaml(5));
        assertThat(directory.resolve("weir.yml.rolled-back")).hasContent(broken);
        Files.writeString(file, yaml(6));
        assertThat(weir("rollback").exitCode()).isZero();
        assertThat(file).hasContent(yaml(5));
    }

    @Test
    void putsTheConfigurationWithAHashBack() throws Exception {
        String first = configuration.state().hash();
        write(5);
        write(6);

        Result list = weir("rollback", "--list");
        assertThat(list.exitCode()).isZero();
        assertThat(list.out().lines()).hasSize(3);
        assertThat(list.out().lines().toList().getFirst()).startsWith(first + "  ");
        assertThat(list.out().lines().toList().getLast()).endsWith("  the present files");
        Result result = weir("rollback", first.substring(0, 8));

        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(limit()).isEqualTo(4);
        assertThat(weir("rollback", "fffffffffff").exitCode()).isEqualTo(5);
        assertThat(weir("rollback", "five").exitCode()).isEqualTo(2);
        assertThat(weir("rollback", first, first).exitCode()).isEqualTo(2);
    }

    @Test
    void movesAFileAsideThatDidNotExist() throws Exception {
        Files.writeString(optional, "weir.backends.orders.deadline: 3s\n");
        assertThat(configuration.reload(Trigger.WATCH, "file watch").differences())
                .hasSize(1);

        Result result = weir("rollback");

        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(result.out()).contains("gone: ");
        assertThat(optional).doesNotExist();
        assertThat(weir("rollback").exitCode()).isZero();
        assertThat(optional).content().contains("deadline: 3s");
    }

    @Test
    void leavesADirectoryThatDidNotExist() throws Exception {
        Path kept = history.resolve(entries().getFirst()).resolve("files");
        assertThat(Files.readString(kept)).doesNotContainPattern("(?m)/config$");
        write(5);
        Files.createDirectory(optional);

        assertThat(weir("rollback").exitCode()).isZero();

        assertThat(optional).isDirectory();
        assertThat(limit()).isEqualTo(4);
    }

    @Test
    void keepsTheModeOfAFileAndReplacesTheTargetOfALink() throws Exception {
        Path target = directory.resolve("target.yml");
        Files.move(file, target);
        Files.createSymbolicLink(file, target);
        Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-r-----"));
        write(5);

        assertThat(weir("rollback").exitCode()).isZero();

        assertThat(file).isSymbolicLink();
        assertThat(target).hasContent(yaml(4));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(target)))
                .isEqualTo("rw-r-----");
    }

    @Test
    void saysThatTheGatewayDoesNotAnswerOrRefuses() throws Exception {
        write(5);
        management.stop(0);

        Result result = weir("rollback");

        assertThat(result.exitCode()).isEqualTo(5);
        assertThat(result.out()).contains("weir: put back the files of").contains("does not answer");
        assertThat(file).hasContent(yaml(4));
    }

    @Test
    void saysThatNothingIsKept() throws Exception {
        assertThat(weir("rollback").out()).contains("has no configuration that differs from the present files");
        history = directory.resolve("elsewhere");

        Result result = weir("rollback");

        assertThat(result.exitCode()).isEqualTo(5);
        assertThat(result.out()).contains("rollback: " + history + ": cannot be read");
    }

    @Test
    void keepsOnlyAnotherConfigurationThatWasInForce() throws Exception {
        String first = configuration.state().hash();
        assertThat(configuration.reload(Trigger.REQUEST, "a test").problems()).isEmpty();
        configuration.change("orders", Map.of("max-concurrent-calls", "20"), "alice", null);
        Files.writeString(file, "weir: [");
        configuration.reload(Trigger.WATCH, "file watch");
        configuration.keepFilesOfStart();

        assertThat(entries()).containsExactly("000001-" + first);
        Path kept = history.resolve("000001-" + first);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(kept)))
                .isEqualTo("rwx------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(kept.resolve("files"))))
                .isEqualTo("rw-------");
        assertThat(Files.readString(kept.resolve("files"), StandardCharsets.UTF_8))
                .contains("- " + optional + "\n")
                .containsPattern("(?m)^[0-9]+ " + file + "$");
    }

    @Test
    void keepsTheLastTen() throws Exception {
        for (int calls = 5; calls < 17; calls++) {
            write(calls);
        }

        assertThat(entries()).hasSize(10);
        assertThat(entries().getFirst()).startsWith("000004-");
        assertThat(entries().getLast())
                .isEqualTo("000013-" + configuration.state().hash());
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void appliesAConfigurationThatCannotBeKept(CapturedOutput output) throws Exception {
        try (Stream<Path> all = Files.walk(directory.resolve("state"))) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
        Files.writeString(directory.resolve("state"), "a file in place of the directory");

        write(5);

        assertThat(limit()).isEqualTo(5);
        assertThat(output.getAll()).contains("could not be kept for a rollback in " + history);
    }
}
