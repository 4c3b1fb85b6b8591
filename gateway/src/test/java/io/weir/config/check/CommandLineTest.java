package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CommandLineTest {

    private static final String VALID = """
            weir.backends.orders.uri: http://orders:8080
            management.server: { port: 9090, address: 127.0.0.1 }
            spring.cloud.gateway.server.webflux.routes:
              - { id: a, uri: "backend://orders", predicates: ["Path=/a"] }
              - { id: b, uri: "backend://orders", predicates: ["Path=/b"] }
            """;

    @TempDir
    private Path directory;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void passesFilesInOrderAndPropertiesToSpringBoot() throws IOException {
        Path first = file("a.yml", VALID);
        Path second = file("b.yml", "weir.drain.delay: 1s");
        CommandLine line = new CommandLine("--server.port=0", first.toString(), "--debug", second.toString());

        assertThat(execute(line)).isEmpty();
        assertThat(line.springArguments())
                .containsExactly(
                        "--server.port=0",
                        "--debug",
                        "--spring.config.additional-location=file:" + first + ",file:" + second);
        assertThat(out.size() + err.size()).isZero();
    }

    @Test
    void startsWithoutFiles() {
        CommandLine line = new CommandLine(MalformedConfiguration.MANAGEMENT);

        assertThat(execute(line)).isEmpty();
        assertThat(line.springArguments()).containsExactly(MalformedConfiguration.MANAGEMENT);
    }

    @Test
    void doesNotStartWithAnInvalidFile() throws IOException {
        Path file = file("gateway.yml", VALID + "weir.drain.delay: 1h\n");

        assertThat(execute(new CommandLine(file.toString()))).hasValue(1);
        assertThat(text(err)).isEqualTo(file + ":6: weir.drain.delay: 1h (expected: 0 to 5m)\n1 problem in 1 file\n");
        assertThat(out.size()).isZero();
    }

    @Test
    void doesNotStartWithAMissingFile() {
        Path file = directory.resolve("gateway.yml");

        assertThat(execute(new CommandLine(file.toString()))).hasValue(1);
        assertThat(text(err)).isEqualTo(file + ": no such file\n1 problem in 1 file\n");
    }

    @ParameterizedTest
    @CsvSource({
        "gateway.txt, 'unsupported file type (expected: .yml, .yaml or .properties)'",
        "'a,b.yml', 'unsupported file name (expected: none of , ; * ? # % [ ])'"
    })
    void rejectsFilesThatSpringBootWouldNotRead(String name, String why) throws IOException {
        Path file = file(name, VALID);

        assertThat(execute(new CommandLine("--validate", file.toString()))).hasValue(1);
        assertThat(text(out)).isEqualTo(file + ": " + why + "\n1 problem in 1 file\n");
    }

    @Test
    void rejectsADirectory() {
        assertThat(execute(new CommandLine("--validate", directory.toString()))).hasValue(1);
        assertThat(text(out)).isEqualTo(directory + ": not a file\n1 problem in 1 file\n");
    }

    @Test
    void validatesEachFileSeparately() throws IOException {
        Path valid = file("sound.yml", VALID);
        Path faulty = file("faulty.yml", VALID.replace("backend://orders", "backend://order"));
        Path missing = directory.resolve("missing.yml");

        CommandLine line = new CommandLine(
                "--validate", valid.toString(), faulty.toString(), missing.toString(), valid.toString());

        assertThat(execute(line)).hasValue(1);
        assertThat(text(out).lines())
                .containsExactly(
                        valid + ": ok (1 backend, 2 routes)",
                        faulty + ":4: spring.cloud.gateway.server.webflux.routes[0].uri: backend://order "
                                + "(unknown backend; did you mean backend://orders?)",
                        faulty + ":5: spring.cloud.gateway.server.webflux.routes[1].uri: backend://order "
                                + "(unknown backend; did you mean backend://orders?)",
                        missing + ": no such file",
                        valid + ": ok (1 backend, 2 routes)",
                        "3 problems in 2 files");
        assertThat(err.size()).isZero();
    }

    @Test
    void acceptsValidFiles() throws IOException {
        assertThat(execute(
                        new CommandLine("--validate", file("sound.yml", VALID).toString())))
                .hasValue(0);
    }

    @Test
    void appliesCommandLinePropertiesWhenValidating() throws IOException {
        Path file = file("sound.yml", VALID);

        assertThat(execute(new CommandLine("--weir.drain.delay=1h", "--validate", file.toString())))
                .hasValue(1);
        assertThat(text(out)).isEqualTo("command line: weir.drain.delay: 1h (expected: 0 to 5m)\n1 problem\n");
    }

    @ParameterizedTest
    @CsvSource({
        "--valdate, --valdate: unknown option; did you mean --validate?",
        "--port=80, --port=80: unknown option",
        "-v, -v: unknown option",
        "--versoin, --versoin: unknown option; did you mean --version?",
        "--without-environment, --without-environment: without --validate "
                + "(expected: --validate --without-environment FILE...)",
        "--validate, --validate: no file (expected: --validate FILE...)",
        "--against, --against: no file (expected: one file)"
    })
    void printsUsageForInvalidArguments(String argument, String error) {
        assertThat(execute(new CommandLine(argument))).hasValue(2);
        assertThat(text(err)).startsWith(error + "\nUsage: ");
        assertThat(out.size()).isZero();
    }

    @Test
    void rejectsFilesGivenInTwoWays() {
        assertThat(execute(new CommandLine("gateway.yml", "--spring.config.additionalLocation=file:other.yml")))
                .hasValue(2);
        assertThat(text(err)).startsWith("spring.config.additional-location: also given as files");
    }

    @Test
    void printsUsageForHelp() {
        assertThat(execute(new CommandLine("--help"))).hasValue(0);
        assertThat(text(out))
                .startsWith("Usage: ")
                .contains("--validate [--without-environment] [--against OLD] FILE...");
    }

    @Test
    void warnsOfUnusedBackendsAndHiddenRoutesAndStillAccepts() throws IOException {
        Path file = file("gateway.yml", """
                weir.backends.orders.uri: http://orders:8080
                weir.backends.old.uri: http://old:8080
                weir.backends.spare.uri: http://spare:8080
                weir.routes.all.fallback.backend: spare
                management.server: { port: 9090, address: 127.0.0.1 }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: all, uri: "backend://orders", predicates: ["Path=/orders/**,/bills"] }
                  - { id: one, uri: "backend://orders", predicates: ["Path=/orders/1", "Method=GET"] }
                  - { id: two, uri: "backend://orders", predicates: ["Path=/orders/2,/parcels/2"] }
                  - { id: three, uri: "backend://orders", predicates: ["Host=shop.example", "Path=/**"] }
                  - { id: four, uri: "backend://orders", predicates: ["Path=/ordersheet"] }
                """);

        assertThat(execute(new CommandLine("--validate", file.toString()))).hasValue(0);
        assertThat(text(out).lines())
                .containsExactly(
                        "warning: " + file + ":2: weir.backends.old (no route uses this backend)",
                        "warning: " + file + ":8: spring.cloud.gateway.server.webflux.routes[1]: one "
                                + "(never reached: route all takes each of its requests)",
                        file + ": ok (3 backends, 5 routes)");
    }

    @Test
    void onlyWarnsOfMissingVariablesWithoutTheEnvironment() throws IOException {
        Path file = file("gateway.yml", VALID.replace("127.0.0.1", "0.0.0.0") + """
                weir.management.token: "${TOKEN_THAT_IS_NOT_SET}"
                """);

        assertThat(execute(new CommandLine("--validate", file.toString()))).hasValue(1);
        out.reset();
        assertThat(execute(new CommandLine("--validate", "--without-environment", file.toString())))
                .hasValue(0);
        assertThat(text(out))
                .isEqualTo("warning: " + file + ":6: weir.management.token: ****** "
                        + "(the placeholder TOKEN_THAT_IS_NOT_SET has no value)\n"
                        + file + ": ok (1 backend, 2 routes)\n");
    }

    @Test
    void findsOtherProblemsWithoutTheEnvironment() throws IOException {
        Path file = file("gateway.yml", VALID + "weir.drain.delay: ${DELAY_THAT_IS_NOT_SET}\nserver.port: 70000\n");

        assertThat(execute(new CommandLine("--validate", "--without-environment", file.toString())))
                .hasValue(1);
        assertThat(text(out)).contains(file + ":7: server.port: 70000 (expected: a port, 0 to 65535)\n1 problem in 1");
    }

    @Test
    void printsWhatAReloadWouldChange() throws IOException {
        Path old = file("old.yml", VALID + "weir.drain.delay: 1s\nweir.management.token: ${OLD:0123456789abcdef0}\n");
        Path file = file(
                "gateway.yml",
                VALID + "# moved\nweir.management.token: ${OLD:0123456789abcdef0}\nweir.drain.delay: 1s\n"
                        + "weir.backends.orders.deadline: 700ms\n");

        assertThat(run("--validate", "--against", old.toString(), file.toString()))
                .containsExactly("exit 0");
        assertThat(text(out))
                .isEqualTo(file + ": ok (1 backend, 2 routes)\n  changes against " + old + ":\n"
                        + "  weir.backends.orders.deadline: (default) -> 700ms\n");
        out.reset();
        assertThat(run("--validate", old.toString(), "--against", old.toString()))
                .containsExactly("exit 0");
        assertThat(text(out)).isEqualTo(old + ": ok (1 backend, 2 routes)\n  nothing changes against " + old + '\n');
    }

    @Test
    void printsWhatAReloadWouldRefuseWithoutItsSecrets() throws IOException {
        Path old = file("old.yml", VALID + "weir.management.token: 0123456789abcdef0\n");
        Path file = file(
                "gateway.yml",
                VALID + "weir.management.token: fedcba98765432100\nserver.port: 8888\nweir.drain.delay: 1s\n");

        assertThat(run("--validate", "--against", old.toString(), file.toString()))
                .containsExactly("exit 6");
        assertThat(text(out))
                .isEqualTo(file + ": ok (1 backend, 2 routes)\n  changes against " + old + ":\n"
                        + "  server.port: 8080 -> 8888\n"
                        + "  weir.drain.delay: (default) -> 1s\n"
                        + "  weir.management.token: ****** -> ******\n"
                        + file + ":7: server.port: 8888 (a change needs a restart; expected until then: 8080)\n"
                        + file + ":8: weir.drain.delay: 1s (a change needs a restart; expected until then: not set)\n"
                        + file + ":6: weir.management.token: ****** "
                        + "(a change needs a restart; expected until then: ******)\n"
                        + file + ": a reload would refuse this file, since 3 changes need a restart\n");
    }

    @Test
    void comparesWithNoInvalidFileAndComparesNoInvalidOne() throws IOException {
        Path sound = file("sound.yml", VALID);
        Path faulty = file("faulty.yml", VALID + "weir.drain.delay: 1h\n");
        Path missing = sound.resolveSibling("missing.yml");

        assertThat(run("--validate", "--against", faulty.toString(), sound.toString()))
                .containsExactly("exit 1");
        assertThat(text(out)).endsWith("1 problem in 1 file (expected after --against: a valid file)\n");
        out.reset();
        assertThat(run("--validate", "--against", missing.toString(), sound.toString()))
                .containsExactly("exit 1");
        assertThat(text(out)).startsWith(missing + ": no such file");
        out.reset();
        assertThat(run("--validate", "--against", sound.toString(), faulty.toString()))
                .containsExactly("exit 1");
        assertThat(text(out)).doesNotContain("changes");
        assertThat(run("--against", sound.toString(), sound.toString())).containsExactly("exit 2");
        assertThat(run("--validate", "--against", "a.yml", "--against", "b.yml", "c.yml"))
                .containsExactly("exit 2");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n  \n"})
    void refusesAnEmptyFileAsAReloadDoes(String text) throws IOException {
        Path file = file("gateway.yml", text);

        assertThat(execute(new CommandLine(file.toString()))).hasValue(1);
        assertThat(text(err)).isEqualTo(file + ": empty\n1 problem in 1 file\n");
        assertThat(execute(new CommandLine("--validate", file.toString()))).hasValue(1);
    }

    @Test
    void helpNamesEachExitCode() {
        assertThat(execute(new CommandLine("-h"))).hasValue(0);
        assertThat(text(out).substring(text(out).indexOf("Exit codes:")))
                .contains(" 0 ", " 1 ", " 2 ", " 3 ", " 4 ", " 5 ", " 6 ", " 130 ", "SIGTERM");
    }

    @Test
    void printsTheVersion() {
        assertThat(execute(new CommandLine("--version"))).hasValue(0);
        assertThat(text(out)).isEqualTo("weir-gateway " + BuildVersion.current() + "\n");
        assertThat(err.size()).isZero();
    }

    @Test
    void startsTheGatewayWithAValidFile() throws IOException {
        Path file = file("gateway.yml", VALID);

        assertThat(run(file.toString(), "--server.port=0"))
                .containsExactly(
                        "gateway with [--server.port=0, --spring.config.additional-location=file:" + file + "]");
        assertThat(out.size() + err.size()).isZero();
    }

    @Test
    void endsTheProcessWithTheExitCodeAndStartsNoGateway() throws IOException {
        String valid = file("sound.yml", VALID).toString();
        String faulty = file("faulty.yml", VALID + "weir.drain.delay: 1h\n").toString();

        assertThat(run("--validate", valid)).containsExactly("exit 0");
        assertThat(run("--validate", faulty, valid)).containsExactly("exit 1");
        assertThat(run(faulty)).containsExactly("exit 1");
        assertThat(run("--valdate", valid)).containsExactly("exit 2");
    }

    /** What the command line does beside its output: it starts the gateway, or it ends the process. */
    private List<String> run(String... arguments) {
        List<String> done = new ArrayList<>();
        CommandLine.run(
                arguments,
                stream(out),
                stream(err),
                (given, checked) -> done.add("gateway with " + List.of(given)),
                exitCode -> done.add("exit " + exitCode));
        return done;
    }

    private OptionalInt execute(CommandLine line) {
        return line.execute(stream(out), stream(err));
    }

    private static PrintStream stream(ByteArrayOutputStream bytes) {
        return new PrintStream(bytes, true, StandardCharsets.UTF_8);
    }

    private Path file(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    private static String text(ByteArrayOutputStream bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
