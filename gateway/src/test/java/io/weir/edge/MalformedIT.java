package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.http2.Http2Headers;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * A request that cannot be passed on gets a refusal, a line in the access log and a count in the metric,
 * wherever it is detected: in the codecs, at the front door, or in one of the two doors. No backend receives
 * any of it.
 *
 * <p>{@link Http1IT} and {@link Http2IT} test every kind of malformed request; this class tests a sample of
 * each kind with the whole gateway.
 */
@ExtendWith(Leaks.class)
class MalformedIT {

    private static final String BACKEND = "orders";
    private static final String HOST = "Host: weir.test\r\n";

    /** The path could not be decoded. */
    private static final String NO_PATH = "";

    private static TestBackend backend;
    private static TestGateway gateway;
    private int before;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("edge: { head-timeout: 1s, max-uri-length: 300B, max-header-size: 2KB, max-header-count: 20,"
                        + " max-body-size: 1000B }")
                .backend(BACKEND, backend.uri())
                .route(BACKEND, BACKEND)
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
        before = gateway.log().size();
    }

    @AfterEach
    void assertNoHarm() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
        gateway.assertFed(BACKEND, 0, 0, 0);
        await().until(() -> gateway.log().size() >= before + Door.values().length);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    /** Expects exactly one new line in the access log, and its count in the metric. */
    private void assertRecorded(String door, String route, String path, Reason reason) {
        await().until(() -> gateway.log().size() > before);
        List<JsonNode> lines = gateway.log().subList(before, gateway.log().size());
        assertThat(lines).hasSize(1);
        JsonNode line = lines.getFirst();
        assertThat(line.path("outcome").asString()).as("%s", line).isEqualTo(reason.word());
        assertThat(line.path("status").asInt())
                .as("%s", line)
                .isEqualTo(reason.status().code());
        assertThat(line.path("path").asString("")).as("%s", line).isEqualTo(path);
        assertThat(line.path("door").asString("none")).as("%s", line).isEqualTo(door);
        await().untilAsserted(() -> assertThat(gateway.metered(route, reason.word()))
                .as("weir.requests of %s, %s", route, reason.word())
                .isEqualTo(gateway.log().stream()
                        .filter(each -> each.path("route").asString("none").equals(route)
                                && each.path("outcome").asString().equals(reason.word()))
                        .count()));
        before++;
    }

    private static void assertRefusal(TestCaller.Answer answer, Reason reason) {
        assertThat(answer.status()).as(answer.text()).isEqualTo(reason.status().code());
        assertThat(answer.reason()).isEqualTo(reason.word());
        assertThat(answer.header("proxy-status"))
                .isEqualTo("weir; error=" + reason.proxyError() + "; details=\"" + reason.word() + "\"");
        assertThat(answer.header("cache-control")).isEqualTo("no-store");
    }

    // ---------------------------------------------------------------- without a route

    static Stream<Arguments> malformedHttp1() {
        String path = "/compiled/orders/1";
        String get = "GET " + path + " HTTP/1.1\r\n";
        String post = "POST " + path + " HTTP/1.1\r\n" + HOST;
        return Stream.of(
                Arguments.of("no request line", "nonsense\r\n\r\n", NO_PATH, Reason.BAD_REQUEST),
                Arguments.of("no host", get + "\r\n", path, Reason.BAD_REQUEST),
                Arguments.of("two hosts", get + HOST + HOST + "\r\n", path, Reason.BAD_REQUEST),
                Arguments.of("a list of hosts", get + "Host: a,b\r\n\r\n", path, Reason.BAD_REQUEST),
                Arguments.of("a port that is none", get + "Host: a:99999\r\n\r\n", path, Reason.BAD_REQUEST),
                Arguments.of("tabs", "GET\t" + path + "\tHTTP/1.1\r\n" + HOST + "\r\n", NO_PATH, Reason.BAD_REQUEST),
                Arguments.of("a tab", "GET " + path + "\tHTTP/1.1\r\n" + HOST + "\r\n", NO_PATH, Reason.BAD_REQUEST),
                Arguments.of(
                        "form feed", "GET\f" + path + " HTTP/1.1\r\n" + HOST + "\r\n", NO_PATH, Reason.BAD_REQUEST),
                Arguments.of(
                        "fragment", "GET " + path + "#a HTTP/1.1\r\n" + HOST + "\r\n", path + "#a", Reason.BAD_REQUEST),
                Arguments.of(
                        "another version", "GET " + path + " HTTP/1.7\r\n" + HOST + "\r\n", path, Reason.BAD_REQUEST),
                Arguments.of(
                        "connect",
                        "CONNECT weir.test:80 HTTP/1.1\r\n" + HOST + "\r\n",
                        "weir.test:80",
                        Reason.BAD_REQUEST),
                Arguments.of(
                        "two framings",
                        post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                        path,
                        Reason.BAD_REQUEST),
                Arguments.of(
                        "two lengths",
                        post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
                        path,
                        Reason.BAD_REQUEST),
                Arguments.of("folded field", get + HOST + "X: a\r\n b\r\n\r\n", NO_PATH, Reason.BAD_REQUEST),
                Arguments.of("bare CR", get + HOST + "X: a\rb\r\n\r\n", NO_PATH, Reason.BAD_REQUEST),
                Arguments.of(
                        "long target",
                        "GET /" + "a".repeat(400) + " HTTP/1.1\r\n" + HOST + "\r\n",
                        NO_PATH,
                        Reason.URI_TOO_LONG),
                Arguments.of(
                        "large head",
                        get + HOST + "X: " + "y".repeat(4_000) + "\r\n\r\n",
                        path,
                        Reason.HEADERS_TOO_LARGE),
                Arguments.of(
                        "many fields", get + HOST + "X: y\r\n".repeat(30) + "\r\n", path, Reason.HEADERS_TOO_LARGE),
                Arguments.of("head that stalls", get + "Hos", NO_PATH, Reason.CLIENT_TOO_SLOW),
                Arguments.of(
                        "encoded slash",
                        "GET /compiled/orders/a%2Fb HTTP/1.1\r\n" + HOST + "\r\n",
                        "/compiled/orders/a%2Fb",
                        Reason.BAD_REQUEST),
                Arguments.of(
                        "above the root",
                        "GET /../orders HTTP/1.1\r\n" + HOST + "\r\n",
                        "/../orders",
                        Reason.BAD_REQUEST),
                Arguments.of(
                        "broken escape",
                        "GET /compiled/orders/%zz HTTP/1.1\r\n" + HOST + "\r\n",
                        "/compiled/orders/%zz",
                        Reason.BAD_REQUEST),
                Arguments.of("no route", "GET /nowhere HTTP/1.1\r\n" + HOST + "\r\n", "/nowhere", Reason.NO_ROUTE));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("malformedHttp1")
    void refusesAndRecordsOverHttp1(String name, String bytes, String path, Reason reason) throws IOException {
        int asked = backend.requests();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(bytes);
            assertRefusal(caller.answer(), reason);
        }
        assertRecorded("none", "none", path, reason);
        assertThat(backend.requests()).as("requests at the backend").isEqualTo(asked);
    }

    static Stream<Arguments> malformedHttp2() {
        String path = "/compiled/orders/1";
        Http2Headers many = RawHttp2Client.get(path);
        for (int i = 0; i < 30; i++) {
            many.add("x" + i, "y");
        }
        return Stream.of(
                Arguments.of("no host", RawHttp2Client.request("GET", path), path, Reason.BAD_REQUEST),
                Arguments.of("a list", RawHttp2Client.request("GET", path).authority("a,b"), path, Reason.BAD_REQUEST),
                Arguments.of(
                        "no port", RawHttp2Client.request("GET", path).authority("a:99999"), path, Reason.BAD_REQUEST),
                Arguments.of("fragment", RawHttp2Client.get(path + "#a"), path + "#a", Reason.BAD_REQUEST),
                Arguments.of("another host", RawHttp2Client.get(path).add("host", "b"), path, Reason.BAD_REQUEST),
                Arguments.of("no token", RawHttp2Client.request("G T", path).authority("a"), path, Reason.BAD_REQUEST),
                Arguments.of(
                        "connect", RawHttp2Client.request("CONNECT", path).authority("a"), path, Reason.BAD_REQUEST),
                Arguments.of(
                        "long path",
                        RawHttp2Client.get("/" + "a".repeat(400)),
                        "/" + "a".repeat(400),
                        Reason.URI_TOO_LONG),
                Arguments.of(
                        "large field",
                        RawHttp2Client.get(path).add("x", "y".repeat(2_100)),
                        path,
                        Reason.HEADERS_TOO_LARGE),
                Arguments.of("many fields", many, path, Reason.HEADERS_TOO_LARGE),
                Arguments.of("encoded slash", RawHttp2Client.get("/a%2Fb"), "/a%2Fb", Reason.BAD_REQUEST),
                Arguments.of("above the root", RawHttp2Client.get("/../orders"), "/../orders", Reason.BAD_REQUEST),
                Arguments.of("no route", RawHttp2Client.get("/nowhere"), "/nowhere", Reason.NO_ROUTE));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("malformedHttp2")
    void refusesAndRecordsOverHttp2(String name, Http2Headers head, String path, Reason reason) throws IOException {
        int asked = backend.requests();
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, head, true);
            assertAnswered(client, 1, reason);
            assertRecorded("none", "none", path, reason);
            // Other streams of the connection still work.
            client.headers(3, RawHttp2Client.get("/nowhere"), true);
            assertAnswered(client, 3, Reason.NO_ROUTE);
            assertRecorded("none", "none", "/nowhere", Reason.NO_ROUTE);
        }
        assertThat(backend.requests()).as("requests at the backend").isEqualTo(asked);
    }

    private static void assertAnswered(RawHttp2Client client, int stream, Reason reason) throws IOException {
        assertThat(client.next())
                .isEqualTo("headers " + stream + " " + reason.status().code());
        assertThat(client.lastHeaders().get("proxy-status"))
                .asString()
                .isEqualTo("weir; error=" + reason.proxyError() + "; details=\"" + reason.word() + "\"");
        StringBuilder body = new StringBuilder();
        String event;
        do {
            event = client.next();
            assertThat(event).startsWith("data " + stream + " ");
            body.append(event, ("data " + stream + " ").length(), event.length());
        } while (!event.endsWith(" end"));
        assertThat(body.toString()).startsWith("{\"type\":\"urn:weir:" + reason.word() + "\"");
    }

    @Test
    void recordsAViolationWithoutAResponse() throws IOException {
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, RawHttp2Client.get("/nowhere"), true);
            assertAnswered(client, 1, Reason.NO_ROUTE);
            assertRecorded("none", "none", "/nowhere", Reason.NO_ROUTE);
            // A DATA frame without a stream.
            client.connection().send(new byte[] {0, 0, 1, 0, 0, 0, 0, 0, 0, 'x'});

            assertThat(client.next()).startsWith("goaway ").endsWith(" 1");
            assertRecorded("none", "none", NO_PATH, Reason.BAD_REQUEST);
        }
    }

    // ---------------------------------------------------------------- in a door

    /** A request with a body that the doors refuse: its fields, its body, and the reason. */
    private enum DoorRefusal {
        MALFORMED_TIMEOUT("X-Request-Timeout: soon\r\nContent-Length: 3\r\n", "abc", Reason.BAD_REQUEST),
        NO_TIME("X-Request-Timeout: 0ms\r\nContent-Length: 3\r\n", "abc", Reason.BAD_REQUEST),
        NEGATIVE_TIME("grpc-timeout: -1S\r\nContent-Length: 3\r\n", "abc", Reason.BAD_REQUEST),
        TOO_LONG_A_BODY("Content-Length: 1001\r\n", "", Reason.PAYLOAD_TOO_LARGE),
        TOO_LONG_A_BODY_IN_CHUNKS(
                "Transfer-Encoding: chunked\r\n",
                "3e9\r\n" + "x".repeat(1001) + "\r\n0\r\n\r\n",
                Reason.PAYLOAD_TOO_LARGE);

        private final String fields;
        private final String body;
        private final Reason reason;

        DoorRefusal(String fields, String body, Reason reason) {
            this.fields = fields;
            this.body = body;
            this.reason = reason;
        }

        private String path(Door door, String protocol) {
            return door.path(BACKEND, protocol + name().toLowerCase(Locale.ROOT));
        }
    }

    static Stream<Arguments> doorRefusals() {
        return Arrays.stream(DoorRefusal.values())
                .flatMap(each -> Tier.doors().stream().map(door -> Arguments.of(each, door)));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("doorRefusals")
    void refusesAndRecordsInADoor(DoorRefusal refusal, Door door) throws IOException {
        String path = refusal.path(door, "http1-");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send("POST " + path + " HTTP/1.1\r\n" + HOST + refusal.fields + "\r\n" + refusal.body);
            TestCaller.Answer answer = caller.answer();
            assertRefusal(answer, refusal.reason);
            assertThat(answer.header("x-request-id")).isNotEmpty();
        }
        assertRecorded(door.word(), door.id(BACKEND), path, refusal.reason);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("doorRefusals")
    void refusesAndRecordsInADoorOverHttp2(DoorRefusal refusal, Door door) throws IOException {
        String path = refusal.path(door, "http2-");
        Http2Headers head = RawHttp2Client.post(path);
        for (String field : refusal.fields.split("\r\n", -1)) {
            int colon = field.indexOf(':');
            if (colon > 0 && !field.startsWith("Transfer")) {
                head.add(field.substring(0, colon).toLowerCase(Locale.ROOT), field.substring(colon + 2));
            }
        }
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, head, false);
            if (refusal.fields.contains("chunked")) {
                client.data(1, 1001, false);
            }
            assertAnswered(client, 1, refusal.reason);
        }
        assertRecorded(door.word(), door.id(BACKEND), path, refusal.reason);
    }

    /** The edge refuses the request, and its exchange ends as if the caller had left: both are recorded. */
    @Door.Each
    void recordsAMalformedBodyForTheEdgeAndForTheExchange(Door door) throws IOException {
        String path = door.path(BACKEND, "chunks");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send("POST " + path + " HTTP/1.1\r\n" + HOST
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n");
            assertRefusal(caller.answer(), Reason.BAD_REQUEST);
        }
        await().until(() -> gateway.lines(path).size() >= 2);
        assertThat(gateway.lines(path))
                .extracting(line -> line.path("outcome").asString())
                .containsExactlyInAnyOrder("bad-request", "client-closed");
        before += 2;
        gateway.assertMetered(door.id(BACKEND), "client-closed");
    }
}
