package io.weir.lastgood;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.weir.faults.FaultOrder;
import io.weir.faults.FaultScope;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFaults;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** The last good answer in place of a failure, through the real gateway; and where it must not be used. */
class LastGoodIT extends OneBackendTests {

    private static final String OPEN = "weir; hit; fwd=stale; detail=circuit-open";
    private static final String LARGE = "0123456789".repeat(2_000);
    private static TestBackend spare;
    private static TestHttp2Backend http2;

    /** Ends the calls that hang. */
    private final CountDownLatch released = new CountDownLatch(1);

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        spare = TestBackend.healthy();
        http2 = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 4, queue-capacity: 0 }")
                .backend("brief", backend.uri(), "deadline: 700ms", "bulkhead: { max-concurrent-calls: 100 }")
                .backend("spare", spare.uri(), "deadline: 60s")
                .route("kept", "orders", "last-good: { max-answer: 32KB }")
                .route("late", "brief", "last-good: { max-age: 10m }")
                .backend("faulty", backend.uri(), "deadline: 500ms")
                .backend("h2", http2.uri(), "deadline: 60s", "protocol: h2")
                .weir("faults: { enabled: true }")
                .route("faulty", "faulty", "last-good: { max-age: 10m }")
                .route("h2", "h2", "last-good: { max-age: 10m }")
                .route("zipped", "orders", "last-good: { max-age: 10m }", "compression: { min-size: 10B }")
                .filtered(
                        "filtered",
                        "orders",
                        "\"AddResponseHeader=x-filtered, yes\", \"SetPath=/same\"",
                        "last-good: { max-age: 10m }")
                .route("plain", "orders")
                .route("static", "orders", "last-good: { max-age: 10m }", "fallback: { status: 203, body: prepared }")
                .route("other", "orders", "last-good: { max-age: 10m }", "fallback: { backend: spare }")
                .start();
    }

    @AfterAll
    static void stopOthers() {
        spare.close();
        http2.close();
    }

    @BeforeEach
    void empty() {
        gateway.calm();
        store().empty(null);
        spare.behave(TestBackend.ECHO);
    }

    @AfterEach
    void release() {
        released.countDown();
        gateway.calm();
        gateway.assertNothingHeld();
        // Given back on the thread that puts answers in place.
        await().atMost(TestGateway.PATIENCE).until(() -> store().recordingBytes() == 0);
    }

    // ---------------------------------------------------------------- where it is used

    @Door.Both
    void replacesARefusalOfAnOpenBreaker(Door door) throws IOException {
        String path = door.path("kept", "open");
        backend.behave(answering("ETag: \"1\"\r\nAge: 7\r\n", "known"));
        TestCaller.Answer fresh = TestCaller.get(gateway.port(), path);
        assertThat(fresh.text()).isEqualTo("known");
        assertThat(fresh.header("cache-status")).isNull();
        awaitStored(1);
        opens();

        TestCaller.Answer stale = TestCaller.get(gateway.port(), path);

        assertThat(stale.status()).isEqualTo(200);
        assertThat(stale.text()).isEqualTo("known");
        assertThat(stale.header("cache-status")).isEqualTo(OPEN);
        assertThat(Integer.parseInt(stale.header("age"))).isBetween(7, 60);
        assertThat(stale.header("etag")).isEqualTo("\"1\"");
        assertThat(stale.header("proxy-status")).isNull();
        assertThat(stale.header("retry-after")).isNull();
        assertThat(stale.header("date")).isNotNull();
        await().untilAsserted(() -> assertThat(gateway.lines(path)).hasSize(2));
        JsonNode line = gateway.lines(path).getLast();
        assertThat(line.path("outcome").asString()).isEqualTo("fallback");
        assertThat(line.path("reason").asString()).isEqualTo("circuit-open");
        assertThat(line.path("status").asInt()).isEqualTo(200);
        assertThat(line.path("bytes").asInt()).isEqualTo(5);
    }

    @Door.Each
    void replacesARefusalAtTheDeadlineAndOfAFullBulkhead(Door door) throws Exception {
        String path = door.path("late", "hangs");
        backend.behave(answering("", "known"));
        TestCaller.get(gateway.port(), path);
        awaitStored(1);
        backend.behave((request, conversation) -> released.await());

        TestCaller.Answer stale = TestCaller.get(gateway.port(), path);

        assertThat(stale.text()).isEqualTo("known");
        assertThat(stale.header("cache-status")).isEqualTo("weir; hit; fwd=stale; detail=deadline-exceeded");
    }

    @Door.Each
    void answersEveryKnownKeyWhileTheBackendHangs(Door door) throws Exception {
        backend.behave(TestBackend.ECHO);
        for (int key = 0; key < 20; key++) {
            get(door, "late", "key" + key);
        }
        awaitStored(20);
        backend.behave((request, conversation) -> released.await());

        for (int round = 0; round < 3; round++) {
            for (int key = 0; key < 20; key += 1 + round * 6) {
                TestCaller.Answer answer = get(door, "late", "key" + key);
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.text()).isEqualTo(door.path("late", "key" + key));
            }
        }
        assertThat(get(door, "late", "never-seen").status()).isIn(503, 504);
    }

    @Door.Each
    void replacesAFailureStatusOfTheBackend(Door door) throws IOException {
        for (int status : new int[] {500, 502, 503, 504, 599}) {
            String path = door.path("kept", "status" + status);
            backend.behave(answering("", "known"));
            TestCaller.get(gateway.port(), path);
            awaitStored(1);
            backend.behave((request, conversation) -> conversation.answer(status, "its own error"));

            TestCaller.Answer stale = TestCaller.get(gateway.port(), path);

            assertThat(stale.status()).isEqualTo(200);
            assertThat(stale.text()).isEqualTo("known");
            assertThat(stale.header("cache-status")).isEqualTo("weir; hit; fwd=stale; fwd-status=" + status);
            await().untilAsserted(() -> assertThat(gateway.lines(path)).hasSize(2));
            JsonNode line = gateway.lines(path).getLast();
            assertThat(line.path("outcome").asString()).isEqualTo("fallback");
            assertThat(line.path("detail").asString()).isEqualTo("the backend answered with status " + status);
            store().empty(null);
            gateway.calm();
        }
    }

    /** The rest of such an answer is not awaited. */
    @Door.Each
    void replacesAFailureStatusWhoseBodyIsLargeOrStalls(Door door) throws IOException {
        String path = door.path("kept", "stalls");
        backend.behave(answering("", "known"));
        TestCaller.get(gateway.port(), path);
        awaitStored(1);
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 503 X\r\nContent-Length: 100\r\n\r\nhalf");
            released.await();
        });
        assertThat(TestCaller.get(gateway.port(), path).text()).isEqualTo("known");
        backend.behave((request, conversation) -> conversation.answer(503, LARGE.repeat(10)));
        assertThat(TestCaller.get(gateway.port(), path).text()).isEqualTo("known");
    }

    /** As {@code perf/run chaos} does it: the gateway injects each fault into all calls of the route. */
    @ParameterizedTest
    @CsvSource({
        "hang, 0, circuit-open deadline-exceeded",
        "reset, 0, circuit-open connection-lost",
        "abort, 503, circuit-open fault-injected"
    })
    void answersEveryKnownKeyDuringAnExperiment(String fault, int status, String reasons) throws IOException {
        backend.behave(TestBackend.ECHO);
        for (Door door : Door.values()) {
            get(door, "faulty", "known");
        }
        awaitStored(2);
        InjectedFaults faults = gateway.bean(InjectedFaults.class);
        faults.start(
                new FaultOrder(
                        new FaultScope(null, "faulty", null),
                        FaultType.of(fault),
                        100,
                        null,
                        null,
                        null,
                        status,
                        0,
                        Duration.ofMinutes(1)),
                "a test");
        try {
            for (int call = 0; call < 30; call++) {
                Door door = Door.values()[call % 2];
                TestCaller.Answer answer = get(door, "faulty", "known");
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.text()).isEqualTo(door.path("faulty", "known"));
                assertThat(answer.header("cache-status"))
                        .matches("weir; hit; fwd=stale; detail=(" + reasons.replace(' ', '|') + ")");
            }
        } finally {
            faults.endAll("a test");
        }
    }

    @Door.Each
    void keepsAnswersOfAnHttp2Backend(Door door) throws IOException {
        http2.behave(stream -> stream.answer(200, 3, (byte) 'a', (byte) 'b', (byte) 'c'));
        assertThat(get(door, "h2", "sized").text()).isEqualTo("abc");
        http2.behave(stream -> {
            stream.begin(new DefaultHttp2Headers().status("200"), false);
            stream.write((byte) 'd', (byte) 'e');
            stream.end();
        });
        assertThat(get(door, "h2", "unsized").text()).isEqualTo("de");
        awaitStored(2);
        gateway.backend("h2").health().operator().forceOpen();
        assertThat(get(door, "h2", "sized").text()).isEqualTo("abc");
        assertThat(get(door, "h2", "unsized").text()).isEqualTo("de");
        assertThat(get(door, "h2", "never-seen").status()).isEqualTo(503);
    }

    /** Filters and compression see it as they see any answer. */
    @Door.Both
    void passesTheRoutesFiltersAndItsCompression(Door door) throws IOException {
        backend.behave(answering("ETag: \"1\"\r\n", LARGE));
        assertThat(get(door, "filtered", "1").status()).isEqualTo(200);
        assertThat(get(door, "zipped", "1").status()).isEqualTo(200);
        awaitStored(2);
        opens();
        TestCaller.Answer filtered = get(door, "filtered", "2");
        assertThat(filtered.text()).isEqualTo(LARGE);
        assertThat(filtered.header("x-filtered")).isEqualTo("yes");
        assertThat(filtered.header("via")).isEqualTo("1.1 weir");
        TestCaller.Answer zipped = get(door, "zipped", "1", "Accept-Encoding: gzip");
        assertThat(zipped.header("content-encoding")).isEqualTo("gzip");
        assertThat(zipped.header("cache-status")).isEqualTo(OPEN);
        assertThat(new String(
                        new GZIPInputStream(new ByteArrayInputStream(zipped.body())).readAllBytes(),
                        StandardCharsets.UTF_8))
                .isEqualTo(LARGE);
        assertThat(get(door, "zipped", "1", "Accept-Encoding: gzip", "If-None-Match: " + zipped.header("etag"))
                        .status())
                .isEqualTo(304);
        assertThat(get(door, "zipped", "1").text()).isEqualTo(LARGE);
    }

    /** The answer to HEAD has no body, so that it is no answer to GET. */
    @Door.Each
    void anAnswerToHeadIsForHeadOnly(Door door) throws IOException {
        String path = door.path("kept", "head");
        backend.behave((request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n"));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.request("HEAD", path);
            awaitStored(1);
            opens();
            assertThat(caller.request("HEAD", path).header("content-length")).isEqualTo("70");
            assertThat(caller.request("GET", path).status()).isEqualTo(503);
        }
    }

    @Door.Each
    void replacesALostConnection(Door door) throws IOException {
        String path = door.path("kept", "lost");
        backend.behave(answering("", "known"));
        TestCaller.get(gateway.port(), path);
        awaitStored(1);
        backend.behave((request, conversation) -> conversation.reset());
        TestCaller.Answer stale = TestCaller.get(gateway.port(), path);
        assertThat(stale.text()).isEqualTo("known");
        assertThat(stale.header("cache-status")).isEqualTo("weir; hit; fwd=stale; detail=connection-lost");
    }

    @Door.Each
    void precedesAStaticFallbackAndFollowsAFallbackBackend(Door door) throws IOException {
        backend.behave(answering("", "known"));
        get(door, "static", "1");
        get(door, "other", "1");
        awaitStored(2);
        opens();

        assertThat(get(door, "static", "1").text()).isEqualTo("known");
        assertThat(get(door, "static", "never-seen").text()).isEqualTo("prepared");
        // The other backend's answer is fresh, and is not kept.
        assertThat(get(door, "other", "1").text()).isEqualTo(door.path("other", "1"));
        spare.behave((request, conversation) -> conversation.answer(503, "its own error"));
        TestCaller.Answer stale = get(door, "other", "1");
        assertThat(stale.text()).isEqualTo("known");
        assertThat(stale.header("cache-status")).isEqualTo(OPEN);
        spare.behave((request, conversation) -> conversation.reset());
        assertThat(get(door, "other", "1").text()).isEqualTo("known");
        assertThat(store().entries()).isEqualTo(2);
    }

    // ---------------------------------------------------------------- where it must not be used

    @Door.Both
    void neverReplacesAnAnswerOfAHealthyBackend(Door door) throws IOException {
        String path = door.path("kept", "healthy");
        for (int i = 0; i < 5; i++) {
            String body = "answer " + i;
            backend.behave(answering("Cache-Control: max-age=3600\r\n", body));
            TestCaller.Answer answer = TestCaller.get(gateway.port(), path);
            assertThat(answer.text()).isEqualTo(body);
            assertThat(answer.header("cache-status")).isNull();
            assertThat(answer.header("age")).isNull();
        }
        for (int status : new int[] {204, 301, 400, 404, 410, 429}) {
            backend.behave((request, conversation) ->
                    conversation.write("HTTP/1.1 " + status + " X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"));
            TestCaller.Answer answer = TestCaller.get(gateway.port(), path);
            assertThat(answer.status()).isEqualTo(status);
            assertThat(answer.header("cache-status")).isNull();
        }
    }

    @Door.Both
    void aKeyThatWasNeverSeenGetsTheRefusal(Door door) throws IOException {
        backend.behave(answering("", "known"));
        get(door, "kept", "seen");
        awaitStored(1);
        opens();
        String path = door.path("kept", "never-seen");
        assertRefused(gateway, door, "kept", path, TestCaller.get(gateway.port(), path), Reason.CIRCUIT_OPEN);
    }

    @Door.Each
    void neverAnswersAnotherMethodOrARequestWithABody(Door door) throws IOException {
        String path = door.path("kept", "methods");
        backend.behave((request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, "known");
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (String method : new String[] {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
                assertThat(caller.request(method, path, "Content-Length: 0").status())
                        .isEqualTo(200);
            }
            caller.send(TestCaller.head("GET", path, "Content-Length: 4") + "body");
            assertThat(caller.answer().status()).isEqualTo(200);
            caller.request("GET", path);
            awaitStored(1);
            opens();
            for (String method : new String[] {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
                assertThat(caller.request(method, path, "Content-Length: 0").status())
                        .as(method)
                        .isEqualTo(503);
            }
            caller.send(TestCaller.head("GET", path, "Content-Length: 4") + "body");
            assertThat(caller.answer().status()).isEqualTo(503);
            assertThat(caller.request("GET", path).status()).isEqualTo(200);
        }
    }

    @Door.Each
    void keepsNothingWithoutTheProperty(Door door) throws IOException {
        backend.behave(answering("", "known"));
        get(door, "plain", "1");
        get(door, "kept", "1");
        awaitStored(1);
        opens();
        assertThat(get(door, "plain", "1").status()).isEqualTo(503);
    }

    // ---------------------------------------------------------------- complete answers only

    @Door.Each
    void keepsACompleteAnswerInWhateverWayItArrives(Door door) throws IOException {
        backend.behave(answering("", LARGE));
        get(door, "kept", "relayed");
        backend.behave(
                (request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "4e20\r\n" + LARGE + "\r\n5\r\n-more\r\n0\r\n\r\n"));
        get(door, "kept", "chunked");
        CountDownLatch hasBegun = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none");
            hasBegun.await();
            conversation.write("two");
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("kept", "pauses")));
            caller.readHead();
            hasBegun.countDown();
            assertThat(new String(caller.in().readNBytes(6), StandardCharsets.UTF_8))
                    .isEqualTo("onetwo");
        }
        backend.behave(answering("", ""));
        get(door, "kept", "empty");
        awaitStored(4);
        opens();
        assertThat(get(door, "kept", "relayed").text()).isEqualTo(LARGE);
        assertThat(get(door, "kept", "chunked").text()).isEqualTo(LARGE + "-more");
        assertThat(get(door, "kept", "pauses").text()).isEqualTo("onetwo");
        assertThat(get(door, "kept", "empty").status()).isEqualTo(200);
    }

    @Door.Each
    void keepsNoIncompleteOrTooLargeAnswer(Door door) throws Exception {
        backend.behave(answering("", LARGE + LARGE));
        get(door, "kept", "too-large");
        backend.behave(
                (request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + ("4e20\r\n" + LARGE + "\r\n").repeat(2) + "0\r\n\r\n"));
        get(door, "kept", "too-large-chunks");
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end");
            conversation.close();
        });
        get(door, "kept", "until-close");
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\nthe beginning");
            conversation.reset();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("kept", "broken")));
            assertThat(caller.isReset()).isTrue();
        }
        backend.behave((request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                + "Trailer: digest\r\n\r\n3\r\nabc\r\n0\r\ndigest: 1\r\n\r\n"));
        get(door, "kept", "trailers");
        backend.behave((request, conversation) -> conversation.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\ndigest: 1\r\n\r\n"));
        get(door, "kept", "unannounced-trailers");
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\nthe beginning");
            released.await();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("kept", "left")));
            caller.readHead();
        }
        gateway.logged(door.path("kept", "left"));
        backend.behave(answering("", "complete"));
        get(door, "kept", "complete");
        awaitStored(1);
        opens();
        for (String rest : new String[] {
            "too-large", "too-large-chunks", "until-close", "broken", "trailers", "unannounced-trailers", "left"
        }) {
            assertThat(get(door, "kept", rest).status()).as(rest).isEqualTo(503);
        }
        assertThat(get(door, "kept", "complete").text()).isEqualTo("complete");
    }

    // ---------------------------------------------------------------- HEAD, conditions, ranges, encodings

    @Door.Both
    void answersHeadAndConditionsAndRanges(Door door) throws IOException {
        String path = door.path("kept", "conditions");
        backend.behave(answering(
                "ETag: \"v1\"\r\nLast-Modified: Sat, 01 Aug 2026 10:00:00 GMT\r\nAccept-Ranges: bytes\r\n", "known"));
        TestCaller.get(gateway.port(), path);
        awaitStored(1);
        opens();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer head = caller.request("HEAD", path);
            assertThat(head.status()).isEqualTo(200);
            assertThat(head.header("content-length")).isEqualTo("5");
            assertThat(head.header("cache-status")).isEqualTo(OPEN);

            for (String condition : new String[] {
                "If-None-Match: \"v1\"",
                "If-None-Match: W/\"v1\"",
                "If-None-Match: \"v0\", \"v1\"",
                "If-None-Match: *",
                "If-Modified-Since: Sat, 01 Aug 2026 10:00:00 GMT"
            }) {
                TestCaller.Answer unmodified = caller.request("GET", path, condition);
                assertThat(unmodified.status()).as(condition).isEqualTo(304);
                assertThat(unmodified.header("etag")).isEqualTo("\"v1\"");
                assertThat(unmodified.header("cache-status")).isEqualTo(OPEN);
                assertThat(unmodified.header("age")).isNotNull();
                assertThat(unmodified.header("content-type")).isNull();
            }
            for (String condition : new String[] {
                "If-None-Match: \"v0\"",
                "If-Modified-Since: Sat, 01 Aug 2026 09:59:59 GMT",
                "If-Modified-Since: soon",
                "Range: bytes=1-2",
                "Range: bytes=1-2\r\nIf-Range: \"v1\"",
                "Range: bytes=1-2\r\nIf-Range: \"v0\"",
                "Range: bytes=900-"
            }) {
                TestCaller.Answer whole = caller.request("GET", path, condition);
                assertThat(whole.status()).as(condition).isEqualTo(200);
                assertThat(whole.text()).isEqualTo("known");
            }
            for (String condition : new String[] {
                "If-Match: \"v1\"", "If-Match: *", "If-Unmodified-Since: Sat, 01 Aug 2026 10:00:00 GMT"
            }) {
                assertThat(caller.request("GET", path, condition).status())
                        .as(condition)
                        .isEqualTo(503);
            }
        }
    }

    @Door.Each
    void keepsNoPartOfAnAnswer(Door door) throws IOException {
        String path = door.path("kept", "part");
        backend.behave((request, conversation) ->
                conversation.write("HTTP/1.1 206 X\r\nContent-Range: bytes 1-2/5\r\nContent-Length: 2\r\n\r\nno"));
        assertThat(TestCaller.get(gateway.port(), path, "Range: bytes=1-2").status())
                .isEqualTo(206);
        opens();
        assertThat(TestCaller.get(gateway.port(), path, "Range: bytes=1-2").status())
                .isEqualTo(503);
        assertThat(TestCaller.get(gateway.port(), path).status()).isEqualTo(503);
    }

    @Door.Each
    void keepsAnEncodedAnswerForCallersWhoAcceptTheEncoding(Door door) throws IOException {
        String path = door.path("kept", "encoded");
        backend.behave((request, conversation) -> {
            boolean isEncoded = "gzip".equals(request.header("accept-encoding"));
            answering(
                            "Vary: Accept-Encoding\r\n" + (isEncoded ? "Content-Encoding: gzip\r\n" : ""),
                            isEncoded ? "zipped" : "plain")
                    .serve(request, conversation);
        });
        TestCaller.get(gateway.port(), path, "Accept-Encoding: gzip");
        TestCaller.get(gateway.port(), path);
        awaitStored(3);
        opens();
        TestCaller.Answer encoded = TestCaller.get(gateway.port(), path, "Accept-Encoding: gzip");
        assertThat(encoded.text()).isEqualTo("zipped");
        assertThat(encoded.header("content-encoding")).isEqualTo("gzip");
        assertThat(encoded.header("vary")).isEqualTo("Accept-Encoding");
        assertThat(TestCaller.get(gateway.port(), path).text()).isEqualTo("plain");
        assertThat(TestCaller.get(gateway.port(), path, "Accept-Encoding: br").status())
                .isEqualTo(503);
    }

    // ---------------------------------------------------------------- fixtures

    private static LastGoodStore store() {
        return gateway.bean(LastGoodStore.class);
    }

    /** Answers are put in place on another thread. */
    private static void awaitStored(long entries) {
        await().atMost(TestGateway.PATIENCE)
                .untilAsserted(() -> assertThat(store().entries()).isEqualTo(entries));
    }

    private static void opens() {
        gateway.backend("orders").health().operator().forceOpen();
    }

    private static TestBackend.Behaviour answering(String fields, String body) {
        return (request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + fields
                + "Content-Length: " + body.length() + "\r\n\r\n" + body);
    }
}
