package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** All promises hold on the built jar; without a protection, those that it keeps are broken. */
@Timeout(300)
class ScenarioIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /**
     * A scenario, with a disabled protection or none.
     *
     * @param broken the promises that are broken
     * @param perhaps promises that may be broken: another protection may keep them
     */
    @ParameterizedTest(name = "{0} {1}")
    @CsvSource(delimiter = '|', emptyValue = "", textBlock = """
                    hang     | '' | '' | ''
                    hang     | circuit-breaker | requests during the hang that wait for the whole deadline | ''
                    overload | '' | '' | ''
                    overload | bulkhead | a full bulkhead opens no breaker | \
                        overload: answered 200 within 1 s, of the backend's capacity; after it: answered 200
                    faults   | '' | '' | ''
                    faults   | deadline | \
                        a byte a second; hang; caller that uploads at a crawl; caller that reads nothing | ''
                    """)
    void breaksPromisesOnlyWithoutProtection(String name, String without, String broken, String perhaps)
            throws Exception {
        List<String> arguments = new ArrayList<>(List.of(
                name,
                ROOT.resolve("gateway/target/weir-gateway.jar").toString(),
                ROOT.resolve("config/local.yml").toString(),
                "--quick"));
        if (!without.isEmpty()) {
            arguments.addAll(List.of("--without", without));
        }

        ByteArrayOutputStream table = new ByteArrayOutputStream();
        int exitCode =
                Scenario.run(new PrintStream(table, true, StandardCharsets.UTF_8), arguments.toArray(String[]::new));

        String text = table.toString(StandardCharsets.UTF_8);
        System.out.print(text);
        List<String> brokenPromises = new ArrayList<>(promises(text, "NO"));
        brokenPromises.removeAll(words(perhaps));
        assertThat(promises(text, "yes")).isNotEmpty();
        assertThat(brokenPromises).as("broken promises").containsExactlyInAnyOrderElementsOf(words(broken));
        assertThat(exitCode).isEqualTo(without.isEmpty() ? 0 : 1);
    }

    private static List<String> words(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split("; ", -1));
    }

    /** The promises whose lines end with the text. */
    private static List<String> promises(String table, String holds) {
        return table.lines()
                .filter(line -> line.endsWith(" " + holds))
                .map(line -> line.substring(0, 70).strip())
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"hung", "hang --without sense", "hang --loud"})
    void refusesInvalidArguments(String line) throws Exception {
        List<String> words = new ArrayList<>(List.of(line.split(" ", -1)));
        words.add(1, "gateway.jar");
        words.add(2, "local.yml");

        assertThat(Scenario.run(System.out, words.toArray(String[]::new))).isEqualTo(2);
    }
}
