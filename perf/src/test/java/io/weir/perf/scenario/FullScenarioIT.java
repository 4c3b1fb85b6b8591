package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The scenarios at full strength: an hour, on a machine with nothing else to do. */
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
@Timeout(1800)
class FullScenarioIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @ParameterizedTest
    @CsvSource({
        "hang, 0",
        "overload, 0",
        "limit, 0",
        "limit --quick --without adaptive-limit, 1",
        "instances, 0",
        "refusals, 0",
        "priorities, 0",
        "priorities --quick --without priorities, 1",
        "tenants, 0",
        "tenants --quick --without tenants, 1",
        "memory, 0",
        "memory --quick --without memory-guard, 1",
        "memory --quick --without memory-headroom, 1"
    })
    void breaksPromisesOnlyWithoutProtection(String line, int exitCode) throws Exception {
        List<String> words = new ArrayList<>(List.of(line.split(" ", -1)));
        words.add(1, ROOT.resolve("gateway/target/weir-gateway.jar").toString());
        words.add(2, ROOT.resolve("config/local.yml").toString());

        assertThat(Scenario.run(System.out, words.toArray(String[]::new))).isEqualTo(exitCode);
    }
}
