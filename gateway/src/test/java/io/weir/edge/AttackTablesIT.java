package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.yaml.snakeyaml.Yaml;

/**
 * The cases in {@code src/test/resources/attacks}: messages that smuggle, split, forge or confuse, and their
 * harmless neighbours, each with what the standards allow. After each case, other callers are served.
 */
@Tag("full")
class AttackTablesIT extends OneGatewayTests {

    private static final Path TABLES = Path.of("src", "test", "resources", "attacks");
    private static final Pattern WORD = Pattern.compile(" ");
    private static final Pattern OR = Pattern.compile("\\|");
    private static final String HOST = "Host: weir.test\r\n";
    private static final String ORDERS = "orders";
    private static final String HTTP2 = "orders2";
    private static final String PROBE = "probe";
    private static final String FAILED = "failed";
    private static final String MALFORMED = "malformed";

    /** A whole request, as the backend received it. */
    private record Received(String target, String head, String body, List<String> trailers) {}

    private static final List<Received> RECEIVED = new CopyOnWriteArrayList<>();
    private static TestBackend backend;
    private static TestHttp2Backend http2Backend;
    /** Another caller. Its connection is kept: a new one for each case would take as long as the case. */
    private static TestCaller other;

    /** A row of a table. */
    private record Case(String kind, Map<String, Object> row) {

        String text(String key) {
            Object value = row.get(key);
            return value == null ? "" : value.toString();
        }

        List<?> list(String key) {
            return row.get(key) instanceof List<?> list ? list : List.of();
        }

        /** Whether a refusal ends the connection: where the next request begins is unknown. */
        boolean endsWithRefusal() {
            return kind.endsWith(" of requests");
        }

        /** The right results of each request or answer, one after the other. */
        List<List<String>> gets() {
            return WORD.splitAsStream(text("gets"))
                    .map(one -> List.of(OR.split(one)))
                    .toList();
        }

        @Override
        public String toString() {
            return kind + ": " + text("is");
        }
    }

    @BeforeAll
    static void start() throws IOException {
        backend = TestBackend.start(AttackTablesIT::echo);
        http2Backend = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(ORDERS, backend.uri(), "deadline: 20s")
                .backend(HTTP2, http2Backend.uri(), "protocol: h2", "deadline: 20s")
                .route(ORDERS, ORDERS)
                .route(HTTP2, HTTP2)
                .start();
        other = TestCaller.to(gateway.port());
    }

    @BeforeEach
    void calm() {
        gateway.calm();
        RECEIVED.clear();
    }

    /** Of each case alone: a look at the neighbour after each would take as long as the cases. */
    @AfterEach
    @Override
    protected void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() throws IOException {
        other.close();
        gateway.assertNeighbourUnharmed();
        gateway.close();
        backend.close();
        http2Backend.close();
    }

    private static Stream<Arguments> cases(String file) throws IOException {
        Map<String, List<Map<String, Object>>> kinds = new Yaml().load(Files.readString(TABLES.resolve(file)));
        List<Arguments> cases = new ArrayList<>();
        kinds.forEach((kind, rows) -> {
            for (Map<String, Object> row : rows) {
                for (Door door : Door.values()) {
                    cases.add(Arguments.of(new Case(kind, row), door));
                }
            }
        });
        return cases.stream();
    }

    static Stream<Arguments> http1Requests() throws IOException {
        return cases("requests-http1.yml");
    }

    static Stream<Arguments> http2Requests() throws IOException {
        return cases("requests-http2.yml");
    }

    static Stream<Arguments> http1Answers() throws IOException {
        return cases("answers-http1.yml");
    }

    static Stream<Arguments> http2Answers() throws IOException {
        return cases("answers-http2.yml");
    }

    // ---------------------------------------------------------------- requests

    /** Answers with the target, and records each request whose body has come to its end. */
    private static void echo(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        StringBuilder body = new StringBuilder();
        List<String> trailers = new ArrayList<>();
        String length = request.header("content-length");
        if (length != null) {
            body.append(latin(conversation.in().readNBytes(Integer.parseInt(length))));
        } else if (request.header("transfer-encoding") != null) {
            for (int size = conversation.chunkSize(); size > 0; size = conversation.chunkSize()) {
                body.append(latin(conversation.in().readNBytes(size)));
                conversation.line();
            }
            for (String line = conversation.line(); line != null && !line.isEmpty(); line = conversation.line()) {
                trailers.add(line);
            }
        }
        RECEIVED.add(new Received(request.target(), request.head(), body.toString(), trailers));
        conversation.answer(200, request.target());
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    /** Replaces the abbreviations of a request's bytes. */
    private static String request(String text, String path) {
        return text.replace("{get}", "GET " + path + " HTTP/1.1\r\n" + HOST)
                .replace("{post}", "POST " + path + " HTTP/1.1\r\n" + HOST)
                .replace("{path}", path);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("http1Requests")
    void aRequestOverHttp1IsReadInOneWayOrRefused(Case one, Door door) throws IOException {
        backend.behave(AttackTablesIT::echo);
        String path = door.path(ORDERS, "case");
        int served = 0;
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(request(one.text("send"), path));
            int status = 0;
            for (List<String> right : one.gets()) {
                status = caller.answer().status();
                assertThat(right).as("the status").contains(Integer.toString(status));
                served += status < 400 ? 1 : 0;
            }
            if (status < 400) {
                assertServed(caller, door);
            } else {
                assertEndsOrServes(caller, one.endsWithRefusal(), door);
            }
        }
        assertReceived(one, served);
        assertOthersServed(door, ORDERS);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("http2Requests")
    void aRequestOverHttp2IsReadInOneWayOrRefused(Case one, Door door) throws IOException {
        backend.behave(AttackTablesIT::echo);
        String path = door.path(ORDERS, "case");
        try (RawHttp2Client client = RawHttp2Client.to(gateway.port())) {
            boolean hasBody = !one.text("body").isEmpty();
            List<?> trailers = one.list("trailers");
            client.headers(1, fields(one.list("send"), path), !hasBody);
            if (hasBody) {
                client.data(1, Integer.parseInt(one.text("body")), trailers.isEmpty());
            }
            if (!trailers.isEmpty()) {
                client.headers(1, fields(trailers, path), true);
            }
            String seen = result(client);
            List<String> right = new ArrayList<>(one.gets().getFirst());
            if (right.contains(MALFORMED)) {
                right.addAll(List.of("400", "reset"));
            }
            assertThat(right).contains(seen);
            assertReceived(one, seen.equals("200") ? 1 : 0);
            client.headers(3, RawHttp2Client.get(door.path(ORDERS, PROBE)), true);
            assertThat(result(client)).as("another stream").isEqualTo("200");
        }
        assertOthersServed(door, ORDERS);
    }

    private static Http2Headers fields(List<?> lines, String path) {
        Http2Headers fields = new DefaultHttp2Headers(false);
        for (Object line : lines) {
            switch (line.toString()) {
                case "{get}" -> fields.method("GET").scheme("http").path(path).authority("weir.test");
                case "{post}" -> fields.method("POST").scheme("http").path(path).authority("weir.test");
                default -> {
                    String field = line.toString().replace("{path}", path);
                    int colon = field.indexOf(": ");
                    fields.add(field.substring(0, colon), field.substring(colon + 2));
                }
            }
        }
        return fields;
    }

    /** The status of the next answer whose stream has ended, or {@code reset}, or another event. */
    private static String result(RawHttp2Client client) throws IOException {
        String status = "";
        while (true) {
            String event = client.next();
            if (event.startsWith("headers ") && status.isEmpty()) {
                status = WORD.splitAsStream(event).toList().get(2);
            } else if (event.startsWith("reset ")) {
                // After a whole refusal, the rest of the request is not wanted.
                return status.isEmpty() ? "reset" : status;
            } else if (!event.startsWith("data ")) {
                return event;
            }
            if (event.endsWith(" end")) {
                return status;
            }
        }
    }

    /** Asserts that the backend received the requests that were served, with the right body and fields. */
    private static void assertReceived(Case one, int served) {
        List<Received> received =
                RECEIVED.stream().filter(each -> !each.target().endsWith(PROBE)).toList();
        assertThat(received).as("requests at the backend").hasSize(served);
        if (served == 0) {
            return;
        }
        Received last = received.getLast();
        String sent =
                one.text("backend").isEmpty() ? one.text("body") : "\0".repeat(Integer.parseInt(one.text("backend")));
        assertThat(last.body()).isEqualTo(sent);
        assertFields(one, last.head() + String.join("\r\n", last.trailers()));
    }

    private static void assertFields(Case one, String head) {
        String fields = "\r\n" + head.toLowerCase(Locale.ROOT);
        if (!one.text("has").isEmpty()) {
            assertThat(fields).contains("\r\n" + one.text("has").toLowerCase(Locale.ROOT));
        }
        if (!one.text("lacks").isEmpty()) {
            assertThat(fields).doesNotContain("\r\n" + one.text("lacks"));
        }
    }

    /** After a refusal, nothing that the caller has sent before is read as a request. */
    private static void assertEndsOrServes(TestCaller caller, boolean mustEnd, Door door) throws IOException {
        String rest;
        try {
            caller.send(TestCaller.head("GET", door.path(ORDERS, PROBE), "Connection: close"));
            rest = latin(caller.in().readAllBytes());
        } catch (SocketException e) {
            // A reset: the gateway has not read all bytes.
            return;
        }
        if (mustEnd || rest.isEmpty()) {
            assertThat(rest).as("bytes after the refusal").isEmpty();
        } else {
            assertThat(rest).startsWith("HTTP/1.1 200 ").endsWith("\r\n\r\n" + door.path(ORDERS, PROBE));
        }
    }

    private static void assertServed(TestCaller caller, Door door) throws IOException {
        TestCaller.Answer answer = caller.request("GET", door.path(ORDERS, PROBE));
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo(door.path(ORDERS, PROBE));
    }

    // ---------------------------------------------------------------- answers

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("http1Answers")
    void anAnswerOverHttp1IsReadInOneWayOrFails(Case one, Door door) throws IOException {
        backend.behave((request, conversation) -> {
            if (request.target().endsWith(PROBE)) {
                echo(request, conversation);
                return;
            }
            conversation.write(one.text("answer").replace("{ok}", "HTTP/1.1 200 OK\r\n"));
            if (!one.text("ends").isEmpty()) {
                conversation.close();
            }
        });
        assertAnswer(one, door, ORDERS);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("http2Answers")
    void anAnswerOverHttp2IsReadInOneWayOrFails(Case one, Door door) throws IOException {
        http2Backend.behave(stream -> {
            String path = String.valueOf(stream.head().path());
            boolean isProbe = path.endsWith(PROBE);
            String data = isProbe ? path : one.text("data");
            Http2Headers head = isProbe ? new DefaultHttp2Headers().status("200") : fields(one.list("answer"), path);
            stream.begin(head, data.isEmpty());
            if (!data.isEmpty()) {
                stream.write(data.getBytes(StandardCharsets.ISO_8859_1));
                stream.end();
            }
        });
        assertAnswer(one, door, HTTP2);
    }

    private static void assertAnswer(Case one, Door door, String route) throws IOException {
        List<String> right = one.gets().getFirst();
        String method = one.text("to").isEmpty() ? "GET" : one.text("to");
        TestCaller.Answer answer = answer(method, door.path(route, "case"));
        if (answer == null || answer.status() == 502) {
            assertThat(right).as("a failure").contains(FAILED);
        } else {
            assertThat(right).as("the status").contains(Integer.toString(answer.status()));
            assertThat(answer.text()).isEqualTo(one.text("body"));
            StringBuilder head = new StringBuilder();
            answer.headers().forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
            answer.trailers().forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
            assertFields(one, head.toString());
        }
        assertOthersServed(door, route);
    }

    /** The answer to a request; null if it breaks off. */
    private static TestCaller.@Nullable Answer answer(String method, String path) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            return caller.request(method, path);
        } catch (EOFException | SocketException e) {
            return null;
        }
    }

    private static TestCaller.Answer answerToOther(String path) throws IOException {
        try {
            return other.request("GET", path);
        } catch (IOException e) {
            other.close();
            other = TestCaller.to(gateway.port());
            throw e;
        }
    }

    /** Other callers get their own answers, whatever is left on the connections. */
    private static void assertOthersServed(Door door, String route) throws IOException {
        gateway.calm();
        for (int i = 0; i < 2; i++) {
            TestCaller.Answer answer = answerToOther(door.path(route, PROBE));
            assertThat(answer.status()).as("the status of another caller").isEqualTo(200);
            assertThat(answer.text()).isEqualTo(door.path(route, PROBE));
        }
    }
}
