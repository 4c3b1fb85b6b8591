package io.weir.perf.scenario;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Promises of scenarios that send much, or in which a late answer counts as a refusal: they run alone,
 * after all others.
 */
@Tag("full")
@Isolated
class LoadScenarioIT {

    /** Without the bulkhead, another protection may keep the capacity's promises. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', emptyValue = "", textBlock = """
                    ''       | '' | ''
                    bulkhead | a full bulkhead opens no breaker | \
                        overload: answered 200 within 1 s, of the backend's capacity; after it: answered 200
                    """)
    void overloadBreaksPromisesOnlyWithoutProtection(String without, String broken, String perhaps) throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "overload", without, broken, perhaps);
    }

    @Test
    void refusesNoHealthyWork() throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "refusals", "", "", "");
    }
}
