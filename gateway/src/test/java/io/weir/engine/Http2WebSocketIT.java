package io.weir.engine;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Error;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import io.weir.testing.TestWebSocket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** WebSockets to a backend over HTTP/2 (RFC 8441) end with the same statuses as over HTTP/1.1. */
@ExtendWith(Leaks.class)
class Http2WebSocketIT {

    private static final String BACKEND = "orders";

    private static TestHttp2Backend backend;
    private static TestGateway gateway;

    /** The events at the backend's end of the WebSocket. */
    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    @BeforeAll
    static void start() {
        backend = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri(), "protocol: h2", "deadline: 20s")
                .route(BACKEND, BACKEND)
                .start();
    }

    @BeforeEach
    void reset() {
        gateway.calm();
    }

    @AfterEach
    void assertNothingHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    private String backendEvent() throws InterruptedException {
        String event = events.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        return event == null ? "nothing" : event;
    }

    /** Greets the caller, records one frame, and ends the stream. */
    private void greet() {
        backend.behave(stream -> {
            TestWebSocket socket = stream.accept();
            socket.send("hi");
            events.add(socket.next());
            stream.end();
        });
    }

    // ---------------------------------------------------------------- broken protocol

    @Door.Any
    void closesTheCallersSideAsABadGatewayIfTheBackendBreaksTheProtocol(Door door) throws Exception {
        backend.behave(stream -> {
            TestWebSocket socket = stream.accept();
            stream.write((byte) 0x83, (byte) 0);
            events.add(socket.next());
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "violation"));
            assertThat(socket.next()).isEqualTo("close 1014 Bad gateway");
            assertThat(socket.next()).isEqualTo("end");
        }
        assertThat(backendEvent()).as("RFC 6455, 7.1.7").startsWith("close 1002");
    }

    @Door.Any
    void failsAWebSocketWhoseBackendSendsACloseFrameWithReservedBits(Door door) throws Exception {
        backend.behave(stream -> {
            TestWebSocket socket = stream.accept();
            stream.write((byte) 0xf8, (byte) 2, (byte) 3, (byte) 0xe8);
            events.add(socket.next());
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "reserved-bits"));
            assertThat(socket.next()).isEqualTo("close 1014 Bad gateway");
        }
        assertThat(backendEvent()).startsWith("close 1002");
    }

    @Door.Any
    void tellsTheBackendThatTheCallerHasBrokenTheProtocol(Door door) throws Exception {
        greet();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, door.path(BACKEND, "callers-violation"));
            assertThat(socket.next()).isEqualTo("text 2");
            caller.send(new byte[] {(byte) 0x83, (byte) 0x80, 1, 2, 3, 4});
            assertThat(socket.next()).startsWith("close 1002");
        }
        assertThat(backendEvent()).isEqualTo("close 1002 protocol error of the caller");
    }

    // ---------------------------------------------------------------- broken off

    @Door.Any
    void closesTheCallersSideIfTheBackendResetsTheStream(Door door) throws Exception {
        assertBadGateway(door, "reset", stream -> stream.reset(Http2Error.CANCEL));
    }

    /** An orderly end of the stream, but without a close frame. */
    @Door.Any
    void closesTheCallersSideIfTheBackendEndsTheStream(Door door) throws Exception {
        assertBadGateway(door, "ended", TestHttp2Backend.Stream::end);
    }

    @Door.Any
    void closesTheCallersSideIfTheBackendsConnectionCloses(Door door) throws Exception {
        assertBadGateway(door, "disconnected", TestHttp2Backend.Stream::disconnect);
    }

    private static void assertBadGateway(Door door, String name, TestHttp2Backend.Behaviour breakOff) throws Exception {
        backend.behave(stream -> {
            stream.accept().next();
            breakOff.serve(stream);
        });
        String path = door.path(BACKEND, name);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            socket.send("break");
            assertThat(socket.next()).isEqualTo("close 1014 Bad gateway");
            assertThat(socket.next()).isEqualTo("end");
        }
        gateway.logged(path);
    }

    @Door.Any
    void closesTheBackendsSideIfTheCallerBreaksOff(Door door) throws Exception {
        greet();
        String path = door.path(BACKEND, "left");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            assertThat(TestWebSocket.open(caller, path).next()).isEqualTo("text 2");
            caller.reset();
        }
        assertThat(backendEvent()).startsWith("close 1001");
        gateway.logged(path);
    }

    /** The end of the stream overtakes neither the messages before it nor the close frame. */
    @Door.Any
    void passesEverythingThatTheBackendSendsBeforeTheEndOfTheStream(Door door) throws Exception {
        int messages = 300;
        backend.behave(stream -> {
            TestWebSocket socket = stream.accept();
            for (int i = 0; i < messages; i++) {
                socket.send(TestWebSocket.BINARY, true, new byte[4_000]);
            }
            socket.close(4001, "bye");
            stream.end();
        });
        String path = door.path(BACKEND, "last-words");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            for (int i = 0; i < messages; i++) {
                assertThat(socket.next()).as("message %s", i).isEqualTo("binary 4000");
            }
            assertThat(socket.next()).isEqualTo("close 4001 bye");
        }
        gateway.assertTold(door, BACKEND, path, 101, "1xx");
    }

    @Door.Any
    void opensAWebSocketWhoseBackendChoosesNoSubprotocol(Door door) throws Exception {
        greet();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket =
                    TestWebSocket.open(caller, door.path(BACKEND, "none-chosen"), "Sec-WebSocket-Protocol: one, two");
            assertThat(socket.subprotocol()).isNull();
            assertThat(socket.next()).isEqualTo("text 2");
            socket.close(1000, "bye");
            assertThat(backendEvent()).isEqualTo("close 1000 bye");
        }
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    /** RFC 6455, 4.1: such a WebSocket must fail. The caller must not receive the backend's 200. */
    @Door.Any
    void opensNoWebSocketWhoseBackendChoosesASubprotocolThatTheCallerDidNotOffer(Door door) throws Exception {
        backend.behave(stream -> stream.accept("three"));
        for (String[] offered : new String[][] {{}, {"Sec-WebSocket-Protocol: one, two"}}) {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestWebSocket.ask(caller, door.path(BACKEND, "not-offered"), offered);
                assertThat(caller.answer().reason()).isEqualTo("connection-lost");
            }
        }
    }

    @Door.Any
    void passesOnARefusalThatEndsTheStream(Door door) throws Exception {
        backend.behave(stream -> stream.answer(403));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path(BACKEND, "refused"));
            assertThat(caller.answer().status()).isEqualTo(403);
        }
    }

    // ---------------------------------------------------------------- GOAWAY

    @Door.Any
    void goesOnAfterAGoawayUntilItEnds(Door door) throws Exception {
        CountDownLatch leaving = new CountDownLatch(1);
        backend.behave(stream -> {
            TestWebSocket socket = stream.accept();
            socket.next();
            stream.goAway();
            leaving.countDown();
            for (int i = 0; i < 2; i++) {
                socket.send("after");
                events.add(socket.next());
            }
            socket.close(1000, "bye");
            events.add(socket.next());
        });
        String path = door.path(BACKEND, "goaway");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket = TestWebSocket.open(caller, path);
            socket.send("leave");
            leaving.await();
            int connections = backend.connections();
            for (int i = 0; i < 2; i++) {
                assertThat(socket.next()).isEqualTo("text 5");
                socket.send("on");
                assertThat(backendEvent()).isEqualTo("text 2");
            }
            assertThat(socket.next()).isEqualTo("close 1000 bye");
            assertThat(backendEvent()).isEqualTo("close 1000 bye");

            backend.behave(stream -> stream.answer(204));
            assertThat(TestCaller.get(gateway.port(), path + "/next").status()).isEqualTo(204);
            assertThat(backend.connections()).isEqualTo(connections + 1);
        }
    }
}
