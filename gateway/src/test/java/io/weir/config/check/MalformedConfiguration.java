package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * A malformed configuration.
 *
 * @param name the mistake
 * @param yaml the content of the file {@code gateway.yml}
 * @param problems all lines of the report that state a problem, in their order
 */
record MalformedConfiguration(String name, String yaml, List<String> problems) {

    /** The file's name in the report. */
    static final String FILE = "gateway.yml";

    /** Arguments for a valid management port. */
    static final String[] MANAGEMENT = {"--management.server.port=9090", "--management.server.address=127.0.0.1"};

    /** Asserts that the check reports exactly these problems. */
    void assertReported(Path directory) throws IOException {
        ValidationReport report = check(write(directory));

        assertThat(relative(report + "\n", directory)).isEqualTo(report());
    }

    /** Asserts that {@code --validate} and a start print exactly these problems, and end. */
    void assertPrinted(Path directory) throws IOException {
        String file = write(directory).toString();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();

        assertThat(execute(out, err, "--validate", file)).isEqualTo(1);
        assertThat(relative(out.toString(StandardCharsets.UTF_8), directory)).isEqualTo(report());
        assertThat(err.size()).isZero();

        out.reset();
        assertThat(execute(out, err, file)).isEqualTo(1);
        assertThat(relative(err.toString(StandardCharsets.UTF_8), directory)).isEqualTo(report());
        assertThat(out.size()).isZero();
    }

    private Path write(Path directory) throws IOException {
        return Files.writeString(directory.resolve(FILE), yaml);
    }

    private String report() {
        return String.join("\n", problems) + '\n' + ValidationReport.count(problems.size(), "problem") + " in 1 file\n";
    }

    private static String relative(String report, Path directory) {
        return report.replace(directory + File.separator, "");
    }

    /** Checks the files together, with a valid management port. */
    static ValidationReport check(Path... files) {
        return ConfigurationCheck.resultOf(
                        commandLine(Arrays.stream(files).map(Path::toString).toArray(String[]::new))
                                .springArguments())
                .report();
    }

    private static int execute(ByteArrayOutputStream out, ByteArrayOutputStream err, String... arguments) {
        return commandLine(arguments).execute(print(out), print(err)).orElse(0);
    }

    private static CommandLine commandLine(String... arguments) {
        return new CommandLine(
                Stream.concat(Stream.of(arguments), Stream.of(MANAGEMENT)).toArray(String[]::new));
    }

    private static PrintStream print(ByteArrayOutputStream bytes) {
        return new PrintStream(bytes, true, StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return name;
    }
}
