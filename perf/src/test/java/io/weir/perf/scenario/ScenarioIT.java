package io.weir.perf.scenario;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Promises that hold on the built jar, and of which those of a protection are broken without it. The longer
 * runs without a protection are in {@link FullScenarioIT}. These scenarios wait for most of their time, and
 * assert no latency, so three run at once: one of each lock here, and one of
 * {@code ContainmentIT} and {@code ChaosIT}.
 */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
class ScenarioIT {

    private static final String SCENARIO = "a scenario";

    /** It takes as long as all others of a lock. */
    @Test
    @ResourceLock("callers")
    void callersDoNotReachOthers() throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "callers", "", "", "");
    }

    @Test
    @ResourceLock(SCENARIO)
    void faultsBreakNoPromise() throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "faults", "", "", "");
    }

    /** Without its protections, a hang breaks the promises of {@code ContainmentIT} and {@code ChaosIT}. */
    @Test
    @ResourceLock(SCENARIO)
    void hangBreaksNoPromise() throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "hang", "", "", "");
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
    @ResourceLock(SCENARIO)
    void instancesBreakPromisesOnlyWithoutProtection(String without, String broken, String perhaps) throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.jar(), "instances", without, broken, perhaps);
    }
}
