package io.weir.perf.scenario;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Promises of scenarios that send much, or in which a late answer counts as a refusal: they run alone,
 * after all others.
 */
@Tag("full")
@Isolated
class LoadScenarioIT {

    /** {@link FullScenarioIT} runs it without the bulkhead. */
    @Test
    void overloadBreaksNoPromise() throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "overload", "", "", "");
    }

    @Test
    void refusesNoHealthyWork() throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "refusals", "", "", "");
    }
}
