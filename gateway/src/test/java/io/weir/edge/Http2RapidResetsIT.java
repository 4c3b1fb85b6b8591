package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.GuardedTestServer.Protocols;
import io.weir.testing.Leaks;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Callers that make the gateway begin calls and break them off: by a reset (rapid reset), or by a violation
 * that the gateway must answer with a reset (MadeYouReset). And callers that only look like them.
 */
@ExtendWith(Leaks.class)
class Http2RapidResetsIT {

    /** More than the budget allows, and few enough that time adds no more than it. */
    private static final int MANY_STREAMS = 10_000;

    /** How a caller breaks off a call that has begun. */
    enum BreakOff {
        RESET_AFTER_A_BYTE {
            @Override
            void send(RawHttp2Client client, int stream) throws IOException {
                client.headers(stream, RawHttp2Client.post("/later"), false);
                client.data(stream, 1, false);
                client.reset(stream);
            }
        },
        RESET_AFTER_THE_HEAD {
            @Override
            void send(RawHttp2Client client, int stream) throws IOException {
                client.headers(stream, RawHttp2Client.get("/later"), true);
                client.reset(stream);
            }
        },
        BODY_AFTER_THE_END {
            @Override
            void send(RawHttp2Client client, int stream) throws IOException {
                client.headers(stream, RawHttp2Client.get("/later"), true);
                client.data(stream, 1, true);
            }
        },
        BODY_BEYOND_ITS_LENGTH {
            @Override
            void send(RawHttp2Client client, int stream) throws IOException {
                Http2Headers head = RawHttp2Client.post("/later").setInt("content-length", 0);
                client.headers(stream, head, false);
                client.data(stream, 1, false);
            }
        },
        BODY_SHORTER_THAN_ITS_LENGTH {
            @Override
            void send(RawHttp2Client client, int stream) throws IOException {
                Http2Headers head = RawHttp2Client.post("/later").setInt("content-length", 2);
                client.headers(stream, head, false);
                client.data(stream, 1, true);
            }
        },
        WINDOW_UPDATE_OF_NOTHING {
            @Override
            void send(RawHttp2Client client, int stream) throws IOException {
                client.headers(stream, RawHttp2Client.post("/later"), false);
                client.data(stream, 1, false);
                client.openWindow(stream, 0);
            }
        };

        abstract void send(RawHttp2Client client, int stream) throws IOException;
    }

    @ParameterizedTest
    @EnumSource(BreakOff.class)
    void endsTheConnectionOfACallerThatBreaksOffCalls(BreakOff way) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            try {
                for (int i = 0; i < MANY_STREAMS; i++) {
                    way.send(client, 2 * i + 1);
                }
            } catch (IOException e) {
                // The server has closed the connection.
            }
            server.listener.awaitClosed(1);
            assertThat(server.listener.flooded).hasValue(1);
            assertThat(server.handled).hasValueLessThan(MANY_STREAMS / 2);
        }
    }

    @Test
    void servesACallerWithManySmallUploads() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            for (int i = 0; i < 3000; i++) {
                int stream = 2 * i + 1;
                client.headers(stream, RawHttp2Client.post("/count"), false);
                client.data(stream, 1, i % 2 == 0);
                if (i % 2 != 0) {
                    client.data(stream, 0, true);
                }
                assertThat(client.next()).isEqualTo("headers " + stream + " 200");
                assertThat(client.next()).isEqualTo("data " + stream + " 1 end");
            }
            assertThat(server.listener.flooded).hasValue(0);
            assertThat(server.listener.refused).isEmpty();
        }
    }

    /** As gRPC does: each message is a frame, and the caller updates its windows. */
    @Test
    void servesACallerWithAStreamOfManySmallMessages() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.post("/echo"), false);
            assertThat(client.next()).isEqualTo("headers 1 200");
            for (int i = 0; i < 5000; i++) {
                client.data(1, 7, false);
                assertThat(client.next()).startsWith("data 1 ");
                client.openWindow(7);
                client.openWindow(1, 7);
                if (i % 10 == 0) {
                    client.ping();
                }
            }
            assertThat(server.listener.flooded).hasValue(0);
        }
    }

    /** Callers that send each call twice and cancel the slower one. */
    @Test
    void servesACallerThatCancelsHalfOfItsCalls() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            for (int stream = 1; stream < 6000; stream += 4) {
                client.headers(stream, RawHttp2Client.get("/later"), true);
                client.headers(stream + 2, RawHttp2Client.get("/hello"), true);
                assertThat(client.next()).isEqualTo("headers " + (stream + 2) + " 200");
                assertThat(client.next()).isEqualTo("data " + (stream + 2) + " hello end");
                client.reset(stream);
            }
            assertThat(server.listener.flooded).hasValue(0);
            assertThat(server.listener.refused).isEmpty();
        }
    }

    /** Callers that end streams by a reset once they have read enough. */
    @ParameterizedTest
    @ValueSource(strings = {"/early", "/begun"})
    void servesACallerThatResetsEachStreamOnceItsAnswerHasBegun(String path) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            for (int stream = 1; stream < 4000; stream += 2) {
                client.headers(stream, RawHttp2Client.post(path), false);
                assertThat(client.next()).isEqualTo("headers " + stream + " 200");
                assertThat(client.next()).startsWith("data " + stream + " " + path.substring(1));
                client.reset(stream);
            }
            assertThat(server.listener.flooded).hasValue(0);
            assertThat(server.listener.refused).isEmpty();
        }
    }
}
