package io.weir.engine;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;

/** WebSockets pass frame by frame, and each side receives the close status of the other. */
@ExtendWith(Leaks.class)
class WebSocketIT {

    private static final String BACKEND = "orders";
    private static final int LARGE = 200_000;

    private static TestBackend backend;
    private static TestGateway gateway;

    /** The last event at the backend's end of each WebSocket. */
    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("edge: { max-websocket-frame-size: 2MB }")
                // Each test waits until all connections of the backend are closed.
                .backend(BACKEND, backend.uri(), "deadline: 20s", "max-streams: 4", "connection: { max-idle: 200ms }")
                .backend("brief", backend.uri(), "deadline: 1s", "stream-idle-timeout: 1500ms")
                .route(BACKEND, BACKEND)
                .route("brief", "brief")
                .filtered("hosted", BACKEND, "PreserveHostHeader")
                .filtered("renamed", BACKEND, "PreserveHostHeader, \"SetRequestHeader=Host, set.example:80\"")
                .filtered(
                        "filtered",
                        BACKEND,
                        "\"SetResponseHeader=X-A, a\", \"AddResponseHeader=X-B, b\", \"RemoveResponseHeader=X-C\"")
                .start();
    }

    @BeforeEach
    void reset() {
        gateway.calm();
    }

    @AfterEach
    void assertNothingHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
        await().until(() -> backend.connections() == 0);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    /** Echoes every frame until the WebSocket closes, and then behaves as given. */
    private void echo(TestBackend.Behaviour afterwards) {
        backend.behave((request, conversation) -> {
            TestWebSocket socket = TestWebSocket.accept(request, conversation);
            String event = socket.next();
            for (;
                    !event.startsWith("close") && !event.equals("end") && !event.equals("reset");
                    event = socket.next()) {
                String kind = event.substring(0, event.indexOf(' '));
                int opcode =
                        switch (kind.replace("…", "")) {
                            case "text" -> TestWebSocket.TEXT;
                            case "binary" -> TestWebSocket.BINARY;
                            case "ping" -> TestWebSocket.PONG;
                            default -> TestWebSocket.CONTINUATION;
                        };
                socket.send(opcode, !kind.endsWith("…"), socket.payload());
            }
            events.add(event);
            afterwards.serve(request, conversation);
        });
    }

    private String backendEvent() throws InterruptedException {
        String event = events.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        return event == null ? "nothing" : event;
    }

    @Door.Each
    void echoesMessagesOfEverySize(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        Random random = new Random(7);
        String path = door.path(BACKEND, "sizes");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            for (int size : new int[] {0, 1, 125, 126, 65_535, 65_536, LARGE}) {
                byte[] message = new byte[size];
                random.nextBytes(message);
                socket.send(TestWebSocket.BINARY, true, message);
                assertThat(socket.next()).isEqualTo("binary " + size);
                assertThat(socket.payload()).isEqualTo(message);
            }
            socket.close(1000, "bye");
            assertThat(socket.next()).isEqualTo("close 1000 bye");
        }
        assertThat(backendEvent()).isEqualTo("close 1000 bye");
        JsonNode line = gateway.assertTold(door, BACKEND, path, 101, "1xx");
        assertThat(line.path("bytes").asLong()).isGreaterThan(330_000);
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void passesOnTheFieldsOfTheBackendsHandshake(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            TestWebSocket socket = TestWebSocket.accept(
                    request,
                    conversation,
                    null,
                    "Set-Cookie: a=1",
                    "Set-Cookie: b=2",
                    "X-Node: one",
                    "Keep-Alive: timeout=5",
                    "X-Request-Id: of-the-backend");
            socket.next();
            socket.close(1000, "");
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path(BACKEND, "cookies"));
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(101);
            assertThat(answer.header("set-cookie")).isEqualTo("a=1, b=2");
            assertThat(answer.header("x-node")).isEqualTo("one");
            assertThat(answer.header("keep-alive")).isNull();
            assertThat(answer.header("x-request-id")).doesNotContain("of-the-backend");
            assertThat(answer.header("upgrade")).isEqualTo("websocket");
            assertThat(answer.header("sec-websocket-accept")).doesNotContain(",");
        }
    }

    @Door.Each
    void echoesAMessageInManyFrames(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "frames"));
            int parts = 10;
            for (int i = 0; i < parts; i++) {
                socket.send(i == 0 ? TestWebSocket.TEXT : TestWebSocket.CONTINUATION, i == parts - 1, new byte[30_000]);
                // Control frames may occur between the parts of a message.
                socket.send(TestWebSocket.PING, true, "there?".getBytes(StandardCharsets.US_ASCII));
                String part = i == parts - 1 ? " 30000" : "… 30000";
                assertThat(socket.next()).isEqualTo((i == 0 ? "text" : "continuation") + part);
                assertThat(socket.next()).isEqualTo("pong 6");
                assertThat(socket.payload()).asString(StandardCharsets.US_ASCII).isEqualTo("there?");
            }
            socket.close(1000, "");
            assertThat(socket.next()).isEqualTo("close 1000");
        }
    }

    @Door.Each
    void closesAWebSocketWithATooLargeFrame(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        String path = door.path(BACKEND, "large");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            socket.send("hi");
            assertThat(socket.next()).isEqualTo("text 2");
            // The frame's head is sufficient.
            caller.send(new byte[] {(byte) 0x82, (byte) 0xff, 0, 0, 0, 0, 0, 0x20, 0, 1, 1, 2, 3, 4});
            assertThat(socket.next()).startsWith("close 1009");
        }
        assertThat(backendEvent()).isEqualTo("close 1009 protocol error of the caller");
        gateway.logged(path);
    }

    /** The gateway ends both sides with the same status; only it has seen the frame. */
    @Door.Each
    void tellsTheBackendThatTheCallerHasBrokenTheProtocol(Door door) throws Exception {
        byte[] noMask = {(byte) 0x81, 1, 'a'};
        byte[] reservedOpcode = {(byte) 0x83, (byte) 0x80, 1, 2, 3, 4};
        byte[] continuationOfNothing = {(byte) 0x80, (byte) 0x80, 1, 2, 3, 4};
        byte[] fragmentedPing = {9, (byte) 0x80, 1, 2, 3, 4};
        for (byte[] frame : List.of(noMask, reservedOpcode, continuationOfNothing, fragmentedPing)) {
            echo((request, conversation) -> conversation.close());
            String path = door.path(BACKEND, "violation");
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestWebSocket socket = TestWebSocket.open(caller, path);
                socket.send("hi");
                assertThat(socket.next()).isEqualTo("text 2");
                caller.send(frame);
                assertThat(socket.next()).startsWith("close 1002");
            }
            assertThat(backendEvent()).isEqualTo("close 1002 protocol error of the caller");
        }
    }

    /** The messages before the frame reach the backend. */
    @Door.Each
    void tellsTheBackendOfAViolationAfterTheMessagesBeforeIt(Door door) throws Exception {
        List<String> received = new ArrayList<>();
        CountDownLatch closed = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            TestWebSocket socket = TestWebSocket.accept(request, conversation);
            String event = socket.next();
            received.add(event);
            while (event.startsWith("text")) {
                event = socket.next();
                received.add(event);
            }
            closed.countDown();
            conversation.close();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "messages"));
            socket.send("one");
            socket.send("three");
            caller.send(new byte[] {(byte) 0x83, (byte) 0x80, 1, 2, 3, 4});
            assertThat(socket.next()).startsWith("close 1002");
        }
        assertThat(closed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(received).containsExactly("text 3", "text 5", "close 1002 protocol error of the caller");
    }

    /** A bad gateway, and not a protocol error: the caller has made none. */
    @Door.Each
    void closesTheCallersSideAsABadGatewayIfTheBackendBreaksTheProtocol(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            TestWebSocket socket = TestWebSocket.accept(request, conversation);
            conversation.write(new byte[] {(byte) 0x83, 0});
            events.add(socket.next());
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "backend-violation"));
            assertThat(socket.next()).isEqualTo("close 1014 Bad gateway");
        }
        assertThat(backendEvent()).as("RFC 6455, 7.1.7").startsWith("close 1002");
    }

    /** The gateway answers close frames itself, so it must judge their reserved bits itself. */
    @Door.Each
    void failsAWebSocketWhoseCallerSendsACloseFrameWithReservedBits(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "reserved-bits"));
            socket.send("hi");
            assertThat(socket.next()).isEqualTo("text 2");
            caller.send(new byte[] {(byte) 0xf8, (byte) 0x82, 0, 0, 0, 0, 3, (byte) 0xe8});
            assertThat(socket.next()).startsWith("close 1002");
            assertThat(socket.next()).isEqualTo("end");
        }
        assertThat(backendEvent()).isEqualTo("close 1002 protocol error of the caller");
    }

    @Door.Each
    void failsAWebSocketWhoseBackendSendsACloseFrameWithReservedBits(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            TestWebSocket socket = TestWebSocket.accept(request, conversation);
            conversation.write(new byte[] {(byte) 0xf8, 2, 3, (byte) 0xe8});
            events.add(socket.next());
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "backend-reserved-bits"));
            assertThat(socket.next()).isEqualTo("close 1014 Bad gateway");
        }
        assertThat(backendEvent()).startsWith("close 1002");
    }

    @Door.Each
    void passesAFrameOfTheConfiguredSizeInBothDirections(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        int size = 2 * 1024 * 1024;
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "configured"));
            socket.send(TestWebSocket.BINARY, true, new byte[size]);
            assertThat(socket.next()).isEqualTo("binary " + size);
            socket.close(1000, "");
            assertThat(socket.next()).isEqualTo("close 1000");
        }
    }

    @Door.Each
    void declinesCompression(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            events.add("offered " + request.header("sec-websocket-extensions"));
            TestWebSocket.accept(request, conversation).next();
            conversation.close();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(
                    caller,
                    door.path(BACKEND, "compressed"),
                    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits");
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(101);
            assertThat(answer.header("sec-websocket-extensions")).isNull();
        }
        assertThat(backendEvent()).isEqualTo("offered null");
    }

    @Door.Each
    void passesTheCallersCloseStatusOn(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        String path = door.path(BACKEND, "caller");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.open(caller, path).close(4001, "had enough");
            assertThat(backendEvent()).isEqualTo("close 4001 had enough");
        }
        gateway.assertTold(door, BACKEND, path, 101, "1xx");
    }

    private static void leaveAConnectionInThePool(Door door) throws IOException {
        backend.behave(TestBackend.ECHO);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path(BACKEND, "before")));
            assertThat(caller.answer().status()).isEqualTo(200);
        }
    }

    /** A connection that was used before belongs to any event loop, and a new one to that of the caller. */
    @Door.Each
    void endsOnAConnectionOfAnotherEventLoop(Door door) throws Exception {
        for (int i = 0; i < 40; i++) {
            leaveAConnectionInThePool(door);
            echo((request, conversation) -> conversation.close());
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "reused"));
                socket.close(1000, "bye");
                assertThat(socket.next()).isEqualTo("close 1000 bye");
            }
            assertThat(backendEvent()).isEqualTo("close 1000 bye");
        }
    }

    /** The gateway makes no close frame for a caller who has left: nothing would release it. */
    @Door.Each
    void endsOnAConnectionOfAnotherEventLoopIfTheCallerBreaksOff(Door door) throws Exception {
        for (int i = 0; i < 40; i++) {
            leaveAConnectionInThePool(door);
            echo((request, conversation) -> conversation.close());
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestWebSocket.open(caller, door.path(BACKEND, "reused"));
            }
            assertThat(backendEvent()).startsWith("close 1001");
        }
    }

    @Door.Each
    void passesTheBackendsCloseStatusOn(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            TestWebSocket socket = TestWebSocket.accept(request, conversation);
            socket.send("last words");
            socket.close(4002, "going home");
            events.add(socket.next());
        });
        String path = door.path(BACKEND, "backend");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            assertThat(socket.next()).isEqualTo("text 10");
            assertThat(socket.next()).isEqualTo("close 4002 going home");
            assertThat(socket.next()).isEqualTo("end");
        }
        assertThat(backendEvent()).isEqualTo("close 4002 going home");
        gateway.assertTold(door, BACKEND, path, 101, "1xx");
    }

    @Door.Each
    void passesACloseFrameWithoutAStatusOn(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.open(caller, door.path(BACKEND, "without")).send(TestWebSocket.CLOSE, true, new byte[0]);
            assertThat(backendEvent()).isEqualTo("close without a status");
        }
    }

    @Door.Each
    void closesTheCallersSideIfTheBackendBreaksOff(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            TestWebSocket.accept(request, conversation).next();
            conversation.reset();
        });
        String path = door.path(BACKEND, "broken");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            socket.send("break");
            assertThat(socket.next()).isEqualTo("close 1014 Bad gateway");
            assertThat(socket.next()).isEqualTo("end");
        }
        gateway.logged(path);
    }

    @Door.Each
    void closesTheBackendsSideIfTheCallerBreaksOff(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        String path = door.path(BACKEND, "left");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            socket.send("hi");
            assertThat(socket.next()).isEqualTo("text 2");
            caller.reset();
        }
        assertThat(backendEvent()).startsWith("close 1001");
        gateway.logged(path);
    }

    /** A backend that keeps its connection open holds no resources of the gateway. */
    @Door.Each
    void doesNotWaitForABackendThatNeverCloses(Door door) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        echo((request, conversation) -> over.await());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "unclosing"));
            socket.close(1000, "bye");
            assertThat(backendEvent()).isEqualTo("close 1000 bye");
            assertThat(socket.next()).isEqualTo("close 1000 bye");
            gateway.assertNothingHeld();
        } finally {
            over.countDown();
        }
        gateway.assertTold(door, BACKEND, door.path(BACKEND, "unclosing"), 101, "1xx");
    }

    /** This caller neither answers the close frame nor closes its connection. */
    @Door.Each
    void doesNotWaitForACallerThatNeverCloses(Door door) throws Exception {
        backend.behave((request, conversation) ->
                TestWebSocket.accept(request, conversation).close(1000, "bye"));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "staying"));
            assertThat(socket.next()).isEqualTo("close 1000 bye");
            gateway.assertNothingHeld();
        }
    }

    @Door.Each
    void outlivesItsDeadlineAndEndsWhenItIsIdle(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        String path = door.path("brief", "still");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            long from = System.nanoTime();
            for (int i = 0; i < 22; i++) {
                socket.send("hi");
                assertThat(socket.next()).isEqualTo("text 2");
                // Frames for longer than the deadline.
                Thread.sleep(50);
            }
            assertThat(System.nanoTime() - from).isGreaterThan(1_000_000_000);

            assertThat(socket.next()).isEqualTo("close 1001 idle-timeout");
        }
        assertThat(backendEvent()).isEqualTo("close 1001 idle-timeout");
        gateway.assertTold(door, "brief", path, 101, "deadline-exceeded");
    }

    /**
     * A request of a caller.
     *
     * @param host the {@code Host} that the backend receives
     */
    private record Sent(String route, String query, List<String> fields, String host) {}

    private static List<Sent> sent() {
        String authority = "127.0.0.1:" + backend.port();
        return List.of(
                new Sent(BACKEND, "", List.of("Host: weir.test"), authority),
                new Sent(BACKEND, "?", List.of("Host: weir.test", "Origin: https://shop.example"), authority),
                new Sent(BACKEND, "?a[]=1&&b", List.of("Host: a_b.example", "Origin: null"), authority),
                new Sent(
                        BACKEND,
                        "?a",
                        List.of(
                                "Host: shop.example:80",
                                "User-Agent: a browser",
                                "X-Multi: one",
                                "Cookie: a=1",
                                "x-multi: two",
                                "Cookie: b=2",
                                "Authorization: Basic eDp5",
                                "Connection: X-Hop, keep-alive",
                                "X-Hop: 1",
                                "Keep-Alive: timeout=5",
                                "Proxy-Authorization: Basic eDp5",
                                "TE: trailers, deflate",
                                "Via: 1.0 other",
                                "X-Forwarded-For: 9.9.9.9",
                                "Forwarded: for=9.9.9.9",
                                "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                        authority),
                new Sent("hosted", "", List.of("Host: Shop.example:8080"), "Shop.example:8080"),
                new Sent("hosted", "", List.of("Host: shop.example:80", "Origin: http://a"), "shop.example:80"),
                new Sent("hosted", "", List.of("Host: a_b.example"), "a_b.example"),
                new Sent("hosted", "", List.of("Host: [::1]:81"), "[::1]:81"),
                new Sent("renamed", "", List.of("Host: weir.test"), "set.example:80"));
    }

    /** The handshake adds only its own fields, and no {@code Origin} that the caller has not sent. */
    @Door.Each
    void sendsTheBackendTheSameHeadAsForAnyOtherRequest(Door door) throws Exception {
        backend.behave((request, conversation) -> conversation.answer(403, "closed"));
        List<String> handshake = List.of(
                "Connection: Upgrade",
                "Sec-WebSocket-Extensions: permessage-deflate",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol: one",
                "sec-websocket-protocol: two, three",
                "Sec-WebSocket-Version: 13",
                "Upgrade: websocket");
        List<Sent> sent = sent();
        for (int i = 0; i < sent.size(); i++) {
            Sent each = sent.get(i);
            String path = door.path(each.route(), "head-" + i);

            List<String> plain = seen(path + "-plain", each, List.of());
            List<String> asked = seen(path, each, handshake);

            assertThat(asked)
                    .as("%s", each)
                    .contains("host: " + each.host())
                    .isEqualTo(sorted(Stream.concat(
                            plain.stream(),
                            Stream.of(
                                    "connection: upgrade",
                                    "sec-websocket-key: <key>",
                                    "sec-websocket-protocol: one, two, three",
                                    "sec-websocket-version: 13",
                                    "upgrade: websocket"))));
            gateway.assertTold(door, each.route(), path, 403, "4xx");
        }
        gateway.assertFed(BACKEND, 2 * sent.size(), 0, 0);
    }

    /** The fields that the backend receives. Values that differ each time are replaced. */
    private static List<String> seen(String path, Sent sent, List<String> more) throws Exception {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send("GET " + path + sent.query() + " HTTP/1.1\r\nX-Request-Id: kept\r\n"
                    + Stream.concat(sent.fields().stream(), more.stream())
                            .map(field -> field + "\r\n")
                            .collect(Collectors.joining())
                    + "\r\n");
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).as("%s: %s", sent, answer.text()).isEqualTo(403);
        }
        TestBackend.Request request = backend.next();
        assertThat(request.line()).isEqualTo("GET " + path + sent.query() + " HTTP/1.1");
        return sorted(request.head()
                .lines()
                .map(field -> field.substring(0, field.indexOf(':')).toLowerCase(Locale.ROOT)
                        + field.substring(field.indexOf(':')))
                .map(field -> field.replaceFirst("^(x-request-timeout:) .*", "$1 <ms>")
                        .replaceFirst("^(sec-websocket-key:) [A-Za-z0-9+/]{22}==$", "$1 <key>")));
    }

    /** Sorts by name; fields of the same name keep their order. */
    private static List<String> sorted(Stream<String> fields) {
        return fields.sorted(Comparator.comparing(field -> field.substring(0, field.indexOf(':'))))
                .toList();
    }

    @Door.Each
    void passesTheSubprotocolThatTheBackendChose(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            events.add(String.valueOf(request.header("sec-websocket-protocol")));
            TestWebSocket.accept(request, conversation, "two").next();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(
                    caller,
                    door.path(BACKEND, "protocol"),
                    "Sec-WebSocket-Protocol: one",
                    "Sec-WebSocket-Protocol: two,three");
            assertThat(backendEvent()).isEqualTo("one, two,three");
            assertThat(socket.subprotocol()).isEqualTo("two");
            socket.close(1000, "");
        }
    }

    /** RFC 6455, 4.2.2: a backend may ignore the subprotocols that the caller offers. */
    @Door.Each
    void opensAWebSocketWhoseBackendChoosesNoSubprotocol(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket =
                    TestWebSocket.open(caller, door.path(BACKEND, "none-chosen"), "Sec-WebSocket-Protocol: one, two");
            assertThat(socket.subprotocol()).isNull();
            socket.send("hi");
            assertThat(socket.next()).isEqualTo("text 2");
            socket.close(1000, "bye");
        }
        assertThat(backendEvent()).isEqualTo("close 1000 bye");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    /** RFC 6455, 4.1: such a WebSocket must fail. */
    @Door.Each
    void opensNoWebSocketWhoseBackendChoosesASubprotocolThatTheCallerDidNotOffer(Door door) throws Exception {
        backend.behave((request, conversation) -> TestWebSocket.accept(request, conversation, "three"));
        for (String[] offered : new String[][] {{}, {"Sec-WebSocket-Protocol: one, two"}}) {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestWebSocket.ask(caller, door.path(BACKEND, "not-offered"), offered);
                assertThat(caller.answer().reason()).isEqualTo("connection-lost");
            }
        }
    }

    /** Spring Cloud Gateway, too, applies response filters only after the WebSocket has ended. */
    @Door.Each
    void appliesNoResponseFilter(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        String path = door.path("filtered", "1");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path);
            TestCaller.Answer opened = caller.answer();
            assertThat(opened.status()).isEqualTo(101);
            assertThat(opened.headers()).doesNotContainKeys("x-a", "x-b");
        }
        assertThat(backendEvent()).startsWith("close 1001");
        gateway.assertTold(door, "filtered", path, 101, "1xx");
    }

    /** An incomplete handshake is an ordinary request: otherwise only the backend's side could be opened. */
    @Door.Each
    void isNotRequestedByAnIncompleteHandshake(Door door) throws Exception {
        backend.behave(TestBackend.ECHO);
        String key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
        List<String[]> incomplete = List.of(
                new String[] {"GET", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"},
                new String[] {"GET", "Upgrade: websocket", "Connection: Upgrade", key},
                new String[] {"GET", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 8", key},
                new String[] {"GET", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key},
                new String[] {"DELETE", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", key});
        for (String[] handshake : incomplete) {
            String path = door.path(BACKEND, "half-" + incomplete.indexOf(handshake));
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestCaller.Answer answer =
                        caller.request(handshake[0], path, Arrays.copyOfRange(handshake, 1, handshake.length));

                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.text()).isEqualTo(path);
                assertThat(caller.request("GET", path + "/next").text()).isEqualTo(path + "/next");
            }
            TestBackend.Request seen = backend.next();
            assertThat(seen.line()).startsWith(handshake[0] + ' ');
            assertThat(seen.header("upgrade")).isNull();
            backend.next();
        }
    }

    @Door.Each
    void isNotRequestedOverHttp10(Door door) throws Exception {
        assertNoHandshake(door, "HTTP/1.0", "");
    }

    @Door.Each
    void isNotRequestedWithABody(Door door) throws Exception {
        assertNoHandshake(door, "HTTP/1.1\r\nContent-Length: 4", "body");
    }

    private static void assertNoHandshake(Door door, String version, String body) throws Exception {
        backend.behave(TestBackend.ECHO);
        String path = door.path(BACKEND, "no-handshake");
        String head = TestCaller.head(
                "GET",
                path,
                "Upgrade: websocket",
                "Connection: Upgrade",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            // The edge is stricter with the first request of a connection, since it may be an upgrade to
            // HTTP/2.
            assertThat(caller.request("GET", path + "/first").status()).isEqualTo(200);
            backend.next();

            caller.send(head.replace("HTTP/1.1", version) + body);

            assertThat(caller.answer().text()).isEqualTo(path);
        }
        assertThat(backend.next().header("upgrade")).isNull();
    }

    @Door.Each
    void countsAgainstTheLimitOfStreams(Door door) throws Exception {
        echo((request, conversation) -> conversation.close());
        TestCaller[] callers = new TestCaller[4];
        for (int i = 0; i < callers.length; i++) {
            callers[i] = TestCaller.to(gateway.port());
            TestWebSocket.open(callers[i], door.path(BACKEND, "stream-" + i));
        }
        String path = door.path(BACKEND, "one-too-many");

        TestCaller.Answer refused = TestCaller.get(
                gateway.port(),
                path,
                "Upgrade: websocket",
                "Connection: Upgrade",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==");

        assertThat(refused.reason()).isIn("bulkhead-full", "queue-timeout");
        assertThat(gateway.backend(BACKEND).bulkhead().inUse()).isZero();
        for (TestCaller caller : callers) {
            caller.close();
        }
    }
}
