package io.weir.fallback;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import tools.jackson.databind.JsonNode;

/** Fallbacks: a static answer or another backend's answer replaces a refusal before the answer has begun. */
class FallbackIT extends GatewayTests {

    private static final String ONE_AT_A_TIME = "bulkhead: { max-concurrent-calls: 1, queue-capacity: 0 }";
    private static final String STATIC = "fallback: { status: 203, content-type: text/plain, body: prepared, "
            + "headers: { x-prepared: \"yes\" }, max-concurrent-calls: 2 }";

    private static TestBackend spare;
    private static UnwillingPort refusing;
    private HeldCalls spareCalls;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        spare = TestBackend.healthy();
        refusing = UnwillingPort.refusing();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("orders", backend.uri(), "deadline: 60s", ONE_AT_A_TIME)
                .backend(
                        "brief",
                        backend.uri(),
                        "deadline: 800ms",
                        "circuit-breaker: { slow-call-duration-threshold: 400ms }")
                .backend("refusing", refusing.uri(), "deadline: 60s", "retry-budget: { share: 0, floor: 0 }")
                .backend(
                        "spare",
                        spare.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 8, queue-capacity: 0 }")
                .route("static", "orders", STATIC)
                .route("late", "brief", STATIC)
                .route("unreachable", "refusing", STATIC)
                .route("choosy", "refusing", "fallback: { body: prepared, reasons: [circuit-open] }")
                .route("other", "refusing", "fallback: { backend: spare, max-concurrent-calls: 1 }")
                .route("other-full", "orders", "fallback: { backend: spare, max-concurrent-calls: 8 }")
                .route("other-late", "brief", "fallback: { backend: spare }")
                .route("plain", "orders")
                .route("spare", "spare")
                .start();
    }

    @BeforeEach
    void spareHoldsItsCalls() {
        spareCalls = new HeldCalls();
        spare.behave(spareCalls);
    }

    @AfterEach
    void spareReleasesItsCalls() {
        spareCalls.release();
    }

    @AfterAll
    static void stopOthers() {
        spare.close();
        refusing.close();
    }

    // ---------------------------------------------------------------- static answer

    @Door.Each
    void replacesARefusalIfTheBackendIsUnreachable(Door door) throws IOException {
        String path = door.path("unreachable", "1");
        assertStaticAnswer(door, "unreachable", path, TestCaller.get(gateway.port(), path), Reason.CONNECT_FAILED);
        // The breaker still records the failure.
        gateway.assertFed("refusing", 1, 1, 0);
    }

    @Door.Each
    void replacesARefusalIfTheBulkheadIsFull(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("plain", "occupies"));
        HeldCalls.Held held = calls.next();
        double before = shed("orders", Reason.BULKHEAD_FULL);
        String path = door.path("static", "full");

        assertStaticAnswer(door, "static", path, TestCaller.get(gateway.port(), path), Reason.BULKHEAD_FULL);

        assertThat(shed("orders", Reason.BULKHEAD_FULL)).isEqualTo(before + 1);
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
    }

    @Door.Each
    void replacesARefusalIfTheBreakerIsOpen(Door door) throws IOException {
        gateway.backend("orders").health().operator().forceOpen();
        String path = door.path("static", "open");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        gateway.backend("orders").health().operator().release();
        assertStaticAnswer(door, "static", path, answer, Reason.CIRCUIT_OPEN);
    }

    @Door.Each
    void replacesARefusalAtTheDeadline(Door door) throws IOException {
        String path = door.path("late", "hangs");
        assertStaticAnswer(door, "late", path, TestCaller.get(gateway.port(), path), Reason.DEADLINE_EXCEEDED);
        gateway.assertFed("brief", 1, 1, 1);
    }

    @Door.Each
    void replacesOnlyRefusalsWithItsReasons(Door door) throws IOException {
        String path = door.path("choosy", "unreachable");
        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);
        assertRefused(gateway, door, "choosy", path, answer, Reason.CONNECT_FAILED);

        String malformed = door.path("static", "malformed");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), malformed, "X-Request-Timeout: soon");
        assertRefused(gateway, door, "static", malformed, refused, Reason.BAD_REQUEST);
    }

    @Door.Each
    void doesNotReplaceTheBackendsOwnErrors(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.answer(500, "its own"));
        String path = door.path("static", "own-error");
        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);
        assertThat(answer.status()).isEqualTo(500);
        assertThat(answer.text()).isEqualTo("its own");
        gateway.assertTold(door, "static", path, 500, "5xx");
    }

    @Door.Each
    void doesNotReplaceAnAnswerThatHasBegun(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
            calls.serve(request, conversation);
        });
        String path = door.path("static", "begun");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("abc");
            calls.next().then((request, conversation) -> conversation.reset());
            assertThat(caller.isReset()).isTrue();
        }
        gateway.assertTold(door, "static", path, 200, "connection-lost");
    }

    @Door.Each
    void keepsTheCallersConnectionOpen(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 3; i++) {
                assertThat(caller.request("GET", door.path("unreachable", "again"))
                                .text())
                        .isEqualTo("prepared");
            }
        }
    }

    // ---------------------------------------------------------------- another backend

    @Door.Each
    void callsAnotherBackendThroughItsOwnCompartment(Door door) throws Exception {
        String path = door.path("other", "1");
        CompletableFuture<TestCaller.Answer> answer = TestCaller.ask(gateway.port(), path);
        HeldCalls.Held held = spareCalls.next();

        assertThat(gateway.backend("spare").bulkhead().inUse()).isEqualTo(1);
        assertThat(gateway.backend("refusing").bulkhead().inUse()).isZero();
        assertThat(held.request().header("x-request-timeout")).isNotNull();
        held.answer();

        assertThat(answer.join().status()).isEqualTo(200);
        assertThat(answer.join().text()).isEqualTo(path);
        JsonNode line = gateway.assertTold(door, "other", path, 200, "fallback");
        assertThat(line.path("reason").asString()).isEqualTo("connect-failed");
        assertThat(line.path("backend").asString()).isEqualTo("spare");
        assertThat(line.path("attempts").asInt()).isEqualTo(2);
        gateway.assertFed("refusing", 1, 1, 0);
        gateway.assertFed("spare", 1, 0, 0);
    }

    @Door.Each
    void hasItsOwnLimit(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> first = TestCaller.ask(gateway.port(), door.path("other", "first"));
        HeldCalls.Held held = spareCalls.next();
        assertThat(Objects.requireNonNull(gateway.route(door.id("other")).fallback())
                        .limit()
                        .inUse())
                .isEqualTo(1);
        String path = door.path("other", "second");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        assertRefused(gateway, door, "other", path, refused, Reason.CONNECT_FAILED);
        // The other backend has free permits, which its own routes can use.
        CompletableFuture<TestCaller.Answer> own = TestCaller.ask(gateway.port(), door.path("spare", "own"));
        spareCalls.next().answer();
        assertThat(own.join().status()).isEqualTo(200);
        held.answer();
        assertThat(first.join().status()).isEqualTo(200);
    }

    @Door.Each
    void doesNotCallAnotherBackendAtTheDeadline(Door door) throws IOException {
        String path = door.path("other-late", "hangs");
        TestCaller.Answer late = TestCaller.get(gateway.port(), path);
        assertRefused(gateway, door, "other-late", path, late, Reason.DEADLINE_EXCEEDED);
        assertThat(spareCalls.calls()).isZero();
    }

    @Door.Each
    void returnsTheFirstRefusalIfTheOtherBackendRefusesToo(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("plain", "occupies"));
        HeldCalls.Held held = calls.next();
        gateway.backend("spare").health().operator().forceOpen();
        String path = door.path("other-full", "both");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        gateway.backend("spare").health().operator().release();
        assertRefused(refused, Reason.BULKHEAD_FULL);
        gateway.assertTold(door, "other-full", path, 503, "bulkhead-full");
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
    }

    @Door.Each
    void doesNotSendABodyTwice(Door door) throws Exception {
        String path = door.path("other-full", "body");
        backend.behave((request, conversation) -> {
            conversation.drain(request);
            conversation.reset();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("PUT", path, "Content-Length: 4") + "body");
            assertRefused(gateway, door, "other-full", path, caller.answer(), Reason.CONNECTION_LOST);
        }
        assertThat(spareCalls.calls()).isZero();
    }

    @Door.Each
    void sendsAnUnreadBodyToTheOtherBackend(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("plain", "occupies2"));
        HeldCalls.Held held = calls.next();
        String path = door.path("other-full", "unread-body");
        spare.behave((request, conversation) -> conversation.answer(200, String.valueOf(conversation.drain(request))));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: 4") + "body");
            assertThat(caller.answer().text()).isEqualTo("4");
        }
        gateway.assertTold(door, "other-full", path, 200, "fallback");
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
        await().until(() -> gateway.backend("spare").bulkhead().inUse() == 0);
    }

    // ---------------------------------------------------------------- fixtures

    private static void assertStaticAnswer(
            Door door, String route, String path, TestCaller.Answer answer, Reason insteadOf) {
        assertThat(answer.status()).isEqualTo(203);
        assertThat(answer.text()).isEqualTo("prepared");
        assertThat(answer.header("content-type")).isEqualTo("text/plain");
        assertThat(answer.header("x-prepared")).isEqualTo("yes");
        assertThat(answer.header("proxy-status")).isNull();
        assertThat(answer.header("retry-after")).isNull();
        JsonNode line = gateway.assertTold(door, route, path, 203, "fallback");
        assertThat(line.path("reason").asString()).isEqualTo(insteadOf.word());
    }

    private static double shed(String name, Reason reason) {
        return gateway
                .bean(MeterRegistry.class)
                .find("weir.shed")
                .tags("backend", name, "reason", reason.word())
                .counters()
                .stream()
                .mapToDouble(counter -> counter.count())
                .sum();
    }
}
