package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A canary: two routes that share requests by the predicate Weight, through both doors.
 *
 * <p>The route {@code gate} forces the general door: it may match every request with {@code X-Door: general},
 * and never matches. Between the two routes of the group {@code split} stands a route that only the general
 * door can match.
 */
class WeightedRoutesIT {

    private static final int CALLS = 400;
    private static final String GENERAL = "X-Door: general";

    private static TestBackend stable;
    private static TestBackend canary;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        stable = TestBackend.start((request, conversation) -> conversation.answer(200, "stable"));
        canary = TestBackend.start((request, conversation) -> conversation.answer(200, "canary"));
        gateway = TestGateway.start("""
            weir:
              backends: { stable: { uri: "%s" }, canary: { uri: "%s" } }
              routes:
                sticky-stable: { sticky: "cookie:SID" }
                sticky-canary: { sticky: "cookie:SID" }
            spring.cloud.gateway.server.webflux.routes:
              - { id: gate, uri: "backend://stable", order: -1000, predicates: ["Header=X-Door, general", "Before=2020-01-01T00:00:00Z"] }
              - { id: stable, uri: "backend://stable", predicates: ["Path=/orders/**", "Weight=orders, 3"] }
              - { id: canary, uri: "backend://canary", predicates: ["Path=/orders/**", "Weight=orders, 1"] }
              - { id: sticky-stable, uri: "backend://stable", predicates: ["Path=/sticky/**", "Weight=sticky, 3"] }
              - { id: sticky-canary, uri: "backend://canary", predicates: ["Path=/sticky/**", "Weight=sticky, 1"] }
              - { id: split-stable, uri: "backend://stable", predicates: ["Path=/split/**", "Weight=split, 1"] }
              - { id: between, uri: "backend://stable", predicates: ["Path=/split/**", "Before=2020-01-01T00:00:00Z"] }
              - { id: split-canary, uri: "backend://canary", predicates: ["Path=/split/**", "Weight=split, 1"] }
            """.formatted(stable.uri(), canary.uri()));
    }

    @AfterEach
    void assertNothingHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void close() {
        gateway.close();
        stable.close();
        canary.close();
    }

    private static String[] fields(Door door, String... others) {
        return Stream.concat(door == Door.GENERAL ? Stream.of(GENERAL) : Stream.of(), Stream.of(others))
                .toArray(String[]::new);
    }

    private int canaries(String path, int calls, String... fields) throws IOException {
        int canaries = 0;
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < calls; i++) {
                canaries += "canary".equals(caller.request("GET", path, fields).text()) ? 1 : 0;
            }
        }
        return canaries;
    }

    @Door.Both
    void dividesRequestsByWeight(Door door) throws IOException {
        // A quarter of 400, within four standard deviations.
        assertThat(canaries("/orders/1", CALLS, fields(door))).isBetween(65, 135);
        String last = "/orders/last-" + door.word();
        assertThat(canaries(last, 1, fields(door))).isIn(0, 1);
        assertThat(gateway.logged(last).path("door").asString()).isEqualTo(door.word());
    }

    @Door.Both
    void keepsTheSharesWhereTheGeneralDoorDecidesAboutARouteBetween(Door door) throws IOException {
        assertThat(canaries("/split/1", CALLS, fields(door))).isBetween(160, 240);
    }

    @Test
    void keepsAStickyCallerOnOneRouteThroughBothDoors() throws IOException {
        int onCanary = 0;
        for (int user = 0; user < 100; user++) {
            String cookie = "Cookie: a=b; SID=user-" + user;
            int compiled = canaries("/sticky/1", 3, cookie);
            assertThat(compiled).as("user %d", user).isIn(0, 3);
            assertThat(canaries("/sticky/1", 3, GENERAL, cookie))
                    .as("user %d", user)
                    .isEqualTo(compiled);
            onCanary += compiled / 3;
        }
        assertThat(onCanary).isBetween(8, 42);
        assertThat(canaries("/sticky/1", CALLS))
                .as("callers without the cookie")
                .isBetween(65, 135);
    }
}
