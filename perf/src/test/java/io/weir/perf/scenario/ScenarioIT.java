package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each scenario holds on the built jar, and fails when the protection that it shows is switched off. */
@Timeout(300)
class ScenarioIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @ParameterizedTest(name = "{0} {1}")
    @CsvSource({
        "hang,,0",
        "hang,circuit-breaker,1",
        "overload,,0",
        "overload,bulkhead,1",
        "faults,,0",
        "faults,deadline,1"
    })
    void showsWhatItsProtectionDoes(String name, String without, int exitCode) throws Exception {
        List<String> arguments = new ArrayList<>(List.of(
                name,
                ROOT.resolve("gateway/target/weir-gateway.jar").toString(),
                ROOT.resolve("config/local.yml").toString(),
                "--quick"));
        if (without != null) {
            arguments.addAll(List.of("--without", without));
        }

        assertThat(Scenario.run(arguments.toArray(String[]::new))).isEqualTo(exitCode);
    }

    @ParameterizedTest
    @CsvSource({"hung", "hang --without sense", "hang --loud"})
    void saysWhatItExpectsInstead(String line) throws Exception {
        List<String> words = new ArrayList<>(List.of(line.split(" ", -1)));
        words.add(1, "gateway.jar");
        words.add(2, "local.yml");

        assertThat(Scenario.run(words.toArray(String[]::new))).isEqualTo(2);
    }
}
