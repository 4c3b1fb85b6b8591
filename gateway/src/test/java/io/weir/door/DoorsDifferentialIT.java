package io.weir.door;

import static io.weir.door.DoorRow.request;
import static io.weir.door.DoorRow.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.door.DoorRow.Case;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * The compiled door behaves exactly as Spring Cloud Gateway does: each row's requests pass both doors to the
 * same routes, byte for byte, and must have the same result at the backend and at the caller.
 *
 * <p>A route before all others forces the general door: it may match every request with
 * {@code X-Door: general}, and never matches. So not only the filters but all predicates are Spring Cloud
 * Gateway's own.
 */
@ExtendWith(Leaks.class)
class DoorsDifferentialIT {

    /** A row of its own, because the doors differ. */
    private static final DoorRow UNKNOWN_METHOD =
            row("a method that Spring does not know").when("Method=PURGE");

    private static final Pattern TIMING = Pattern.compile("queue;dur=(\\d+\\.\\d{3}), backend;dur=(\\d+\\.\\d{3})");

    /** The requests that the backend has received. */
    private static final BlockingQueue<String> BACKEND_REQUESTS = new LinkedBlockingQueue<>();

    private static TestBackend backend;

    private static TestGateway gateway;

    private static volatile String answer = DoorRow.OK;

    private static int requests;

    @BeforeAll
    static void start() {
        backend = TestBackend.start(DoorsDifferentialIT::serve);
        gateway = TestGateway.start("""
            weir:
              edge: { allow-encoded-slashes: true, server-timing: true }
              backends:
                orders: { uri: "%1$s", deadline: 20s }
                narrow: { uri: "%1$s", deadline: 15s, bulkhead: { max-concurrent-calls: 1, queue-capacity: 1, max-wait-duration: 10s } }
            spring.cloud.gateway.server.webflux:
              default-filters: ['AddRequestHeader=X-Edge, default', 'AddResponseHeader=X-Edge, default']
              routes:
              - { id: gate, uri: "backend://orders", order: -1000, predicates: ["Header=X-Door, general", "Before=2020-01-01T00:00:00Z"] }
              - { id: narrow, uri: "backend://narrow", predicates: ["Header=X-Row, narrow"] }
            """.formatted(backend.uri())
                + Stream.concat(rows(), Stream.of(UNKNOWN_METHOD))
                        .map(DoorRow::yaml)
                        .collect(Collectors.joining()));
    }

    @AfterEach
    void assertNothingHeld() {
        gateway.assertNothingHeld();
        gateway.calm();
        backend.behave(DoorsDifferentialIT::serve);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    static Stream<DoorRow> rows() {
        return Stream.of(PredicateRows.all(), FilterRows.all(), MessageRows.all())
                .flatMap(rows -> rows);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("rows")
    void bothDoorsBehaveTheSame(DoorRow row) throws Exception {
        answer = row.answer();
        List<OutcomePair> pairs = new ArrayList<>();
        for (Case testCase : row.cases()) {
            OutcomePair pair =
                    new OutcomePair(outcome(row, testCase, Door.COMPILED), outcome(row, testCase, Door.GENERAL));
            assertThat(pair.compiled().text())
                    .as("%s", testCase)
                    .isEqualTo(pair.general().text());
            assertThat(pair.compiled().target()).as("%s", testCase).isEqualTo(testCase.target());
            assertThat(pair.compiled().status())
                    .as("%s%n%s", testCase, pair.compiled().text())
                    .isEqualTo(testCase.status());
            pairs.add(pair);
        }
        assertSameRoute(row, pairs);
    }

    /** The outcomes of one request at both doors. */
    private record OutcomePair(Outcome compiled, Outcome general) {}

    /**
     * Checks that the expected routes are compiled, and that both doors found the same route for each
     * request.
     */
    private static void assertSameRoute(DoorRow row, List<OutcomePair> pairs) {
        List<RouteView> general = gateway.bean(LiveRoutes.class).get().views().stream()
                .filter(view -> row.routeIds().contains(view.id()) && view.why() != null)
                .toList();
        assertThat(general.isEmpty()).as("%s", general).isEqualTo(row.isCompiled());
        Map<String, JsonNode> lines = await().until(
                        () -> gateway.log("\"" + row.id() + "/").stream()
                                .collect(Collectors.toMap(
                                        line -> line.path("request_id").asString(""),
                                        Function.identity(),
                                        (one, other) -> other)),
                        found -> pairs.stream()
                                .allMatch(pair -> found.containsKey(
                                                pair.compiled().id())
                                        && found.containsKey(pair.general().id())));
        for (OutcomePair pair : pairs) {
            JsonNode one = Objects.requireNonNull(lines.get(pair.compiled().id()));
            JsonNode other = Objects.requireNonNull(lines.get(pair.general().id()));
            for (String key : List.of("outcome", "status", "path", "host", "route")) {
                assertThat(one.path(key)).as("%s of %s and %s", key, one, other).isEqualTo(other.path(key));
            }
            if (pair.compiled().target() != null) {
                assertThat(one.path("backend")).as("%s and %s", one, other).isEqualTo(other.path("backend"));
                assertThat(other.path("door").asString()).as("%s", other).isEqualTo("general");
                assertThat(one.path("door").asString())
                        .as("%s", one)
                        .isIn(row.isCompiled() ? List.of("compiled") : List.of("compiled", "general"));
            }
        }
    }

    // ---------------------------------------------------------------- difference

    /** Spring Cloud Gateway compares methods by identity, so an unknown method never matches there. */
    @Test
    void onlyTheCompiledDoorMatchesAMethodUnknownToSpring() throws Exception {
        Case purge = request("PURGE /m HTTP/1.1");
        assertThat(outcome(UNKNOWN_METHOD, purge, Door.COMPILED).status()).isEqualTo(200);
        assertThat(outcome(UNKNOWN_METHOD, purge, Door.GENERAL).status()).isEqualTo(404);
        assertThat(outcome(UNKNOWN_METHOD, request("GET /m HTTP/1.1"), Door.COMPILED)
                        .status())
                .isEqualTo(404);
    }

    // ---------------------------------------------------------------- Server-Timing

    @Door.Each
    void writesTheTimesOfQueueAndBackend(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        backend.behave(calls);
        String[] fields = {"X-Row: narrow", "X-Door: " + door.word()};
        CompletableFuture<TestCaller.Answer> first = TestCaller.ask(gateway.port(), "/1", fields);
        HeldCalls.Held served = calls.next();
        CompletableFuture<TestCaller.Answer> second = TestCaller.ask(gateway.port(), "/2", fields);
        await().until(() -> gateway.backend("narrow").bulkhead().queued() == 1);
        long queuedSince = System.nanoTime();
        double queued = millisSince(queuedSince);
        served.answer();
        HeldCalls.Held waited = calls.next();
        long servedSince = System.nanoTime();
        double taken = millisSince(servedSince);
        waited.answer();

        Matcher atOnce = timing(first.join());
        Matcher queuedFirst = timing(second.join());

        assertThat(Double.parseDouble(queuedFirst.group(1))).isGreaterThanOrEqualTo(queued);
        assertThat(Double.parseDouble(queuedFirst.group(2))).isGreaterThanOrEqualTo(taken);
        assertThat(Double.parseDouble(atOnce.group(2))).isGreaterThanOrEqualTo(queued);
    }

    /** In the resolution of {@code Server-Timing}: three decimals. */
    private static double millisSince(long nanos) {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - nanos) / 1_000.0;
    }

    private static Matcher timing(TestCaller.Answer answered) {
        String value = String.valueOf(answered.header("server-timing"));
        Matcher matcher = TIMING.matcher(value);
        assertThat(matcher.matches()).as(value).isTrue();
        return matcher;
    }

    // ---------------------------------------------------------------- the two ends

    /**
     * The outcome of a request.
     *
     * @param text everything that both ends have received, without the parts that cannot be equal
     */
    private record Outcome(String id, int status, @Nullable String target, String text) {}

    private static Outcome outcome(DoorRow row, Case testCase, Door door) throws Exception {
        BACKEND_REQUESTS.clear();
        String id = "%s/%s-%05d".formatted(row.id(), door.word().charAt(0), requests++);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(testCase.bytes(row.field(), "X-Door: " + door.word(), "X-Request-Id: " + id));
            ReceivedResponse response = receive(caller, testCase.head().startsWith("HEAD "));
            String seen = BACKEND_REQUESTS.poll();
            assertThat(BACKEND_REQUESTS)
                    .as("more than one request at the backend")
                    .isEmpty();
            String text = (seen == null ? "nothing at the backend" : seen) + "\n--\n" + response.text() + "\n--\n";
            if (testCase.isHttp10()) {
                // Reactor Netty writes a complete response in the caller's version, and closes; it writes a
                // response in parts in HTTP/1.1, and says whether it closes. An HTTP/1.0 caller accepts both.
                text = text.replace("HTTP/1.0 ", "HTTP/1.1 ").replace("connection: close\n", "");
                // A caller that closes before the gateway knows of the last byte's flush has left.
                await().until(() -> !gateway.log(id).isEmpty());
            } else {
                text += followingResponse(caller);
            }
            return new Outcome(
                    id,
                    response.status(),
                    seen == null ? null : seen.substring(seen.indexOf(' ') + 1, seen.indexOf(" HTTP/")),
                    text.replace(id, "<id>")
                            .replace("x-door: " + door.word(), "x-door: <door>")
                            .replaceAll("dur=\\d+\\.\\d{3}", "dur=<ms>")
                            .replaceAll("(?m)^date: .*$", "date: <date>")
                            .replaceAll("(?m)^x-request-timeout: .*$", "x-request-timeout: <ms>")
                            .replaceAll("(?m)^sec-websocket-key: .*$", "sec-websocket-key: <key>"));
        }
    }

    private record ReceivedResponse(int status, String text) {}

    private static ReceivedResponse receive(TestCaller caller, boolean toHead) throws IOException {
        String line = caller.line();
        List<String> fields = fields(caller);
        StringBuilder informational = new StringBuilder();
        while (line.startsWith("HTTP/1.1 1")) {
            informational.append(line).append('\n');
            line = caller.line();
            fields = fields(caller);
        }
        int status = Integer.parseInt(line.substring(9, 12));
        String body = toHead || status == 204 || status == 304 ? "" : body(caller, fields);
        return new ReceivedResponse(status, informational + message(line, fields, body));
    }

    private static String body(TestCaller caller, List<String> fields) throws IOException {
        if (fields.stream().anyMatch(field -> field.equalsIgnoreCase("transfer-encoding: chunked"))) {
            StringBuilder body = new StringBuilder();
            for (String chunk = caller.chunk(); !chunk.isEmpty(); chunk = caller.chunk()) {
                body.append(chunk);
            }
            return body + "\n" + fields(caller);
        }
        byte[] bytes =
                fields.stream().anyMatch(field -> field.toLowerCase(Locale.ROOT).startsWith("content-length:"))
                        ? caller.in().readNBytes(length(fields))
                        : caller.in().readAllBytes();
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static int length(List<String> fields) {
        return fields.stream()
                .filter(field -> field.toLowerCase(Locale.ROOT).startsWith("content-length:"))
                .mapToInt(field ->
                        Integer.parseInt(field.substring(field.indexOf(':') + 1).strip()))
                .findFirst()
                .orElse(0);
    }

    private static List<String> fields(TestCaller caller) throws IOException {
        List<String> fields = new ArrayList<>();
        for (String field = caller.line(); !field.isEmpty(); field = caller.line()) {
            fields.add(field);
        }
        return fields;
    }

    /** The start of the next response on the connection, which reveals wrong framing of the first one. */
    private static String followingResponse(TestCaller caller) throws IOException {
        try {
            caller.send("GET /next HTTP/1.1\r\nHost: weir.test\r\nConnection: close\r\n\r\n");
            return caller.line();
        } catch (EOFException | SocketException e) {
            return "closed";
        }
    }

    private static void serve(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        List<String> fields = request.head().lines().toList();
        BACKEND_REQUESTS.add(message(request.line(), fields, receivedBody(fields, conversation)));
        String whole = answer;
        conversation.write(request.method().equals("HEAD") ? whole.substring(0, whole.indexOf("\r\n\r\n") + 4) : whole);
        if (whole.contains("Connection: close")) {
            conversation.close();
        }
    }

    private static String receivedBody(List<String> fields, TestBackend.Conversation conversation) throws IOException {
        if (fields.stream().noneMatch(field -> field.equalsIgnoreCase("transfer-encoding: chunked"))) {
            return new String(conversation.in().readNBytes(length(fields)), StandardCharsets.ISO_8859_1);
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int size = conversation.chunkSize(); size > 0; size = conversation.chunkSize()) {
            body.write(conversation.in().readNBytes(size));
            conversation.line();
        }
        for (String trailer = conversation.line();
                trailer != null && !trailer.isEmpty();
                trailer = conversation.line()) {
            body.write(("\n" + trailer).getBytes(StandardCharsets.ISO_8859_1));
        }
        return body.toString(StandardCharsets.ISO_8859_1);
    }

    /** A message with its fields sorted by name; fields of one name keep their order. */
    private static String message(String line, List<String> fields, String body) {
        return Stream.concat(
                        Stream.of(line),
                        fields.stream()
                                .map(field ->
                                        field.substring(0, field.indexOf(':')).toLowerCase(Locale.ROOT)
                                                + field.substring(field.indexOf(':')))
                                .sorted(Comparator.comparing(field -> field.substring(0, field.indexOf(':')))))
                .collect(Collectors.joining("\n", "", "\n\n" + body));
    }
}
