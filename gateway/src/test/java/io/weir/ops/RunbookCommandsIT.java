package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.json.JsonMapper;

/**
 * Each command of the runbooks and of the operators' page works with {@code config/production.yml} as copied.
 * Those that start a JVM run in the full tier.
 */
class RunbookCommandsIT {

    private static final Path OPS = Path.of("..", "ops");
    private static final Path PRODUCTION = Path.of("..", "config", "production.yml");
    private static final Pattern COMMANDS = Pattern.compile("```sh\\n(.*?)```", Pattern.DOTALL);
    private static final Map<String, String> TOKENS = Map.of(
            "WEIR_READ_ONLY_TOKEN", "read-only-0123456789",
            "WEIR_MANAGEMENT_TOKEN", "management-0123456789");
    private static final String HEALTH = "/actuator/health";
    /** For the commands that concern one of several instances. No call is sent there. */
    private static final String INSTANCE = "10.0.0.1:8080";

    private static final String REPLICATED = """
              faults: { enabled: true }
              backends:
                replicated: { instances: [ { uri: "http://10.0.0.1:8080" }, { uri: "http://10.0.0.2:8080" } ] }
            """;

    @TempDir
    private static Path directory;

    private static @Nullable TestGateway gateway;

    record Result(int exitCode, String out, String err) {}

    @BeforeAll
    static void start() throws IOException {
        // Placeholders are resolved from system properties, too.
        TOKENS.forEach(System::setProperty);
        Path file = directory.resolve("production.yml");
        // The drain is shorter, one more backend has several instances, and faults can be injected.
        Files.writeString(
                file,
                Files.readString(PRODUCTION)
                        .replaceFirst("  backends:\n", REPLICATED)
                        .replaceFirst("delay: 10s", "delay: 0s")
                        .replaceFirst("timeout: 20s", "timeout: 1s"));
        gateway = TestGateway.startWith(file);
    }

    @AfterAll
    static void stop() {
        if (gateway != null) {
            gateway.close();
        }
        TOKENS.keySet().forEach(System::clearProperty);
    }

    @ParameterizedTest
    @MethodSource("commands")
    void succeeds(String command) throws Exception {
        Result result = run(command, TOKENS);

        assertThat(result.exitCode()).as("%s", result).isZero();
        assertThat(result.out()).isNotBlank();
        if (command.contains("/actuator/")) {
            assertThat(JsonMapper.shared().readTree(result.out()).isObject())
                    .as("%s", result)
                    .isTrue();
        }
    }

    /** So the commands above succeed by their tokens. */
    @Test
    void failsWithoutItsToken() throws Exception {
        List<String> guarded = commands()
                .filter(command -> command.contains("/actuator/") && !command.contains(HEALTH))
                .toList();

        assertThat(guarded).hasSizeGreaterThan(5);
        for (String name : TOKENS.keySet()) {
            String command = guarded.stream()
                    .filter(one -> one.contains(name))
                    .findFirst()
                    .orElseThrow();
            assertThat(run(command, Map.of(name, "another-0123456789")).err()).contains("401");
        }
    }

    /** Each command once, even if several pages have it. */
    static Stream<String> commands() throws IOException {
        try (Stream<Path> runbooks = Files.list(OPS.resolve("runbooks"))) {
            List<String> commands = runbooks.sorted()
                    .flatMap(page -> blocks(page).stream())
                    .distinct()
                    .toList();
            List<String> operating = blocks(OPS.resolve("README.md")).stream()
                    .filter(block -> block.contains("curl") && block.contains("$GATEWAY"))
                    .flatMap(block -> Stream.of(block.split("\\n(?! )")))
                    .toList();
            return Stream.concat(commands.stream(), operating.stream())
                    .distinct()
                    .filter(command -> Tier.isFull() || !command.contains("$JAVA"));
        }
    }

    private static List<String> blocks(Path page) {
        try {
            return COMMANDS.matcher(Files.readString(page))
                    .results()
                    .map(block -> block.group(1).strip())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Result run(String command, Map<String, String> tokens) throws IOException, InterruptedException {
        TestGateway running = gateway;
        assertThat(running).isNotNull();
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder("bash", "-euo", "pipefail", "-c", command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        // The commands that start Java only start up, which an optimising compiler does not accelerate.
        builder.environment().put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        builder.environment().putAll(tokens);
        builder.environment()
                .putAll(Map.of(
                        "GATEWAY",
                        "http://127.0.0.1:" + running.managementPort(),
                        "EDGE",
                        "http://127.0.0.1:" + running.port(),
                        "BACKEND",
                        command.contains("$INSTANCE") ? "replicated" : "orders",
                        "INSTANCE",
                        INSTANCE,
                        "JAVA",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "WEIR_JAR",
                        Path.of("target", "weir-gateway.jar").toString(),
                        "CONFIG",
                        PRODUCTION.toString()));
        Process process = builder.start();
        try {
            return new Result(process.waitFor(), Files.readString(out), Files.readString(err));
        } finally {
            process.destroyForcibly();
        }
    }
}
