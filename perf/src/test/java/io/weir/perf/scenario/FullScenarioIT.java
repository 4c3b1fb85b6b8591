package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The scenarios at full strength, and most runs without a protection: more than an hour, on a machine with
 * nothing else to do.
 */
@Tag("full")
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
@Timeout(1800)
class FullScenarioIT {

    @ParameterizedTest
    @ValueSource(strings = {"hang", "overload", "limit", "instances", "refusals", "priorities", "tenants", "memory"})
    void keepsItsPromises(String name) throws Exception {
        String jar = CachedGateway.BUILT.toString();

        assertThat(Scenario.run(System.out, name, jar, CachedGateway.CONFIGURATION))
                .isZero();
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
                    overload     | bulkhead        | a full bulkhead opens no breaker | \
                        overload: answered 200 within 1 s, of the backend's capacity; after it: answered 200
                    overload     | bulkhead circuit-breaker deadline | \
                        overload: answered 200 within 1 s, of the backend's capacity | \
                        a full bulkhead opens no breaker; after it: answered 200
                    faults       | deadline        | a byte a second; hang; caller that uploads at a crawl; \
                        caller that reads nothing | ''
                    hang         | circuit-breaker | \
                        100/s: requests during the hang that wait for the whole deadline | \
                        100/s: answered 200 from the heal on (median of 1)
                    hang         | probes          | 100/s: answered 200 from the heal on (median of 1) | ''
                    hang         | compartments    | 100/s: neighbour: answered 200 during the hang; \
                        100/s: requests during the hang that wait for the whole deadline | \
                        100/s: answered 200 from the heal on (median of 1)
                    """)
    void breaksPromisesWithoutProtection(String name, String without, String broken, String perhaps) throws Exception {
        ScenarioPromises.assertBroken(CachedGateway.BUILT, name, without, broken, perhaps);
    }

    /**
     * Each case loses its own protection. Uploads that are slow, but alive, may find one of the permits that
     * the others leave.
     */
    @Test
    void refusesHealthyWorkWithoutProtections() throws Exception {
        ScenarioPromises.assertBroken(
                CachedGateway.BUILT,
                "refusals",
                "circuit-breaker probes bulkhead slow-call-tolerance slow-caller-compartment forwarded-header-check",
                """
                bursts of six: not answered after the heal;
                deadline of 20 s: first answer after the heal, longest of 1;
                breaker open, callers a second: 1: refused at once;
                breaker open, callers a second: 6: refused at once;
                breaker open, callers a second: 20: refused at once;
                callers with 500 ms: refused at once from 2 s after a hang on;
                answers after 1.2 s, deadline of 2 s, 20 callers (slow): answered;
                300 GETs like WebSocket handshakes: in the backend at once;
                X-Forwarded-For of any caller, on Kubernetes: route by address;
                five slow calls a second among fast ones, window of 10: refused;
                slow uploads, 100: others answered 200""",
                "slow uploads, 100: slow, but alive: answered 200");
    }

    /** Each kind of slow callers, and each excess of one caller, loses its own protection. */
    @Test
    void callersReachOthersWithoutProtections() throws Exception {
        ScenarioPromises.assertBroken(
                CachedGateway.BUILT,
                "callers",
                "slow-caller-compartment caller-timeouts client-limits rate-limit frame-budget",
                """
                300 heads: connections ended;
                300 uploads: others answered 200;
                300 uploads: connections ended;
                150 readers: others answered 200;
                300 idle, HTTP/1.1: connections ended;
                300 idle, HTTP/2: connections ended;
                150 readers, HTTP/2: others answered 200;
                one caller, 2000 requests/s: others answered 200;
                one caller, 2500 connections: others answered 200;
                one caller, floods of HTTP/2: connections ended""",
                """
                150 readers: memory: before, soon, at the end, after;
                150 readers, HTTP/2: memory: before, soon, at the end, after;
                one caller, floods of HTTP/2: others answered 200""");
    }
}
