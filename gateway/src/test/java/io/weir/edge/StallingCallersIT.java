package io.weir.edge;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;

/** Callers that send or read too slowly are refused, or their answers are reset; no backend is to blame. */
@ExtendWith(Leaks.class)
class StallingCallersIT extends GatewayTests {

    private static final String BACKEND = "orders";
    private static final String BRIEF = "brief";
    private static final String STREAM = "stream";
    private static final int PART = 100;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        // Short, because tests wait until the backend has no connection.
        String closing = "connection: { max-idle: 200ms }";
        gateway = TestGateway.setup()
                .weir("edge: { body-idle-timeout: 400ms, read-idle-timeout: 400ms }")
                .backend(BACKEND, backend.uri(), "deadline: 30s", closing)
                .backend(BRIEF, backend.uri(), "deadline: 800ms", closing)
                .route(BACKEND, BACKEND)
                .route(BRIEF, BRIEF)
                .route(STREAM, BACKEND, "mode: stream")
                .start();
    }

    @Door.Each
    void isRefusedWhenItsBodyStalls(Door door) throws Exception {
        backend.behave(TestBackend.ECHO);
        String path = door.path(BACKEND, "still");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: 1000"));
            caller.send(new byte[PART]);

            assertRefused(gateway, door, BACKEND, path, caller.answer(), Reason.CLIENT_TOO_SLOW);
        }
        gateway.assertFed(BACKEND, 0, 0, 0);
        await().until(() -> backend.connections() == 0);
    }

    @Door.Any
    void isRefusedWhenItsSlowBodyExceedsTheDeadline(Door door) throws Exception {
        backend.behave(TestBackend.ECHO);
        String path = door.path(BRIEF, "crawling");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: 1000000"));
            Thread.ofVirtual().start(() -> sendSlowly(caller));

            assertRefused(gateway, door, BRIEF, path, caller.answer(), Reason.CLIENT_TOO_SLOW);
        }
        assertNoFailure(BRIEF);
    }

    /** Sends often enough for the idle timeout and the minimum rate, but too little for the deadline. */
    private static void sendSlowly(TestCaller caller) {
        try {
            while (true) {
                caller.send(new byte[10]);
                Thread.sleep(20);
            }
        } catch (IOException e) {
            // The gateway has refused the request.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** On a busy machine, the backend may count as slow, but not as failed. */
    private static void assertNoFailure(String backendName) {
        gateway.assertNothingHeld();
        assertThat(gateway.backend(backendName)
                        .health()
                        .resilience4j()
                        .getMetrics()
                        .getNumberOfFailedCalls())
                .isZero();
    }

    /** Sends more than the buffers between backend and caller hold. */
    private static void answerWithoutEnd(TestBackend.Request request, TestBackend.Conversation conversation)
            throws IOException {
        conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        byte[] chunk = ("10000\r\n" + "x".repeat(65_536) + "\r\n").getBytes(StandardCharsets.US_ASCII);
        while (true) {
            conversation.write(chunk);
        }
    }

    @Door.Each
    void isResetWhenItDoesNotReadItsResponse(Door door) throws Exception {
        backend.behave(StallingCallersIT::answerWithoutEnd);
        String path = door.path(BACKEND, "untaken");
        String stream = door.path(STREAM, "untaken");
        try (TestCaller caller = TestCaller.to(gateway.port());
                TestCaller listener = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            listener.send(TestCaller.head("GET", stream));

            gateway.assertTold(door, BACKEND, path, 200, "client-too-slow");
            assertThat(caller.isReset()).isTrue();
            gateway.assertTold(door, STREAM, stream, 200, "client-too-slow");
            assertThat(listener.isReset()).isTrue();
        }
        // The backend of a stream counts as successful with its response head.
        gateway.assertFed(BACKEND, 1, 0, 0);
        await().until(() -> backend.connections() == 0);
    }

    /**
     * Over HTTP/2: the backend completes responses that fit into the buffers, and only the window holds them
     * back.
     */
    @Door.Any
    void isResetWhenItGivesNoFlowControlWindow(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            String target = request.target();
            if (target.endsWith("endless")) {
                answerWithoutEnd(request, conversation);
            } else {
                conversation.answer(200, "x".repeat(target.endsWith("small") ? 20 : 40_000));
            }
        });
        List<String> routes = List.of(BACKEND, STREAM, STREAM, STREAM);
        List<String> paths = List.of(
                door.path(BACKEND, "small"),
                door.path(STREAM, "small"),
                door.path(STREAM, "large"),
                door.path(STREAM, "endless"));
        List<String> heads = new ArrayList<>();
        List<String> resets = new ArrayList<>();
        try (RawHttp2Client caller = RawHttp2Client.takingNothing(gateway.port())) {
            for (int i = 0; i < paths.size(); i++) {
                int stream = 2 * i + 1;
                caller.headers(stream, RawHttp2Client.get(paths.get(i)), true);
                heads.add("headers " + stream + " 200");
                resets.add("reset " + stream + " 2");
            }
            List<String> received = new ArrayList<>();
            while (received.size() < heads.size() + resets.size()) {
                received.add(caller.next());
            }
            assertThat(received).containsAll(heads).containsAll(resets);
            for (int i = 0; i < paths.size(); i++) {
                gateway.assertTold(door, routes.get(i), paths.get(i), 200, "client-too-slow");
            }
        }
        assertNoFailure(BACKEND);
        await().until(() -> backend.connections() == 0);
    }

    /** Reads often enough for the idle timeout, but far below the minimum rate. */
    @Door.Any
    void isResetWhenItReadsAByteFromTimeToTime(Door door) throws Exception {
        backend.behave(StallingCallersIT::answerWithoutEnd);
        String path = door.path(STREAM, "crawling");
        try (TestCaller caller = TestCaller.withSmallWindow(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            Thread.ofVirtual().start(() -> readSlowly(caller, 1));

            gateway.assertTold(door, STREAM, path, 200, "client-too-slow");
        }
        String overHttp2 = door.path(STREAM, "crawling-http2");
        try (RawHttp2Client caller = RawHttp2Client.takingNothing(gateway.port())) {
            caller.headers(1, RawHttp2Client.get(overHttp2), true);
            assertThat(caller.next()).isEqualTo("headers 1 200");
            Thread.ofVirtual().start(() -> openSlowly(caller));

            gateway.assertTold(door, STREAM, overHttp2, 200, "client-too-slow");
        }
        await().until(() -> backend.connections() == 0);
    }

    /** Twenty bytes a second, and the minimum rate is 240. */
    private static void openSlowly(RawHttp2Client caller) {
        try {
            while (true) {
                caller.openWindow(1, 1);
                Thread.sleep(50);
            }
        } catch (IOException e) {
            // The test is over.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A refusal has no exchange, or none any more. */
    @Door.Any
    void isResetWhenItDoesNotReadARefusal(Door door) throws Exception {
        List<String> paths = List.of(door.path(BACKEND, "refused"), "/nowhere/" + door, "/%5C/" + door);
        List<String> refusals = List.of("headers 1 400", "headers 3 404", "headers 5 400");
        try (RawHttp2Client caller = RawHttp2Client.takingNothing(gateway.port())) {
            for (int i = 0; i < paths.size(); i++) {
                caller.headers(2 * i + 1, RawHttp2Client.get(paths.get(i)).add("x-request-timeout", "never"), true);
            }
            List<String> received = new ArrayList<>();
            while (received.size() < 2 * refusals.size()) {
                received.add(caller.next());
            }
            assertThat(received).containsAll(refusals).contains("reset 1 2", "reset 3 2", "reset 5 2");
        }
        gateway.assertTold(door, BACKEND, paths.getFirst(), 400, "bad-request");
    }

    @Door.Any
    void isResetWhenItsSlowReadingExceedsTheDeadline(Door door) throws Exception {
        backend.behave(StallingCallersIT::answerWithoutEnd);
        String path = door.path(BRIEF, "sipping");
        try (TestCaller caller = TestCaller.withSmallWindow(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            assertThat(caller.readHead().status()).isEqualTo(200);
            Thread.ofVirtual().start(() -> readSlowly(caller, 8_192));

            gateway.assertTold(door, BRIEF, path, 200, "client-too-slow");
        }
        assertNoFailure(BRIEF);
        await().until(() -> backend.connections() == 0);
    }

    /** Reads often enough for the idle timeout, but too little for the deadline. */
    private static void readSlowly(TestCaller caller, int bytes) {
        try {
            while (caller.in().readNBytes(bytes).length > 0) {
                Thread.sleep(20);
            }
        } catch (IOException e) {
            // The gateway has reset the connection.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
