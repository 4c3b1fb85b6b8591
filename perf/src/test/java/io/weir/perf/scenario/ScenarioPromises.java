package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.ResourceLeakDetector;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The promises of a scenario's table. */
final class ScenarioPromises {

    private ScenarioPromises() {}

    /**
     * Asserts which promises are broken.
     *
     * @param without the disabled protections
     * @param perhaps promises that may be broken
     */
    static void assertBroken(Path gateway, String name, String without, String broken, String perhaps)
            throws Exception {
        List<String> arguments =
                new ArrayList<>(List.of(name, gateway.toString(), CachedGateway.CONFIGURATION, "--quick"));
        words(without, " ").forEach(protection -> arguments.addAll(List.of("--without", protection)));

        // No test asserts that the load generator loses no buffer, and recording its buffers' use takes time.
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.SIMPLE);
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
