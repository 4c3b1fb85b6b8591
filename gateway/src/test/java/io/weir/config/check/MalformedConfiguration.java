package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A row in a table of malformed configurations.
 *
 * @param name the mistake
 * @param yaml the content of the file
 * @param problems all expected problems
 */
record MalformedConfiguration(String name, String yaml, List<Expected> problems) {

    /**
     * An expected problem.
     *
     * @param why the cause; {@code %s} is replaced by the file
     * @param nearest the suggested name; null if there is none
     */
    record Expected(
            int line,
            String path,
            @Nullable String value,
            String why,
            @Nullable String nearest) {

        Expected in(Path file) {
            return new Expected(line, path, value, why.replace("%s", file.toString()), nearest);
        }
    }

    /** Arguments for a valid management port. */
    static final String[] MANAGEMENT = {"--management.server.port=9090", "--management.server.address=127.0.0.1"};

    private static final String FILE = "gateway.yml";

    static MalformedConfiguration row(String name, String yaml, Expected... problems) {
        return new MalformedConfiguration(name, yaml, List.of(problems));
    }

    /** A row with a backend {@code orders} and more of its properties, which are in the lines from 5 on. */
    static MalformedConfiguration backendRow(String name, String properties, Expected... problems) {
        return row(name, """
                weir:
                  backends:
                    orders:
                      uri: http://orders:8080
                """ + properties.indent(6), problems);
    }

    /** A row with a route {@code orders}, whose properties are in line 8, and backends orders and users. */
    static MalformedConfiguration routePropertiesRow(String name, String properties, Expected... problems) {
        return row(name, """
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                weir:
                  backends:
                    orders: { uri: "http://orders:8080" }
                    users: { uri: "http://users:8080" }
                  routes:
                    orders: { %s }
                """.formatted(properties), problems);
    }

    /** A problem of the first property of a {@link #backendRow}. */
    static Expected inBackend(String property, @Nullable String value, String why, String... nearest) {
        return inBackend(5, property, value, why, nearest);
    }

    /** A problem of one of the properties of a {@link #backendRow}. */
    static Expected inBackend(int line, String property, @Nullable String value, String why, String... nearest) {
        String path = "weir.backends.orders." + property;
        return new Expected(line, path, value, why, nearest.length == 0 ? null : nearest[0]);
    }

    /** A problem of the properties of a {@link #routePropertiesRow}. */
    static Expected inRouteProperties(String property, @Nullable String value, String why, String... nearest) {
        return new Expected(8, "weir.routes.orders." + property, value, why, nearest.length == 0 ? null : nearest[0]);
    }

    static Expected problem(int line, String path, @Nullable String value, String why) {
        return new Expected(line, path, value, why, null);
    }

    static Expected problem(int line, String path, @Nullable String value, String why, String nearest) {
        return new Expected(line, path, value, why, nearest);
    }

    /** Asserts that the check, {@code --validate} and a start report exactly these problems. */
    void assertReported(Path directory) throws IOException {
        Path file = Files.writeString(directory.resolve(FILE), yaml);
        ValidationReport report = check(file);

        assertThat(report.problems())
                .allSatisfy(problem -> assertThat(problem.location().source()).isEqualTo(file.toString()));
        assertThat(report.problems().stream()
                        .map(found -> new Expected(
                                found.location().line(), found.path(), found.value(), found.why(), found.nearest()))
                        .toList())
                .containsExactlyInAnyOrderElementsOf(
                        problems.stream().map(expected -> expected.in(file)).toList());

        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        assertThat(execute(out, err, "--validate", file.toString())).isEqualTo(1);
        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo(report + System.lineSeparator());
        assertThat(err.size()).isZero();

        out.reset();
        assertThat(execute(out, err, file.toString())).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8)).isEqualTo(report + System.lineSeparator());
        assertThat(out.size()).isZero();
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
