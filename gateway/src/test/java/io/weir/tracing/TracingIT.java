package io.weir.tracing;

import static io.weir.tracing.TestCollector.attributes;
import static io.weir.tracing.TestCollector.hex;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;
import static org.awaitility.Awaitility.await;

import io.opentelemetry.proto.trace.v1.Span;
import io.opentelemetry.proto.trace.v1.Status.StatusCode;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Spans of requests with every outcome, as a collector receives them. */
class TracingIT {

    private static final String STATE = "vendor=opaque";

    private static TestCollector collector;
    private static TestBackend backend;
    private static TestBackend other;
    private static UnwillingPort refusing;
    private static TestGateway gateway;

    /** The ids of the caller's trace and span. */
    private final String trace = randomHex(16);

    private final String caller = randomHex(8);

    @BeforeAll
    static void start() throws IOException {
        collector = TestCollector.start();
        backend = TestBackend.healthy();
        other = TestBackend.healthy();
        refusing = UnwillingPort.refusing();
        gateway = TestGateway.setup()
                .weir("tracing: { enabled: true, endpoint: \"" + collector.endpoint()
                        + "\", headers: { authorization: Bearer of-the-collector }, service-name: edge-test,"
                        + " sampling-ratio: 1, export-interval: 10ms }")
                .backend("orders", backend.uri(), "deadline: 60s", "retry-budget: { share: 100, floor: 1000 }")
                .backend("hasty", backend.uri(), "deadline: 1s")
                .backend(
                        "single",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 1, max-wait-duration: 10s }")
                .backend(
                        "impatient",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 1, max-wait-duration: 20ms }")
                .backend("refusing", refusing.uri(), "retry-budget: { share: 0, floor: 0 }")
                .route("orders", "orders")
                .route("retried", "orders", "retry: { max-attempts: 2, backoff: 0s, statuses: [503] }")
                .instances(
                        "both",
                        List.of(backend.uri(), other.uri()),
                        "deadline: 60s",
                        "retry-budget: { share: 100, floor: 1000 }")
                .route("hedged", "both", "hedge: { after: 20ms }")
                .route("hasty", "hasty")
                .route("single", "single")
                .route("impatient", "impatient")
                .route("refusing", "refusing")
                .route("covered", "refusing", "fallback: { status: 203, body: covered }")
                .filtered("moved", "orders", "\"RedirectTo=302, https://weir.example\"")
                .start();
        for (Door door : Door.values()) {
            // The first request of each door is slow, and some deadlines are short.
            TestCaller.get(gateway.port(), door.path("orders", "first"));
        }
    }

    @BeforeEach
    void calm() {
        gateway.calm();
        backend.behave(TestBackend.ECHO);
    }

    @AfterEach
    void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
        other.close();
        refusing.close();
        collector.close();
    }

    // ---------------------------------------------------------------- context

    @Door.Each
    void continuesTheCallersTrace(Door door) throws Exception {
        String path = door.path("orders", "continued");

        TestCaller.Answer answer = ask(path, "traceparent: " + traceParent("01"), "tracestate: " + STATE);

        assertThat(answer.status()).isEqualTo(200);
        TestBackend.Request request = backend.next();
        Span server = collector.server(path);
        assertThat(hex(server.getTraceId())).isEqualTo(trace);
        assertThat(hex(server.getParentSpanId())).isEqualTo(caller);
        assertThat(server.getTraceState()).isEqualTo(STATE);
        Span attempt = onlyAttempt(server);
        assertThat(hex(attempt.getTraceId())).isEqualTo(trace);
        assertThat(request.header("traceparent")).isEqualTo("00-" + trace + "-" + hex(attempt.getSpanId()) + "-01");
        assertThat(request.header("tracestate")).isEqualTo(STATE);
        assertThat(gateway.logged(path).path("trace_id").asString()).isEqualTo(trace);
    }

    @Door.Each
    void startsATraceIfTheCallerHasNone(Door door) throws Exception {
        String path = door.path("orders", "started");

        ask(path, "traceparent: 00-" + "0".repeat(32) + "-" + caller + "-01", "tracestate: " + STATE);

        TestBackend.Request request = backend.next();
        Span server = collector.server(path);
        assertThat(server.getParentSpanId().isEmpty()).isTrue();
        String started = hex(server.getTraceId());
        assertThat(request.header("traceparent"))
                .isEqualTo("00-" + started + "-" + hex(onlyAttempt(server).getSpanId()) + "-"
                        + Objects.requireNonNull(request.header("traceparent")).substring(53));
        assertThat(request.header("tracestate")).isNull();
        assertThat(gateway.logged(path).path("trace_id").asString()).isEqualTo(started);
    }

    @Door.Each
    void doesNotRecordATraceThatTheCallerDoesNotRecord(Door door) throws Exception {
        String unrecorded = door.path("orders", "unrecorded");
        String recorded = door.path("orders", "recorded");

        ask(unrecorded, "traceparent: " + traceParent("00"));
        assertThat(backend.next().header("traceparent")).isEqualTo(traceParent("00"));
        ask(recorded);
        collector.server(recorded);

        // Spans are exported in the order in which they end.
        assertThat(collector.spans()).noneMatch(span -> hex(span.getTraceId()).equals(trace));
        assertThat(gateway.logged(unrecorded).path("trace_id").asString()).isEqualTo(trace);
    }

    // ---------------------------------------------------------------- outcomes

    @Door.Each
    void describesAnAnswerOfABackend(Door door) throws Exception {
        String path = door.path("orders", "7");

        ask(path + "?card=4111", "User-Agent: of-the-test", "X-Request-Id: id-of-the-test");

        Span server = collector.server(path);
        assertThat(server.getName()).isEqualTo("GET " + door.id("orders"));
        assertThat(server.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
        assertThat(server.getEndTimeUnixNano()).isGreaterThan(server.getStartTimeUnixNano());
        assertThat(attributes(server))
                .contains(
                        entry("http.request.method", "GET"),
                        entry("http.response.status_code", 200L),
                        entry("url.scheme", "http"),
                        entry("url.path", path),
                        entry("server.address", "weir.test"),
                        entry("client.address", "127.0.0.1"),
                        entry("user_agent.original", "of-the-test"),
                        entry("network.protocol.version", "1.1"),
                        entry("weir.route", door.id("orders")),
                        entry("weir.backend", "orders"),
                        entry("weir.door", door.word()),
                        entry("weir.outcome", "2xx"),
                        entry("weir.request_id", "id-of-the-test"),
                        entry("weir.attempts", 1L),
                        entry("weir.queue_ms", 0.0))
                .doesNotContainKeys("error.type", "weir.reason", "weir.detail");
        Span attempt = onlyAttempt(server);
        assertThat(attempt.getName()).isEqualTo("GET");
        assertThat(attempt.getKind()).isEqualTo(Span.SpanKind.SPAN_KIND_CLIENT);
        assertThat(attempt.getStartTimeUnixNano()).isGreaterThanOrEqualTo(server.getStartTimeUnixNano());
        assertThat(attempt.getEndTimeUnixNano()).isLessThanOrEqualTo(server.getEndTimeUnixNano());
        assertThat(attributes(attempt))
                .isEqualTo(Map.of(
                        "http.request.method",
                        "GET",
                        "http.response.status_code",
                        200L,
                        "server.address",
                        "127.0.0.1",
                        "server.port",
                        (long) backend.port(),
                        "url.full",
                        backend.uri() + path,
                        "weir.backend",
                        "orders"));
        assertThat(collector.resource()).containsEntry("service.name", "edge-test");
        assertThat(collector.header("Authorization")).isEqualTo("Bearer of-the-collector");
    }

    @Door.Each
    void hasASpanForEachAttempt(Door door) throws Exception {
        String path = door.path("retried", "twice");
        backend.behave((request, conversation) -> {
            backend.behave(TestBackend.ECHO);
            conversation.answer(503, "not now");
        });

        TestCaller.Answer answer = ask(path);

        assertThat(answer.status()).isEqualTo(200);
        Span server = collector.server(path);
        assertThat(attributes(server)).contains(entry("weir.attempts", 2L), entry("weir.outcome", "2xx"));
        assertThat(events(server)).containsExactly("weir.attempted", "weir.attempted");
        List<Span> attempts = collector.below(server);
        assertThat(attempts).hasSize(2);
        assertThat(attributes(attempts.get(0)))
                .contains(entry("http.response.status_code", 503L), entry("error.type", "503"))
                .doesNotContainKey("http.request.resend_count");
        assertThat(attempts.get(0).getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
        assertThat(attributes(attempts.get(1)))
                .contains(entry("http.response.status_code", 200L), entry("http.request.resend_count", 1L));
        assertThat(attempts.get(1).getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
    }

    /** The cancelled attempt has no outcome, and the winner's is not taken for its own. */
    @Door.Each
    void hasASpanForEachOfTwoAttemptsAtOnce(Door door) throws Exception {
        String path = door.path("hedged", "both");
        AtomicInteger asked = new AtomicInteger();
        TestBackend.Behaviour firstHangs = (request, conversation) -> {
            if (asked.getAndIncrement() == 0) {
                // Until the gateway closes the connection.
                conversation.in().transferTo(OutputStream.nullOutputStream());
            } else {
                conversation.answer(200, "second");
            }
        };
        backend.behave(firstHangs);
        other.behave(firstHangs);

        assertThat(ask(path).status()).isEqualTo(200);
        Span server = collector.server(path);
        assertThat(attributes(server)).contains(entry("weir.attempts", 2L), entry("weir.outcome", "2xx"));
        List<Span> attempts = collector.below(server);
        assertThat(attempts).hasSize(2);
        Span late = attempts.stream()
                .filter(attempt -> !attributes(attempt).containsKey("http.request.resend_count"))
                .findFirst()
                .orElseThrow();
        Span hedge =
                attempts.stream().filter(attempt -> attempt != late).findFirst().orElseThrow();
        assertThat(attributes(late)).doesNotContainKey("http.response.status_code");
        assertThat(late.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
        assertThat(attributes(hedge)).contains(entry("http.response.status_code", 200L));
        assertThat(hedge.getStartTimeUnixNano()).isGreaterThan(late.getStartTimeUnixNano());
        assertThat(late.getEndTimeUnixNano()).isLessThanOrEqualTo(hedge.getEndTimeUnixNano());
    }

    @Door.Each
    void describesABackendsError(Door door) throws Exception {
        String path = door.path("orders", "broken");
        backend.behave((request, conversation) -> conversation.answer(500, "its own"));

        ask(path);

        assertFailed(collector.server(path), 500, "5xx", "500");
    }

    @Door.Each
    void describesARefusal(Door door) throws Exception {
        String path = door.path("orders", "refused");
        gateway.backend("orders").health().operator().forceOpen();
        try {
            ask(path, "traceparent: " + traceParent("01"));
        } finally {
            gateway.backend("orders").health().operator().release();
        }

        Span server = collector.server(path);
        assertFailed(server, 503, "circuit-open", "circuit-open");
        assertThat(hex(server.getParentSpanId())).isEqualTo(caller);
        assertThat(collector.below(server)).isEmpty();
    }

    @Door.Each
    void describesADeadlineInTheAttemptToo(Door door) throws Exception {
        String path = door.path("hasty", "late");
        backend.behave(backend.hang());

        ask(path);

        Span server = collector.server(path);
        assertFailed(server, 504, "deadline-exceeded", "deadline-exceeded");
        Span attempt = onlyAttempt(server);
        assertThat(attributes(attempt))
                .contains(entry("error.type", "deadline-exceeded"), entry("weir.outcome", "deadline-exceeded"))
                .doesNotContainKey("http.response.status_code");
        assertThat(attempt.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
    }

    @Door.Each
    void describesAFailedConnectionAndItsFallback(Door door) throws Exception {
        String refused = door.path("refusing", "1");
        ask(refused);
        Span server = collector.server(refused);
        assertFailed(server, 502, "connect-failed", "connect-failed");
        assertThat(attributes(onlyAttempt(server))).containsEntry("error.type", "connect-failed");

        String covered = door.path("covered", "1");
        ask(covered);
        server = collector.server(covered);
        assertThat(attributes(server))
                .contains(
                        entry("http.response.status_code", 203L),
                        entry("weir.outcome", "fallback"),
                        entry("weir.reason", "connect-failed"))
                .doesNotContainKey("error.type");
        assertThat(server.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
    }

    @Door.Each
    void describesTheQueue(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> first =
                TestCaller.ask(gateway.port(), door.path("single", "first-" + trace));
        HeldCalls.Held held = calls.next();
        String path = door.path("single", "second");
        CompletableFuture<TestCaller.Answer> second = TestCaller.ask(gateway.port(), path);
        await().until(() -> gateway.backend("single").bulkhead().queued() == 1);
        held.answer();
        calls.next().answer();
        first.join();
        second.join();

        Span server = collector.server(path);
        assertThat(events(server)).containsExactly("weir.queued", "weir.permitted", "weir.attempted");
        assertThat(server.getEvents(1).getTimeUnixNano())
                .isGreaterThan(server.getEvents(0).getTimeUnixNano())
                .isLessThanOrEqualTo(server.getEvents(2).getTimeUnixNano());
        assertThat(server.getEvents(2).getTimeUnixNano())
                .isEqualTo(onlyAttempt(server).getStartTimeUnixNano());
        assertThat(attributes(server).get("weir.queue_ms"))
                .isInstanceOfSatisfying(
                        Double.class, millis -> assertThat(millis).isPositive());
    }

    @Door.Each
    void describesAQueueTimeout(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> first =
                TestCaller.ask(gateway.port(), door.path("impatient", "first-" + trace));
        HeldCalls.Held held = calls.next();
        String path = door.path("impatient", "second");
        ask(path);
        held.answer();
        first.join();

        Span server = collector.server(path);
        assertFailed(server, 503, "queue-timeout", "queue-timeout");
        assertThat(events(server)).containsExactly("weir.queued", "weir.left-queue");
        assertThat(collector.below(server)).isEmpty();
    }

    @Door.Each
    void describesACallerThatLeaves(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        backend.behave(calls);
        String path = door.path("orders", "left");
        try (TestCaller leaving = TestCaller.to(gateway.port())) {
            leaving.send(TestCaller.head("GET", path));
            calls.next();
        }

        Span server = collector.server(path);
        assertThat(attributes(server))
                .contains(entry("http.response.status_code", 499L), entry("weir.outcome", "client-closed"))
                .doesNotContainKey("error.type");
        assertThat(server.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
        assertThat(attributes(onlyAttempt(server))).containsEntry("weir.outcome", "client-closed");
        calls.release();
    }

    // ---------------------------------------------------------------- without an exchange

    @Test
    void describesARequestWithoutARoute() throws Exception {
        ask("/nowhere", "traceparent: " + traceParent("01"));

        Span server = collector.server("/nowhere");
        assertThat(server.getName()).isEqualTo("GET");
        assertThat(hex(server.getParentSpanId())).isEqualTo(caller);
        assertThat(attributes(server))
                .contains(
                        entry("http.response.status_code", 404L),
                        entry("weir.outcome", "no-route"),
                        entry("weir.door", "none"))
                .doesNotContainKeys("weir.route", "error.type");
    }

    @Test
    void describesARequestAnsweredByAFilter() throws Exception {
        String path = Door.GENERAL.path("moved", "1");
        ask(path, "traceparent: " + traceParent("01"));

        Span server = collector.server(path);
        assertThat(hex(server.getParentSpanId())).isEqualTo(caller);
        assertThat(attributes(server))
                .contains(
                        entry("http.response.status_code", 302L),
                        entry("weir.outcome", "3xx"),
                        entry("weir.route", Door.GENERAL.id("moved")),
                        entry("weir.door", "general"));
    }

    @Test
    void describesAMalformedRequest() throws IOException {
        String path = "/malformed-" + trace;
        try (TestCaller malformed = TestCaller.to(gateway.port())) {
            malformed.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n");
            assertThat(malformed.answer().status()).isEqualTo(400);
        }

        Span server = collector.server(path);
        assertThat(attributes(server))
                .contains(entry("http.response.status_code", 400L), entry("weir.outcome", "bad-request"));
        assertThat(gateway.logged(path).path("trace_id").asString()).isEqualTo(hex(server.getTraceId()));
    }

    @Test
    void namesSpansByKnownMethodsOnly() throws IOException {
        String path = Door.COMPILED.path("orders", "brew");
        try (TestCaller brewing = TestCaller.to(gateway.port())) {
            brewing.request("BREW", path);
        }

        Span server = collector.server(path);
        assertThat(server.getName()).isEqualTo("HTTP " + Door.COMPILED.id("orders"));
        assertThat(attributes(server))
                .contains(entry("http.request.method", "_OTHER"), entry("http.request.method_original", "BREW"));
    }

    // ---------------------------------------------------------------- helpers

    private static TestCaller.Answer ask(String target, String... fields) throws IOException {
        return TestCaller.get(gateway.port(), target, fields);
    }

    private static void assertFailed(Span server, int status, String outcome, String type) {
        assertThat(attributes(server))
                .contains(
                        entry("http.response.status_code", (long) status),
                        entry("weir.outcome", outcome),
                        entry("error.type", type));
        assertThat(server.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
    }

    private static Span onlyAttempt(Span server) {
        List<Span> attempts = collector.below(server);
        assertThat(attempts).hasSize(1);
        return attempts.getFirst();
    }

    private static List<String> events(Span span) {
        return span.getEventsList().stream().map(Span.Event::getName).toList();
    }

    private String traceParent(String flags) {
        return "00-" + trace + "-" + caller + "-" + flags;
    }

    private static String randomHex(int bytes) {
        byte[] random = new byte[bytes];
        ThreadLocalRandom.current().nextBytes(random);
        random[0] |= 1;
        return HexFormat.of().formatHex(random);
    }
}
