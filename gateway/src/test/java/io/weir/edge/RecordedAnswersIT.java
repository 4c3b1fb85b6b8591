package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.metrics.GatewayMeter;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.ObservedGateway;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import io.weir.testing.Tier;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * The caller, the access log and the meters agree on every answer: for each protocol and door, answers of
 * each kind go over one connection, on HTTP/2 in streams at the same time.
 */
@ExtendWith(Leaks.class)
class RecordedAnswersIT {

    private static final String BACKEND = "orders";

    private static final List<Integer> STATUSES = List.of(200, 204, 304, 404, 500, 503);

    /**
     * Sizes of bodies: none; a small one; the largest one that is aggregated; the first one that is passed on
     * as it arrives; one that is larger than HTTP/2's initial window.
     */
    private static final List<Integer> SIZES = List.of(0, 5, 8192, 8193, 100_000);

    private static TestBackend backend;
    private static TestGateway clear;
    private static TestGateway tls;

    /** A caller's protocol. */
    enum Protocol {
        HTTP1,
        HTTP1_TLS,
        HTTP2,
        HTTP2_TLS;

        private boolean isTls() {
            return this == HTTP1_TLS || this == HTTP2_TLS;
        }

        private boolean isHttp2() {
            return this == HTTP2 || this == HTTP2_TLS;
        }

        private TestGateway gateway() {
            return isTls() ? tls : clear;
        }

        private RawHttp1Client connect() throws IOException {
            return new RawHttp1Client(
                    isTls()
                            ? TestTls.connect(gateway().port(), isHttp2() ? "h2" : "http/1.1")
                            : new Socket(
                                    InetAddress.getLoopbackAddress(), gateway().port()));
        }
    }

    /** A request, and the backend's answer to it. */
    private record Call(String path, String method, int status, int bytes, boolean isChunked) {

        private boolean hasAnswerBody() {
            return !method.equals("HEAD") && status != 204 && status != 304;
        }

        private int answerBytes() {
            return hasAnswerBody() ? bytes : 0;
        }
    }

    @BeforeAll
    static void start() {
        backend = TestBackend.start(RecordedAnswersIT::serve);
        clear = setup().start();
        tls = setup().line(TestTls.serverLines()).start();
    }

    private static TestGateway.Setup setup() {
        return TestGateway.setup()
                .backend(
                        BACKEND,
                        backend.uri(),
                        "deadline: 20s",
                        "bulkhead: { max-concurrent-calls: 100 }",
                        "circuit-breaker: { minimum-number-of-calls: 100000, sliding-window-size: 100000 }")
                .route(BACKEND, BACKEND);
    }

    @AfterEach
    void assertNothingHeld() {
        clear.assertNothingHeld();
        tls.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        clear.close();
        tls.close();
        backend.close();
    }

    /** Answers as the path says: {@code /DOOR/orders/PROTOCOL/METHOD/STATUS/BYTES/FRAMING}. */
    private static void serve(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        conversation.drain(request);
        String[] path = request.target().split("/", -1);
        int status = Integer.parseInt(path[5]);
        int bytes = Integer.parseInt(path[6]);
        boolean hasBody = !request.method().equals("HEAD") && status != 204 && status != 304;
        boolean isChunked = path[7].equals("chunked");
        String framing =
                status == 204 ? "" : isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: " + bytes + "\r\n";
        String body = "x".repeat(bytes);
        String chunks = (bytes == 0 ? "" : Integer.toHexString(bytes) + "\r\n" + body + "\r\n") + "0\r\n\r\n";
        conversation.write(
                "HTTP/1.1 " + status + " X\r\n" + framing + "\r\n" + (!hasBody ? "" : isChunked ? chunks : body));
    }

    static Stream<Arguments> protocolsAndDoors() {
        return Stream.of(Protocol.values())
                .flatMap(protocol -> Tier.doors().stream().map(door -> Arguments.of(protocol, door)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("protocolsAndDoors")
    void callerAndLogAndMetersAgree(Protocol protocol, Door door) throws Exception {
        List<Call> calls = calls(protocol, door);

        Map<String, Integer> received = protocol.isHttp2() ? callAtOnce(protocol, calls) : callInTurn(protocol, calls);

        assertThat(received).isEqualTo(calls.stream().collect(Collectors.toMap(Call::path, Call::status)));
        TestGateway gateway = protocol.gateway();
        String prefix = door.path(BACKEND, protocol.name() + "/");
        Map<String, JsonNode> lines = await().until(
                        () -> gateway.log(prefix).stream()
                                .collect(Collectors.toMap(
                                        line -> line.path("path").asString(), Function.identity())),
                        found -> found.size() == calls.size());
        Map<String, String> logged = new TreeMap<>();
        lines.forEach((path, line) -> logged.put(
                path,
                facts(
                        line.path("status").asInt(),
                        line.path("outcome").asString(),
                        line.path("bytes").asLong())));
        Map<String, String> expected = new TreeMap<>();
        calls.forEach(call ->
                expected.put(call.path(), facts(call.status(), call.status() / 100 + "xx", call.answerBytes())));
        assertThat(logged).isEqualTo(expected);
        for (String outcome : List.of("2xx", "3xx", "4xx", "5xx", "client-closed")) {
            gateway.assertMetered(door.id(BACKEND), outcome);
        }
    }

    /** The edge counts callers' faults; the log of the application has no line for them. */
    @Test
    void writesNoLineForAMalformedBodyOrAFailedHandshake() throws Exception {
        Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        root.addAppender(lines);
        try {
            for (Door door : Door.values()) {
                String path = door.path(BACKEND, "MALFORMED/POST/200/5/chunked");
                try (RawHttp1Client caller = RawHttp1Client.to(clear.port())) {
                    caller.send("POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "3\r\nabc\r\nnonsense\r\n");
                    assertThat(caller.answer().status()).isEqualTo(400);
                }
                await().until(() -> clear.lines(path).size() >= 2);
            }
            try (RawHttp1Client caller = RawHttp1Client.to(tls.port())) {
                caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
                caller.rest();
            }
            try (RawHttp1Client caller = RawHttp1Client.to(tls.port())) {
                // A TLS record that is no ClientHello.
                caller.send("\u0016\u0003\u0001\u0000\u0005hello");
                caller.rest();
            }
            await().untilAsserted(() -> assertThat(
                            ObservedGateway.value(tls.bean(MeterRegistry.class), GatewayMeter.HANDSHAKES))
                    .isEqualTo(2));
        } finally {
            root.detachAppender(lines);
        }
        assertThat(lines.list).extracting(ILoggingEvent::toString).isEmpty();
    }

    private static String facts(int status, String outcome, long bytes) {
        return status + " " + outcome + " " + bytes;
    }

    private static List<Call> calls(Protocol protocol, Door door) {
        List<Call> calls = new ArrayList<>();
        for (String method : List.of("GET", "HEAD", "POST")) {
            for (int status : STATUSES) {
                for (int bytes : SIZES) {
                    for (boolean isChunked : new boolean[] {false, true}) {
                        String path = String.join(
                                "/",
                                protocol.name(),
                                method,
                                Integer.toString(status),
                                Integer.toString(bytes),
                                isChunked ? "chunked" : "sized");
                        calls.add(new Call(door.path(BACKEND, path), method, status, bytes, isChunked));
                    }
                }
            }
        }
        return calls;
    }

    /** Sends one request after the other; returns the received status of each path. */
    private static Map<String, Integer> callInTurn(Protocol protocol, List<Call> calls) throws IOException {
        Map<String, Integer> received = new TreeMap<>();
        try (RawHttp1Client caller = protocol.connect()) {
            for (Call call : calls) {
                String length = call.method().equals("POST") ? "Content-Length: 3\r\n\r\nabc" : "\r\n";
                caller.send(call.method() + " " + call.path() + " HTTP/1.1\r\nHost: weir.example\r\n" + length);
                RawHttp1Client.Answer answer = caller.answer(call.hasAnswerBody());
                assertThat(answer.body()).as(call.path()).hasSize(call.answerBytes());
                received.put(call.path(), answer.status());
            }
        }
        return received;
    }

    /** Sends up to ten requests at once; returns the received status of each path. */
    private static Map<String, Integer> callAtOnce(Protocol protocol, List<Call> calls) throws IOException {
        Map<String, Integer> received = new TreeMap<>();
        Map<Integer, Call> byStream = new TreeMap<>();
        Map<Integer, Integer> bytes = new TreeMap<>();
        try (RawHttp2Client caller = new RawHttp2Client(protocol.connect())) {
            caller.openWindow(1 << 30);
            int stream = 1;
            int open = 0;
            for (Call call : calls) {
                boolean hasBody = call.method().equals("POST");
                Http2Headers head =
                        RawHttp2Client.request(call.method(), call.path()).authority("weir.example");
                caller.headers(stream, head, !hasBody);
                if (hasBody) {
                    caller.data(stream, 3, true);
                }
                byStream.put(stream, call);
                stream += 2;
                open++;
                while (open == 10 || (open > 0 && byStream.size() == calls.size())) {
                    open -= readEvent(caller, byStream, received, bytes) ? 1 : 0;
                }
            }
        }
        byStream.forEach((id, call) ->
                assertThat(bytes.getOrDefault(id, 0)).as(call.path()).isEqualTo(call.answerBytes()));
        return received;
    }

    /** Reads one event; returns whether it ends its stream. */
    private static boolean readEvent(
            RawHttp2Client caller,
            Map<Integer, Call> byStream,
            Map<String, Integer> received,
            Map<Integer, Integer> bytes)
            throws IOException {
        String[] event = caller.next().split(" ", -1);
        int stream = event.length > 1 ? Integer.parseInt(event[1]) : 0;
        Call call = byStream.get(stream);
        assertThat(call).as(String.join(" ", event)).isNotNull();
        switch (event[0].toLowerCase(Locale.ROOT)) {
            case "headers" -> received.put(call.path(), Integer.parseInt(event[2]));
            case "data" ->
                bytes.merge(
                        stream, event.length > 2 ? event[2].replace("end", "").length() : 0, Integer::sum);
            default -> throw new AssertionError(String.join(" ", event));
        }
        return event[event.length - 1].equals("end");
    }
}
