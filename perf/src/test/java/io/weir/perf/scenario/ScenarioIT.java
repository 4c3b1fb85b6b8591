package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.ResourceLeakDetector;
import io.weir.perf.run.Host;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * All promises hold on the built jar; without a protection, those that it keeps are broken. The longer
 * runs without a protection are in {@link FullScenarioIT}. The scenarios wait for most of their time, so
 * two run at once, by a lock for each kind: a busy one beside a calm one. Three would need more processors
 * than a scenario may ask for.
 */
@Tag("full")
class ScenarioIT {

    /** {@code ChaosIT} and {@code ContainmentIT} have the same locks. */
    private static final String BUSY = "a busy scenario";

    private static final String CALM = "a calm scenario";
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** The built gateway. */
    static final Path BUILT = ROOT.resolve("gateway/target/weir-gateway.jar");

    private static final String CONFIGURATION = ROOT.resolve("config/local.yml").toString();

    /** The built gateway, extracted, with an AOT cache. */
    @TempDir
    private static Path directory;

    private static Path jar = BUILT;

    @BeforeAll
    static void prepare() throws Exception {
        // No test asserts that the load generator loses no buffer, and recording its buffers' use takes time.
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.SIMPLE);
        Path extracted = directory.resolve("gateway");
        run("-Djarmode=tools", "-jar", BUILT.toString(), "extract", "--destination", extracted.toString());
        jar = extracted.resolve("weir-gateway.jar");
        List<String> training = new ArrayList<>(Scenario.SHORT_LIVED);
        training.addAll(List.of(
                "-XX:AOTCacheOutput=" + extracted.resolve(Scenario.CACHE),
                "-Dspring.context.exit=onRefresh",
                "-jar",
                jar.toString(),
                CONFIGURATION,
                "--server.port=0",
                "--management.server.port=0"));
        run(training.toArray(String[]::new));
        assertThat(extracted.resolve(Scenario.CACHE)).exists();
    }

    private static void run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(Host.java()));
        command.addAll(List.of(arguments));
        Path log = directory.resolve("log");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertThat(process.waitFor()).as(() -> command + ": " + read(log)).isZero();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Without the bulkhead, another protection may keep the capacity's promises. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', emptyValue = "", textBlock = """
                    ''       | '' | ''
                    bulkhead | a full bulkhead opens no breaker | \
                        overload: answered 200 within 1 s, of the backend's capacity; after it: answered 200
                    """)
    @Execution(ExecutionMode.CONCURRENT)
    @ResourceLock(BUSY)
    void overloadBreaksPromisesOnlyWithoutProtection(String without, String broken, String perhaps) throws Exception {
        assertBroken(jar, "overload", without, broken, perhaps);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @ResourceLock(CALM)
    void faultsBreakNoPromise() throws Exception {
        assertBroken(jar, "faults", "", "", "");
    }

    /** Without its protections, a hang breaks the promises of {@code ContainmentIT} and {@code ChaosIT}. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @ResourceLock(CALM)
    void hangBreaksNoPromise() throws Exception {
        assertBroken(jar, "hang", "", "", "");
    }

    /**
     * Without ejection, an instance that the load balancing has found slow may get so few calls that its
     * failures break no promise.
     */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', emptyValue = "", textBlock = """
                    ''       | '' | ''
                    ejection | one of three answers 500: answered in time; \
                        one of three answers 500: ejections, openings of the backend; \
                        one refuses connections: ejections, openings of the backend; \
                        all three hang: refused at once | \
                        one refuses connections: answered in time; \
                        one of two answers 500, 20/s: ejections, openings of the backend; \
                        one of two answers 500, 20/s: callers without an answer in time
                    """)
    @Execution(ExecutionMode.CONCURRENT)
    @ResourceLock(CALM)
    void instancesBreakPromisesOnlyWithoutProtection(String without, String broken, String perhaps) throws Exception {
        assertBroken(jar, "instances", without, broken, perhaps);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @ResourceLock(CALM)
    void refusesNoHealthyWork() throws Exception {
        assertBroken(jar, "refusals", "", "", "");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @ResourceLock(BUSY)
    void callersDoNotReachOthers() throws Exception {
        assertBroken(jar, "callers", "", "", "");
    }

    /**
     * Asserts which promises are broken.
     *
     * @param without the disabled protections
     * @param perhaps promises that may be broken
     */
    static void assertBroken(Path gateway, String name, String without, String broken, String perhaps)
            throws Exception {
        List<String> arguments = new ArrayList<>(List.of(name, gateway.toString(), CONFIGURATION, "--quick"));
        words(without, " ").forEach(protection -> arguments.addAll(List.of("--without", protection)));

        ByteArrayOutputStream table = new ByteArrayOutputStream();
        int exitCode =
                Scenario.run(new PrintStream(table, true, StandardCharsets.UTF_8), arguments.toArray(String[]::new));

        String text = table.toString(StandardCharsets.UTF_8);
        System.out.print(text);
        List<String> brokenPromises = new ArrayList<>(promises(text, "NO"));
        assertThat(promises(text, "yes").size() + brokenPromises.size())
                .as("promises")
                .isPositive();
        brokenPromises.removeAll(words(perhaps, ";"));
        assertThat(brokenPromises).as("broken promises").containsExactlyInAnyOrderElementsOf(words(broken, ";"));
        assertThat(exitCode).isEqualTo(without.isEmpty() ? 0 : 1);
    }

    private static List<String> words(String text, String separator) {
        return text.isEmpty() ? List.of() : List.of(text.split(separator + "\\s*", -1));
    }

    /** The promises whose lines end with the text. */
    private static List<String> promises(String table, String holds) {
        return table.lines()
                .filter(line -> line.endsWith(" " + holds))
                .map(line -> line.substring(0, 70).strip())
                .toList();
    }
}
