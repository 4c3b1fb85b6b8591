package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command line in a separate process: its exit code, and the content of both output streams.
 * {@link CommandLineTest} has each command line, without a process.
 */
@Tag("full")
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
            CommandLine.run(arguments, (given, checked) -> System.out.println("runs"));
        }
    }

    record ProcessResult(int exitCode, String out, String err) {}

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

    private void write(String name, String text) throws IOException {
        Files.writeString(directory.resolve(name), text);
    }

    private ProcessResult run(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // The process only starts up, which the optimising compiler does not accelerate.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
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
