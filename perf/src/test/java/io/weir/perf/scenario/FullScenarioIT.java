package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The scenarios at full strength: an hour, on a machine with nothing else to do. */
@Tag("full")
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
@Timeout(1800)
class FullScenarioIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @ParameterizedTest
    @ValueSource(strings = {"hang", "overload", "limit", "instances", "refusals", "priorities", "tenants", "memory"})
    void keepsItsPromises(String name) throws Exception {
        String jar = ROOT.resolve("gateway/target/weir-gateway.jar").toString();
        String configuration = ROOT.resolve("config/local.yml").toString();

        assertThat(Scenario.run(System.out, name, jar, configuration)).isZero();
    }

    /** The promises of {@code tenants} about names, and about a tenant alone, need no fairness. */
    @ParameterizedTest(name = "{0} without {1}")
    @CsvSource(delimiter = '|', emptyValue = "", textBlock = """
                    limit        | adaptive-limit  | 10 x 50 ms, 4 x the capacity: answered in time; \
                        10 x 50 ms, after the overload: answered; \
                        half of the workers, answered in time; \
                        callers retry 3 times, 4 x: answered in time; \
                        callers retry 3 times, after it: answered | ''
                    limit        | limit-growth    | from 50/s to 1000/s in a second, 50 ms, refused | \
                        10 x 50 ms, 4 x the capacity: answered in time; \
                        10 x 50 ms, after the overload: answered; \
                        callers retry 3 times, 4 x: answered in time; \
                        callers retry 3 times, after it: answered
                    priorities   | priorities      | critical, 4 x the capacity: answered in time; \
                        normal: answered, of what critical calls and the reserve leave; \
                        hang: permits for a hundred calls, by class; \
                        from the heal on: critical answered in time; \
                        from the heal on: answered in time, by class | ''
                    tenants      | tenants         | \
                        within their share, beside 70 % of 4 x: answered, the least; \
                        with more than its share: answered, of its share | ''
                    memory       | memory-guard    | Parallel: the live set grows until the heap is nearly full | ''
                    memory       | memory-headroom | Parallel: refused, while half of the heap is live | ''
                    """)
    void breaksPromisesWithoutProtection(String name, String without, String broken, String perhaps) throws Exception {
        ScenarioIT.assertBroken(ScenarioIT.BUILT, name, without, broken, perhaps);
    }
}
