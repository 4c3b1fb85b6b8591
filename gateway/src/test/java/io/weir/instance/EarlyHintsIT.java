package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.RawHttp2Client;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A backend's 103 (early hints) reaches HTTP/2 callers before the answer. {@link BackendFaultsIT} and {@link
 * Http2BackendIT} show that HTTP/1.1 callers get only the final answer.
 */
@ExtendWith(Leaks.class)
class EarlyHintsIT {

    private static final String ONE = "one";
    private static final String TWO = "two";
    private static final String STYLE = "</a.css>; rel=preload; as=style";
    private static final String FONT = "</a.woff2>; rel=preload; as=font";
    private static final String HINT = "HTTP/1.1 103 Early Hints\r\nLink: " + STYLE + "\r\nLink: " + FONT
            + "\r\nSet-Cookie: early=1\r\nX-Trace: 7\r\n\r\n";

    private static TestBackend backend;
    private static TestHttp2Backend h2;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        h2 = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(ONE, backend.uri(), "deadline: 20s")
                .backend(TWO, h2.uri(), "protocol: h2", "deadline: 20s")
                .route(ONE, ONE, "retry: { max-attempts: 2 }")
                .route(TWO, TWO)
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    @AfterEach
    void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
        h2.close();
    }

    private static void assertHinted(RawHttp2Client caller, int stream) throws IOException {
        assertThat(caller.next()).isEqualTo("headers " + stream + " 103");
        assertThat(caller.lastHeaders().getAll("link"))
                .map(CharSequence::toString)
                .containsExactly(STYLE, FONT);
        assertThat(caller.lastHeaders().names())
                .map(CharSequence::toString)
                .containsExactlyInAnyOrder(":status", "link");
    }

    private static void assertAnswered(RawHttp2Client caller, int stream) throws IOException {
        assertThat(caller.next()).isEqualTo("headers " + stream + " 200");
        assertThat(caller.lastHeaders().get("link")).isNull();
        String data = caller.next();
        if (!data.endsWith(" end")) {
            // The general door ends the stream with a frame of its own.
            data += caller.next().substring(("data " + stream + ' ').length());
        }
        assertThat(data).isEqualTo("data " + stream + " final end");
    }

    /** The backend waits with its answer until the caller has the hints. */
    @Door.Both
    void reachTheCallerBeforeTheAnswer(Door door) throws Exception {
        Semaphore read = new Semaphore(0);
        backend.behave((request, conversation) -> {
            conversation.write(HINT);
            read.acquire();
            conversation.answer(200, "final");
        });
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            for (int stream = 1; stream < 6; stream += 2) {
                caller.headers(stream, RawHttp2Client.get(door.path(ONE, "page")), true);
                assertHinted(caller, stream);
                read.release();
                assertAnswered(caller, stream);
            }
        }
        gateway.assertFed(ONE, 3, 0, 0);
    }

    @Door.Both
    void reachTheCallerFromABackendWithHttp2(Door door) throws Exception {
        Semaphore read = new Semaphore(0);
        h2.behave(stream -> {
            stream.begin(
                    new DefaultHttp2Headers()
                            .status("103")
                            .add("link", List.of(STYLE, FONT))
                            .add("x-trace", "7"),
                    false);
            read.acquireUninterruptibly();
            stream.answer(200, 5, "final".getBytes(StandardCharsets.US_ASCII));
        });
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            caller.headers(1, RawHttp2Client.get(door.path(TWO, "page")), true);
            assertHinted(caller, 1);
            read.release();
            assertAnswered(caller, 1);
        }
        gateway.assertFed(TWO, 1, 0, 0);
    }

    /** Nor do other informational answers, and hints without a link. */
    @Door.Any
    void areAFewAtMost(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 102 Processing\r\nLink: </b>\r\n\r\n");
            conversation.write("HTTP/1.1 103 Early Hints\r\nX-Trace: 7\r\n\r\n");
            conversation.write(HINT.repeat(InformationalFilter.MAX_HINTS + 4));
            conversation.answer(200, "final");
        });
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            caller.headers(1, RawHttp2Client.get(door.path(ONE, "many")), true);
            for (int i = 0; i < InformationalFilter.MAX_HINTS; i++) {
                assertHinted(caller, 1);
            }
            assertAnswered(caller, 1);
        }
        gateway.assertFed(ONE, 1, 0, 0);
    }

    @Door.Any
    void doNotReachGrpcCallers(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            conversation.write(HINT);
            conversation.answer(200, "final");
        });
        Http2Headers call = RawHttp2Client.post(door.path(ONE, "Call")).set("content-type", "application/grpc");
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            caller.headers(1, call, true);
            assertAnswered(caller, 1);
        }
    }

    /** The next attempt's answer follows; its hints do, too. */
    @Door.Any
    void ofAnAttemptThatIsRepeatedHarmNothing(Door door) throws Exception {
        Semaphore first = new Semaphore(1);
        backend.behave((request, conversation) -> {
            conversation.write(HINT);
            conversation.answer(first.tryAcquire() ? 503 : 200, "final");
        });
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            caller.headers(1, RawHttp2Client.get(door.path(ONE, "again")), true);
            assertHinted(caller, 1);
            assertHinted(caller, 1);
            assertAnswered(caller, 1);
        }
        gateway.assertFed(ONE, 2, 1, 0);
    }

    /** A caller who leaves between the hints and the answer. */
    @Door.Any
    void areNoAnswerToACallerWhoLeaves(Door door) throws Exception {
        Semaphore left = new Semaphore(0);
        backend.behave((request, conversation) -> {
            conversation.write(HINT);
            left.acquire();
            conversation.write(HINT);
            conversation.answer(200, "final");
        });
        String path = door.path(ONE, "left");
        try (RawHttp2Client caller = RawHttp2Client.to(gateway.port())) {
            caller.headers(1, RawHttp2Client.get(path), true);
            assertHinted(caller, 1);
            caller.reset(1);
            gateway.logged(path);
            left.release();
            backend.behave((request, conversation) -> conversation.answer(200, "final"));
            caller.headers(3, RawHttp2Client.get(door.path(ONE, "next")), true);
            assertAnswered(caller, 3);
        }
    }
}
