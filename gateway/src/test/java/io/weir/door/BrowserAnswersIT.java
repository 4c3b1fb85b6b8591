package io.weir.door;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.apply.RoutesFactory;
import io.weir.compression.CompressionMemory;
import io.weir.edge.RawHttp2Client;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;

/** CORS and compression of single routes, through both doors. */
@ExtendWith(Leaks.class)
class BrowserAnswersIT extends OneBackendTests {

    private static final String SHOP = "https://shop.example";
    private static final String JSON = "{\"order\":\"" + "abc".repeat(1_000) + "\"}";
    private static final String LARGE = "A line of text that repeats itself.\n".repeat(4_000);
    private static final AtomicInteger received = new AtomicInteger();
    /** Releases one event of the stream each. */
    private static final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    @BeforeAll
    static void start() {
        backend = TestBackend.start(BrowserAnswersIT::serve);
        gateway = TestGateway.setup()
                .weir("edge: { compression-memory: 1MB }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .matched("post", "orders", "Method=POST", "cors: { allowed-origins: [ \"" + SHOP + "\" ] }")
                .route(
                        "cors",
                        "orders",
                        "cors: { allowed-origins: [ \"" + SHOP + "\" ], allowed-methods: [ GET, PUT ],"
                                + " allowed-headers: [ x-trace ], exposed-headers: [ Retry-After ],"
                                + " allow-credentials: true }")
                .route("closed", "orders", "cors: { allowed-origins: [ \"*\" ] }", "access: { allow: [ 10.0.0.0/8 ] }")
                .route("plain", "orders")
                .route("gzip", "orders", "compression: { min-size: 1KB }")
                .filtered(
                        "kept",
                        "orders",
                        "\"SetResponseHeader=Cache-Control, no-transform\"",
                        "compression: { min-size: 1KB }")
                .route(
                        "events",
                        "orders",
                        "mode: stream",
                        "compression: { min-size: 0B, content-types: [ text/event-stream ] }")
                .start();
    }

    private static void serve(TestBackend.Request request, TestBackend.Conversation conversation)
            throws IOException, InterruptedException {
        received.incrementAndGet();
        String target = request.target();
        if (target.endsWith("/json")) {
            answer(request, conversation, "Content-Type: application/json\r\nETag: \"x\"\r\n", JSON);
        } else if (target.endsWith("/large")) {
            answer(request, conversation, "Content-Type: text/plain\r\nAccept-Ranges: bytes\r\n", LARGE);
        } else if (target.endsWith("/small")) {
            answer(request, conversation, "Content-Type: text/plain\r\n", "small");
        } else if (target.endsWith("/encoded")) {
            answer(request, conversation, "Content-Type: text/plain\r\nContent-Encoding: br\r\n", LARGE);
        } else if (target.endsWith("/unmodified")) {
            conversation.write("HTTP/1.1 304 X\r\nETag: \"x\"\r\n\r\n");
        } else if (target.endsWith("/broken")) {
            conversation.write("HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n"
                    + "x".repeat(50_000));
            conversation.close();
        } else if (target.endsWith("/events")) {
            conversation.write(
                    "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (String event = events.take(); !event.isEmpty(); event = events.take()) {
                conversation.write(Integer.toHexString(event.length()) + "\r\n" + event + "\r\n");
            }
            conversation.write("0\r\n\r\n");
        } else {
            conversation.write("HTTP/1.1 200 X\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Max-Age: 5\r\n"
                    + "Vary: Accept\r\nContent-Length: 2\r\n\r\nok");
        }
    }

    private static void answer(
            TestBackend.Request request, TestBackend.Conversation conversation, String fields, String body)
            throws IOException {
        conversation.write("HTTP/1.1 200 X\r\n" + fields + "Content-Length: " + body.length() + "\r\n\r\n"
                + ("HEAD".equals(request.method()) ? "" : body));
    }

    private static TestCaller.Answer ask(String method, String path, String... fields) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            return caller.request(method, path, fields);
        }
    }

    // ---------------------------------------------------------------- CORS

    @Door.Both
    void answersPreflightRequestsItself(Door door) throws IOException {
        int before = received.get();
        String path = door.path("cors", "1");

        TestCaller.Answer answer = ask(
                "OPTIONS",
                path,
                "Origin: " + SHOP,
                "Access-Control-Request-Method: PUT",
                "Access-Control-Request-Headers: x-trace");

        assertThat(answer.status()).isEqualTo(204);
        assertThat(answer.headers())
                .containsEntry("access-control-allow-origin", SHOP)
                .containsEntry("access-control-allow-methods", "GET, PUT")
                .containsEntry("access-control-allow-headers", "x-trace")
                .containsEntry("access-control-allow-credentials", "true")
                .containsEntry("access-control-max-age", "1800")
                .containsKey("x-request-id")
                .doesNotContainKey("transfer-encoding");
        assertThat(received.get()).as("the backend sees nothing").isEqualTo(before);
        gateway.assertTold(door, "cors", path, 204, "2xx");
        assertThat(gateway.metered(door, door.id("cors"), "2xx"))
                .as("the tag door")
                .isEqualTo(gateway.metered(door.id("cors"), "2xx"));
    }

    @Door.Both
    void refusesPreflightRequestsOfOtherPages(Door door) throws IOException {
        int before = received.get();
        TestCaller.Answer origin = ask(
                "OPTIONS",
                door.path("cors", "2"),
                "Origin: https://evil.example",
                "Access-Control-Request-Method: PUT");
        TestCaller.Answer method =
                ask("OPTIONS", door.path("cors", "3"), "Origin: " + SHOP, "Access-Control-Request-Method: DELETE");
        TestCaller.Answer outside =
                ask("OPTIONS", door.path("closed", "4"), "Origin: " + SHOP, "Access-Control-Request-Method: GET");

        assertRefused(gateway, door, "cors", door.path("cors", "2"), origin, Reason.FORBIDDEN);
        assertRefused(gateway, door, "cors", door.path("cors", "3"), method, Reason.FORBIDDEN);
        assertRefused(gateway, door, "closed", door.path("closed", "4"), outside, Reason.FORBIDDEN);
        assertThat(origin.header("access-control-allow-origin")).isNull();
        assertThat(received.get()).isEqualTo(before);
    }

    /** The route that the request itself will match counts, not the one that matches {@code OPTIONS}. */
    @Door.Both
    void findsTheRouteByTheMethodThatIsAskedFor(Door door) throws IOException {
        TestCaller.Answer post =
                ask("OPTIONS", door.path("post", "11"), "Origin: " + SHOP, "Access-Control-Request-Method: POST");
        TestCaller.Answer get =
                ask("OPTIONS", door.path("post", "12"), "Origin: " + SHOP, "Access-Control-Request-Method: GET");

        assertThat(post.status()).isEqualTo(204);
        assertThat(post.header("access-control-allow-methods")).isEqualTo("GET, HEAD, POST");
        assertRefused(get, Reason.NO_ROUTE);
    }

    @Door.Both
    void passesOtherOptionsRequestsOn(Door door) throws IOException {
        assertThat(ask("OPTIONS", door.path("cors", "5")).text())
                .as("no preflight request")
                .isEqualTo("ok");
        TestCaller.Answer withoutRules =
                ask("OPTIONS", door.path("plain", "6"), "Origin: " + SHOP, "Access-Control-Request-Method: GET");
        assertThat(withoutRules.text()).isEqualTo("ok");
        assertThat(withoutRules.header("access-control-allow-origin"))
                .as("the backend's")
                .isEqualTo("*");
    }

    @Door.Both
    void replacesTheBackendsFields(Door door) throws IOException {
        TestCaller.Answer allowed = ask("GET", door.path("cors", "7"), "Origin: " + SHOP);
        TestCaller.Answer other = ask("GET", door.path("cors", "8"), "Origin: https://evil.example");
        TestCaller.Answer without = ask("GET", door.path("cors", "9"));

        assertThat(allowed.text()).isEqualTo("ok");
        assertThat(cors(allowed))
                .isEqualTo(Map.of(
                        "access-control-allow-origin", SHOP,
                        "access-control-allow-credentials", "true",
                        "access-control-expose-headers", "Retry-After",
                        "vary", "Accept, origin"));
        assertThat(other.text()).as("passes").isEqualTo("ok");
        assertThat(cors(other)).isEqualTo(Map.of("vary", "Accept, origin"));
        assertThat(cors(without)).isEqualTo(Map.of("vary", "Accept, origin"));
    }

    private static Map<String, String> cors(TestCaller.Answer answer) {
        return answer.headers().entrySet().stream()
                .filter(field -> field.getKey().startsWith("access-control-")
                        || field.getKey().equals("vary"))
                .collect(java.util.stream.Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    @Door.Both
    void letsPagesReadRefusals(Door door) throws IOException {
        TestCaller.Answer refused = ask("GET", door.path("closed", "10"), "Origin: " + SHOP);

        assertRefused(refused, Reason.FORBIDDEN);
        assertThat(refused.header("access-control-allow-origin")).isEqualTo("*");
    }

    // ---------------------------------------------------------------- compression

    private static String decoded(TestCaller.Answer answer) throws IOException {
        assertThat(answer.header("content-encoding")).isEqualTo("gzip");
        return new String(
                new GZIPInputStream(new ByteArrayInputStream(answer.body())).readAllBytes(), StandardCharsets.UTF_8);
    }

    @Door.Both
    void compressesASmallAnswerAsAWhole(Door door) throws IOException {
        TestCaller.Answer answer = ask("GET", door.path("gzip", "json"), "Accept-Encoding: gzip");

        assertThat(decoded(answer)).isEqualTo(JSON);
        assertThat(answer.header("content-length")).isEqualTo(String.valueOf(answer.body().length));
        assertThat(answer.body().length).isLessThan(200);
        assertThat(answer.header("etag")).isEqualTo("W/\"x\"");
        assertThat(answer.header("vary")).isEqualTo("accept-encoding");
        JsonNode line = gateway.logged(door.path("gzip", "json"));
        assertThat(line.path("bytes").asInt()).as("the backend's").isEqualTo(JSON.length());
    }

    @Door.Both
    void compressesALargeAnswerAsItArrives(Door door) throws IOException {
        TestCaller.Answer answer = ask("GET", door.path("gzip", "large"), "Accept-Encoding: br, gzip;q=0.8");

        assertThat(decoded(answer)).isEqualTo(LARGE);
        assertThat(answer.header("content-length")).isNull();
        assertThat(answer.header("transfer-encoding")).isEqualTo("chunked");
        assertThat(answer.header("accept-ranges")).isNull();
        assertThat(answer.body().length).isLessThan(LARGE.length() / 10);
    }

    @Door.Both
    void leavesOtherAnswersAsTheyAre(Door door) throws IOException {
        TestCaller.Answer notAccepted = ask("GET", door.path("gzip", "large"));
        TestCaller.Answer small = ask("GET", door.path("gzip", "small"), "Accept-Encoding: gzip");
        TestCaller.Answer encoded = ask("GET", door.path("gzip", "encoded"), "Accept-Encoding: gzip, br");
        TestCaller.Answer kept = ask("GET", door.path("kept", "large"), "Accept-Encoding: gzip");
        TestCaller.Answer plain = ask("GET", door.path("plain", "large"), "Accept-Encoding: gzip");

        assertThat(notAccepted.text()).isEqualTo(LARGE);
        assertThat(notAccepted.header("vary")).isEqualTo("accept-encoding");
        assertThat(small.text()).isEqualTo("small");
        assertThat(encoded.text()).isEqualTo(LARGE);
        assertThat(encoded.header("content-encoding")).isEqualTo("br");
        assertThat(kept.text()).as("a filter forbids it").isEqualTo(LARGE);
        assertThat(plain.text()).isEqualTo(LARGE);
        assertThat(plain.header("vary")).isNull();
        assertThat(List.of(notAccepted, small, encoded, kept, plain))
                .allSatisfy(
                        answer -> assertThat(answer.header("content-length")).isNotNull());
    }

    @Door.Both
    void givesHeadAndNotModifiedTheFieldsOfGet(Door door) throws IOException {
        TestCaller.Answer head = ask("HEAD", door.path("gzip", "large"), "Accept-Encoding: gzip");
        TestCaller.Answer unmodified = ask("GET", door.path("gzip", "unmodified"), "Accept-Encoding: gzip");

        assertThat(head.header("content-encoding")).isEqualTo("gzip");
        assertThat(head.header("content-length")).isNull();
        assertThat(head.header("vary")).isEqualTo("accept-encoding");
        assertThat(unmodified.status()).isEqualTo(304);
        assertThat(unmodified.header("etag")).isEqualTo("W/\"x\"");
    }

    @Door.Both
    void passesEachEventOfAStreamOnAtOnce(Door door) throws Exception {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("events", "events"), "Accept-Encoding: gzip"));
            assertThat(caller.readHead().header("content-encoding")).isEqualTo("gzip");
            Inflater inflater = new Inflater(true);
            StringBuilder text = new StringBuilder();
            List<String> parts = new ArrayList<>();
            boolean hasHeader = false;
            for (String event : List.of("data: 1\n\n", "data: 2\n\n", "data: 3\n\n")) {
                events.add(event);
                String wanted = text + event;
                while (text.length() < wanted.length()) {
                    byte[] chunk = caller.chunk().getBytes(StandardCharsets.ISO_8859_1);
                    int skipped = hasHeader ? 0 : 10;
                    hasHeader = true;
                    inflater.setInput(chunk, skipped, chunk.length - skipped);
                    byte[] out = new byte[1_000];
                    text.append(new String(out, 0, inflater.inflate(out), StandardCharsets.US_ASCII));
                }
                parts.add(text.toString());
            }
            events.add("");
            assertThat(parts).containsExactly("data: 1\n\n", "data: 1\n\ndata: 2\n\n", text.toString());
            inflater.end();
            while (!caller.chunk().isEmpty()) {
                // The end of the stream.
            }
        }
    }

    @Door.Both
    void freesTheMemoryOfCallersThatLeave(Door door) throws Exception {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("events", "events"), "Accept-Encoding: gzip"));
            caller.readHead();
            events.add("data: 1\n\n");
            caller.chunk();
            await().until(() -> memory().underWay() == 1);
            caller.reset();
        }
        await().until(() -> memory().underWay() == 0);
        events.add("");
        await().until(events::isEmpty);
    }

    @Door.Both
    void breaksOffWhatTheBackendBreaksOff(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("gzip", "broken"), "Accept-Encoding: gzip"));

            assertThat(caller.isReset()).isTrue();
        }
        gateway.calm();
        await().until(() -> memory().underWay() == 0);
    }

    @Door.Both
    void compressesForHttp2Callers(Door door) throws IOException {
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            caller.headers(1, RawHttp2Client.get(door.path("gzip", "large")).set("accept-encoding", "gzip"), true);

            assertThat(caller.next()).isEqualTo("headers 1 200");
            assertThat(caller.lastHeaders().get("content-encoding")).hasToString("gzip");
            assertThat(caller.lastHeaders().get("transfer-encoding")).isNull();
            String event = caller.next();
            while (!event.endsWith(" end")) {
                assertThat(event).startsWith("data 1 ");
                event = caller.next();
            }
        }
    }

    private static CompressionMemory memory() {
        return gateway.bean(RoutesFactory.class).compressionMemory();
    }
}
