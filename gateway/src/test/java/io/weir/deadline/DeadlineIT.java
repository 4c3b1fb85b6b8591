package io.weir.deadline;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import tools.jackson.databind.JsonNode;

/** The deadline: one time budget for a whole exchange; the backend receives the remaining time. */
class DeadlineIT extends GatewayTests {

    private static UnwillingPort silent;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        silent = UnwillingPort.silent();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("patient", backend.uri(), "deadline: 60s", "circuit-breaker: { minimum-number-of-calls: 20 }")
                .backend(
                        "brief",
                        backend.uri(),
                        "deadline: 800ms",
                        "circuit-breaker: { slow-call-duration-threshold: 400ms }")
                .backend(
                        "begun",
                        backend.uri(),
                        "deadline: 1500ms",
                        "circuit-breaker: { slow-call-duration-threshold: 750ms }")
                .backend(
                        "flowing",
                        backend.uri(),
                        "deadline: 1s",
                        "stream-idle-timeout: 1s",
                        "circuit-breaker: { slow-call-duration-threshold: 500ms }")
                .backend("lasting", backend.uri(), "deadline: 1s", "stream-idle-timeout: 60s")
                .backend(
                        "single",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 4, max-wait-duration: 60s }")
                .backend("silent", silent.uri(), "deadline: 20s")
                .backend(
                        "untaking",
                        backend.uri(),
                        "deadline: 1500ms",
                        "circuit-breaker: { slow-call-duration-threshold: 1ms }")
                .backend("retried", backend.uri(), "deadline: 2s", "retry-budget: { share: 100, floor: 1000 }")
                .route("patient", "patient")
                .route("shorter", "patient", "deadline: 500ms")
                .route("brief", "brief")
                .route("begun", "begun")
                .route("stream", "flowing", "mode: stream")
                .route("lasting", "lasting", "mode: stream")
                .route("single", "single")
                .route("silent", "silent", "deadline: 100ms")
                .route("untaking", "untaking")
                .route("retried", "retried", "retry: { max-attempts: 10, attempt-timeout: 250ms, backoff: 0s }")
                .start();
    }

    @AfterAll
    static void stopOthers() {
        silent.close();
    }

    // ---------------------------------------------------------------- phases within the deadline

    @Door.Any
    void includesTheWaitForAPermit(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("single", "first"));
        HeldCalls.Held held = calls.next();
        String path = door.path("single", "waits");

        TestCaller.Answer late = TestCaller.get(gateway.port(), path, "X-Request-Timeout: 600ms");

        JsonNode line = assertRefused(gateway, door, "single", path, late, Reason.DEADLINE_EXCEEDED);
        assertThat(line.path("attempts").asInt()).isZero();
        // The whole budget, minus the time that a busy machine needs before the call waits.
        assertThat(line.path("queue_ms").asDouble()).isGreaterThanOrEqualTo(100);
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
        assertThat(calls.calls()).as("calls in the backend").isEqualTo(1);
        gateway.assertFed("single", 1, 0, 0);
    }

    @Door.Any
    void includesTheConnect(Door door) throws IOException {
        String path = door.path("silent", "connects");

        TestCaller.Answer late = TestCaller.get(gateway.port(), path);

        // Less than the connect timeout.
        assertRefused(gateway, door, "silent", path, late, Reason.DEADLINE_EXCEEDED);
    }

    @Door.Any
    void includesEveryAttempt(Door door) throws IOException {
        String path = door.path("retried", "hangs");

        TestCaller.Answer late = TestCaller.get(gateway.port(), path);

        JsonNode line = assertRefused(gateway, door, "retried", path, late, Reason.DEADLINE_EXCEEDED);
        assertThat(line.path("total_ms").asDouble()).isGreaterThanOrEqualTo(2_000);
        // Eight attempts of 250 ms; fewer on a busy machine.
        int attempts = line.path("attempts").asInt();
        assertThat(attempts).isBetween(2, 9);
        // The last attempt may have been cancelled before it was sent.
        await().until(() -> calls.calls() >= attempts - 1);
        assertThat(calls.calls()).isLessThanOrEqualTo(attempts);
    }

    @Door.Each
    void includesAnUploadThatTheBackendDoesNotRead(Door door) throws Exception {
        AtomicInteger uploads = new AtomicInteger();
        // A call that its caller has held up is no evidence.
        await().until(() -> {
            uploadUntilRefused(door, uploads.incrementAndGet());
            return hasFedACall();
        });
        // Once the buffers in between are full, the delay is the backend's.
        gateway.assertFed("untaking", 1, 1, 1);
    }

    private static void uploadUntilRefused(Door door, int number) throws IOException {
        String path = door.path("untaking", "upload-" + number);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: 1000000000"));
            Thread.ofVirtual().start(() -> {
                try {
                    while (true) {
                        caller.send(new byte[65_536]);
                    }
                } catch (IOException e) {
                    // The gateway reads no more of the upload.
                }
            });

            TestCaller.Answer late = caller.answer();

            assertRefused(gateway, door, "untaking", path, late, Reason.DEADLINE_EXCEEDED);
        }
    }

    private static boolean hasFedACall() {
        gateway.assertNothingHeld();
        return gateway.backend("untaking").health().resilience4j().getMetrics().getNumberOfBufferedCalls() > 0;
    }

    // ---------------------------------------------------------------- sources of the deadline

    @ParameterizedTest(name = "{0}, {1}: {2}")
    @CsvSource({
        "COMPILED, X-Request-Timeout, 80ms",
        "COMPILED, X-Request-Timeout, 80",
        "COMPILED, grpc-timeout, 80m",
        "COMPILED, x-envoy-expected-rq-timeout-ms, 80",
        "GENERAL, X-Request-Timeout, 80ms",
        "GENERAL, X-Request-Timeout, 80",
        "GENERAL, grpc-timeout, 80m",
        "GENERAL, x-envoy-expected-rq-timeout-ms, 80"
    })
    void callerCanShortenIt(Door door, String field, String value) throws Exception {
        String path = door.path("patient", field + value);

        TestCaller.Answer late = TestCaller.get(gateway.port(), path, field + ": " + value);

        JsonNode line = assertRefused(gateway, door, "patient", path, late, Reason.DEADLINE_EXCEEDED);
        assertThat(line.path("total_ms").asDouble()).isBetween(80.0, 30_000.0);
        // A caller's short timeout is no evidence against a backend whose deadline is a minute.
        gateway.assertFed("patient", 0, 0, 0);
    }

    @Door.Any
    void smallestOfSeveralTimeoutsApplies(Door door) throws IOException {
        String path = door.path("patient", "several");

        TestCaller.Answer late = TestCaller.get(
                gateway.port(),
                path,
                "X-Request-Timeout: 50s",
                "grpc-timeout: 40S",
                "x-envoy-expected-rq-timeout-ms: 80");

        JsonNode line = assertRefused(gateway, door, "patient", path, late, Reason.DEADLINE_EXCEEDED);
        assertThat(line.path("total_ms").asDouble()).isBetween(80.0, 30_000.0);
    }

    @Door.Any
    void callerCannotLengthenIt(Door door) throws Exception {
        String path = door.path("brief", "longer");

        TestCaller.Answer late = TestCaller.get(gateway.port(), path, "X-Request-Timeout: 600s");

        assertThat(millis(calls.next().request())).isBetween(1, 800);
        assertRefused(gateway, door, "brief", path, late, Reason.DEADLINE_EXCEEDED);
        // The backend had its whole deadline, so the timeout counts as its failure.
        gateway.assertFed("brief", 1, 1, 1);
    }

    @Door.Any
    void routesShorterDeadlineApplies(Door door) throws Exception {
        String path = door.path("shorter", "route");

        TestCaller.Answer late = TestCaller.get(gateway.port(), path);

        assertThat(millis(calls.next().request())).isBetween(1, 500);
        assertRefused(gateway, door, "shorter", path, late, Reason.DEADLINE_EXCEEDED);
    }

    @Door.Any
    void refusesAMalformedTimeout(Door door) throws IOException {
        for (String[] wish : new String[][] {
            {"X-Request-Timeout", "0"},
            {"X-Request-Timeout", "-1ms"},
            {"X-Request-Timeout", "soon"},
            {"grpc-timeout", "80"},
            {"x-envoy-expected-rq-timeout-ms", "80ms"}
        }) {
            String path = door.path("patient", wish[0] + wish[1]);
            TestCaller.Answer answer = TestCaller.get(gateway.port(), path, wish[0] + ": " + wish[1]);
            JsonNode line = assertRefused(gateway, door, "patient", path, answer, Reason.BAD_REQUEST);
            assertThat(line.path("attempts").asInt()).isZero();
        }
        assertThat(calls.calls()).isZero();
    }

    // ---------------------------------------------------------------- remaining time

    @Door.Any
    void backendReceivesItInTheCallersDialect(Door door) throws Exception {
        calls.release();

        TestCaller.get(gateway.port(), door.path("patient", "plain"));
        TestBackend.Request plain = calls.next().request();
        assertThat(millis(plain)).isBetween(1, 60_000);
        assertThat(plain.header("grpc-timeout")).isNull();
        assertThat(plain.header("x-envoy-expected-rq-timeout-ms")).isNull();

        TestCaller.get(
                gateway.port(),
                door.path("patient", "envoy"),
                "x-envoy-expected-rq-timeout-ms: 30000",
                "X-Request-Timeout: 20s");
        TestBackend.Request envoy = calls.next().request();
        assertThat(millis(envoy)).isBetween(1, 20_000);
        assertThat(Integer.parseInt(field(envoy, "x-envoy-expected-rq-timeout-ms")))
                .isBetween(1, 20_000);

        TestCaller.get(gateway.port(), door.path("patient", "grpc"), "grpc-timeout: 30S", "X-Request-Timeout: 20s");
        TestBackend.Request grpc = calls.next().request();
        assertThat(millis(grpc)).isBetween(1, 20_000);
        assertThat(field(grpc, "grpc-timeout")).matches("[0-9]{1,8}u");
        assertThat(Integer.parseInt(field(grpc, "grpc-timeout").replace("u", "")))
                .isBetween(1, 20_000_000);
    }

    @Door.Any
    void isReducedByTheWait(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("single", "before"));
        HeldCalls.Held first = calls.next();
        String path = door.path("single", "behind");
        CompletableFuture<TestCaller.Answer> behind = TestCaller.ask(gateway.port(), path, "X-Request-Timeout: 30000");
        await().until(() -> gateway.backend("single").bulkhead().queued() == 1);
        first.answer();
        HeldCalls.Held second = calls.next();
        second.answer();

        assertThat(occupant.join().status()).isEqualTo(200);
        assertThat(behind.join().status()).isEqualTo(200);
        JsonNode line = gateway.assertTold(door, "single", path, 200, "2xx");
        double waited = line.path("queue_ms").asDouble();
        assertThat(waited).isPositive();
        assertThat((double) millis(second.request())).isLessThanOrEqualTo(30_000 - waited + 1);
    }

    // ---------------------------------------------------------------- after the answer has begun

    @Door.Each
    void resetsTheStreamOfAnHttp2CallerButNotItsConnection(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            if (request.target().endsWith("half")) {
                conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf");
                calls.serve(request, conversation);
            } else {
                conversation.answer(200, "whole");
            }
        });
        ConnectionProvider one = ConnectionProvider.create("h2", 1);
        HttpClient client = HttpClient.create(one)
                .protocol(HttpProtocol.H2C)
                .host("127.0.0.1")
                .port(gateway.port());
        String path = door.path("begun", "half");
        List<String> seen = new CopyOnWriteArrayList<>();

        for (String target : List.of(path, door.path("begun", "next"))) {
            client.get()
                    .uri(target)
                    .responseConnection((head, connection) -> {
                        seen.add(String.valueOf(connection.channel().parent().id()));
                        connection.addHandlerFirst(new ChannelInboundHandlerAdapter() {
                            @Override
                            public void userEventTriggered(ChannelHandlerContext context, Object event) {
                                if (event instanceof Http2ResetFrame) {
                                    seen.add("RST_STREAM");
                                }
                                context.fireUserEventTriggered(event);
                            }
                        });
                        return connection.inbound().receive().asString();
                    })
                    .doOnNext(seen::add)
                    .onErrorResume(e -> Flux.empty())
                    .blockLast(TestGateway.PATIENCE);
        }
        one.dispose();

        assertThat(seen).hasSize(5);
        assertThat(seen.get(1)).isEqualTo("half");
        assertThat(seen.get(2)).isEqualTo("RST_STREAM");
        assertThat(seen.get(3)).as("connection of the last stream").isEqualTo(seen.get(0));
        assertThat(seen.get(4)).isEqualTo("whole");
        gateway.assertTold(door, "begun", path, 200, "deadline-exceeded");
        gateway.assertFed("begun", 2, 1, 1);
    }

    // ---------------------------------------------------------------- streams

    @Door.Each
    void includesOnlyTheHeadOfAStream(Door door) throws Exception {
        String path = door.path("lasting", "long");
        CompletableFuture<TestCaller.Answer> answer = TestCaller.ask(gateway.port(), path);
        calls.next().then((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            long from = System.nanoTime();
            // Chunks for longer than the deadline.
            for (int i = 0; i < 20; i++) {
                conversation.write("1\r\nx\r\n");
                Thread.sleep(60);
            }
            assertThat(System.nanoTime() - from).isGreaterThan(1_000_000_000);
            conversation.write("0\r\n\r\n");
        });

        assertThat(answer.join().status()).isEqualTo(200);
        assertThat(answer.join().text()).isEqualTo("x".repeat(20));
        gateway.assertTold(door, "lasting", path, 200, "2xx");
    }

    @Door.Any
    void refusesAStreamWhoseHeadIsLate(Door door) throws IOException {
        String path = door.path("stream", "late");

        TestCaller.Answer late = TestCaller.get(gateway.port(), path);

        assertRefused(gateway, door, "stream", path, late, Reason.DEADLINE_EXCEEDED);
        gateway.assertFed("flowing", 1, 1, 1);
    }

    @Door.Both
    void resetsAnIdleStream(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
            calls.serve(request, conversation);
        });
        String path = door.path("stream", "still");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("x");
            assertThat(caller.isReset()).isTrue();
        }
        JsonNode line = gateway.assertTold(door, "stream", path, 200, "deadline-exceeded");
        assertThat(line.path("total_ms").asDouble()).isBetween(1_000.0, 30_000.0);
        // The head was in time, and an idle stream may be intended: no evidence against the backend.
        gateway.assertFed("flowing", 1, 0, 0);
    }

    private static int millis(TestBackend.Request request) {
        return Integer.parseInt(field(request, "x-request-timeout").replace("ms", ""));
    }

    private static String field(TestBackend.Request request, String name) {
        return Objects.requireNonNull(request.header(name), name);
    }
}
