package io.weir.fallback;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Routes that answer by themselves: the backend is not asked, and each check of the caller still applies. */
class RouteAnswerIT extends GatewayTests {

    private static final String MAINTENANCE =
            "answer: { content-type: text/html, body: \"<p>back at 6</p>\", " + "headers: { Retry-After: \"600\" } }";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 0 }")
                .route("orders", "orders", MAINTENANCE)
                .route("empty", "orders", "answer: { status: 204 }")
                .route("limited", "orders", MAINTENANCE, "rate-limit: { permits: 1, period: 1h }")
                .route("elsewhere", "orders", MAINTENANCE, "access: { allow: [ 192.0.2.1 ] }")
                .route("plain", "orders")
                .start();
    }

    @Door.Both
    void answersWithoutTheBackend(Door door) throws IOException {
        String path = door.path("orders", "asked");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertMaintenance(answer);
        JsonNode line = gateway.assertTold(door, "orders", path, 503, "fallback");
        assertThat(line.path("detail").asString()).isEqualTo("the route's own answer");
        assertThat(line.has("reason")).as("%s", line).isFalse();
        assertThat(calls.calls()).isZero();
        gateway.assertFed("orders", 0, 0, 0);
    }

    @Door.Each
    void needsNoPermitAndNoClosedBreaker(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("plain", "1"));
        HeldCalls.Held held = calls.next();
        assertMaintenance(TestCaller.get(gateway.port(), door.path("orders", "full")));
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);

        gateway.backend("orders").health().operator().forceOpen();
        assertMaintenance(TestCaller.get(gateway.port(), door.path("orders", "open")));
        gateway.backend("orders").health().operator().release();
    }

    @Door.Each
    void answersHeadWithoutABodyAndAStatusThatHasNone(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer head = caller.request("HEAD", door.path("orders", "1"));
            assertThat(head.status()).isEqualTo(503);
            assertThat(head.header("content-length")).isEqualTo("16");

            TestCaller.Answer empty = caller.request("GET", door.path("empty", "1"));
            assertThat(empty.status()).isEqualTo(204);
            assertThat(empty.header("content-length")).isNull();
            assertThat(empty.header("content-type")).isNull();

            assertMaintenance(caller.request("GET", door.path("orders", "2")));
        }
    }

    /** The body is not read: its caller may send it slowly, or wait for 100 Continue. */
    @Door.Each
    void answersBeforeTheBodyHasArrived(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path("orders", "1"), "Content-Length: 100000"));
            assertMaintenance(caller.answer());
        }
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head(
                    "POST", door.path("orders", "1"), "Content-Length: 100000", "Expect: 100-continue"));
            assertMaintenance(caller.answer());
        }
        gateway.assertNothingHeld();
    }

    @Door.Each
    void everyCheckOfTheCallerStillApplies(Door door) throws IOException {
        assertMaintenance(TestCaller.get(gateway.port(), door.path("limited", "1")));
        assertRefused(TestCaller.get(gateway.port(), door.path("limited", "2")), Reason.RATE_LIMITED);
        assertRefused(TestCaller.get(gateway.port(), door.path("elsewhere", "1")), Reason.FORBIDDEN);
    }

    /** A call that is under way ends as it began; the next one gets the new configuration. */
    @Test
    void aReloadBeginsAndEndsIt() throws Exception {
        String maintenance = Files.readString(gateway.file());
        String normal = maintenance.replace(MAINTENANCE, "priority: normal");
        reloaded(normal);
        CompletableFuture<TestCaller.Answer> underWay =
                TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "under-way"));
        HeldCalls.Held held = calls.next();

        reloaded(maintenance);
        assertMaintenance(TestCaller.get(gateway.port(), Door.COMPILED.path("orders", "begun")));
        held.answer();
        assertThat(underWay.join().status()).isEqualTo(200);

        reloaded(normal);
        CompletableFuture<TestCaller.Answer> after =
                TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "ended"));
        calls.next().answer();
        assertThat(after.join().status()).isEqualTo(200);
        reloaded(maintenance);
    }

    private static void reloaded(String yaml) {
        gateway.rewrite(yaml);
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }

    private static void assertMaintenance(TestCaller.Answer answer) {
        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.text()).isEqualTo("<p>back at 6</p>");
        assertThat(answer.header("content-type")).isEqualTo("text/html");
        assertThat(answer.header("retry-after")).isEqualTo("600");
        assertThat(answer.header("proxy-status")).isNull();
    }
}
