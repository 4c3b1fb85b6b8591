package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command line in a separate process: exit codes, and the content of both output streams.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class CommandLineIT {

    private static final String VALID = """
            management.server: { port: 9090, address: 127.0.0.1 }
            weir.backends.orders.uri: http://orders:8080
            spring.cloud.gateway.server.webflux.routes:
              - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"], filters: [StripPrefix=1] }
            """;

    @TempDir
    private Path directory;

    /** A main class in place of the gateway's. */
    static final class Main {

        public static void main(String[] arguments) {
            CommandLine.run(arguments, (given, checked) -> System.out.println("runs with " + List.of(given)));
        }
    }

    record ProcessResult(int exitCode, String out, String err) {}

    @Test
    void exitsWithZeroIfAllFilesAreValid() throws Exception {
        write("sound.yml", VALID);

        assertThat(run("--validate", "sound.yml", "sound.yml"))
                .isEqualTo(new ProcessResult(
                        0, "sound.yml: ok (1 backend, 1 route)\nsound.yml: ok (1 backend, 1 route)\n", ""));
    }

    @Test
    void exitsWithOneAndPrintsEveryProblem() throws Exception {
        write("sound.yml", VALID);
        write("faulty.yml", VALID.replace("StripPrefix=1", "StripPrefx=1") + "weir.drain.delay: 1h\n");

        assertThat(run("--validate", "faulty.yml", "sound.yml")).isEqualTo(new ProcessResult(1, """
                        faulty.yml:4: spring.cloud.gateway.server.webflux.routes[0].filters[0]: StripPrefx=1 \
                        (unknown filter; did you mean StripPrefix?)
                        faulty.yml:5: weir.drain.delay: 1h (expected: 0 to 5m)
                        sound.yml: ok (1 backend, 1 route)
                        2 problems in 1 file
                        """, ""));
    }

    @Test
    void doesNotStartWithAnInvalidFile() throws Exception {
        write("gateway.yml", "weir.drain.delay: 1h\n" + VALID);

        assertThat(run("gateway.yml"))
                .isEqualTo(new ProcessResult(
                        1, "", "gateway.yml:1: weir.drain.delay: 1h (expected: 0 to 5m)\n1 problem in 1 file\n"));
    }

    @Test
    void startsWithAValidFile() throws Exception {
        write("gateway.yml", VALID);

        assertThat(run("gateway.yml", "--server.port=0"))
                .isEqualTo(new ProcessResult(
                        0, "runs with [--server.port=0, --spring.config.additional-location=file:gateway.yml]\n", ""));
    }

    @Test
    void exitsWithTwoIfTheCommandLineIsInvalid() throws Exception {
        ProcessResult ended = run("--valdate", "gateway.yml");

        assertThat(ended.exitCode()).isEqualTo(2);
        assertThat(ended.err()).startsWith("--valdate: unknown option; did you mean --validate?\n");
    }

    private void write(String name, String text) throws IOException {
        Files.writeString(directory.resolve(name), text);
    }

    private ProcessResult run(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // The process only starts up, which the optimising compiler does not accelerate.
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(List.of(arguments));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        Process process = builder.start();
        try {
            return new ProcessResult(process.waitFor(), Files.readString(out), Files.readString(err));
        } finally {
            process.destroyForcibly();
        }
    }
}
