package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.GuardedTestServer.Protocols;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import io.weir.testing.TestTls;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.nio.ByteBuffer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Callers that violate HTTP/2 (RFC 9113), or flood a connection with frames that the protocol permits. */
@ExtendWith(Leaks.class)
class Http2ViolationsIT {

    private static final int PROTOCOL_ERROR = 1;
    private static final int STREAM_CLOSED = 5;

    private static final Protocols[] BOTH = {Protocols.HTTP1_OR_H2C, Protocols.TLS_HTTP1_OR_H2};

    private static RawHttp2Client connect(GuardedTestServer server, Protocols protocols) throws IOException {
        return new RawHttp2Client(
                protocols.isTls()
                        ? new RawHttp1Client(TestTls.connect(server.port(), "h2"))
                        : RawHttp1Client.to(server.port()));
    }

    private static void assertRefused(GuardedTestServer server, int times) {
        server.listener.awaitRefused(times);
        assertThat(server.listener.refused)
                .extracting(RecordingEdgeListener.Refused::reason)
                .containsOnly(Reason.BAD_REQUEST);
    }

    // ---------------------------------------------------------------- 3.4: the preface

    @Test
    void closesAConnectionThatBeginsWithNoProtocol() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("INVALID CONNECTION PREFACE\r\n\r\n");

            assertThat(client.rest()).isEmpty();
            assertRefused(server, 1);
        }
    }

    // ---------------------------------------------------------------- 8.3.1: pseudo-header fields

    static Stream<Arguments> incompleteHeads() {
        return Stream.of(BOTH)
                .flatMap(protocols ->
                        Stream.of(":method", ":scheme", ":path").map(missing -> Arguments.of(protocols, missing)));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("incompleteHeads")
    void resetsTheStreamOfAHeadWithoutAPseudoHeaderField(Protocols protocols, String missing) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp2Client client = connect(server, protocols)) {
            Http2Headers head = RawHttp2Client.get("/hello");
            head.remove(missing);
            int stream = 1;
            // More than the streams that the connection may have at once.
            for (int i = 0; i < 150; i++) {
                client.headers(stream, head, i % 2 == 0);
                assertThat(client.next()).isEqualTo("reset " + stream + " " + PROTOCOL_ERROR);
                stream += 2;
            }
            client.headers(stream, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers " + stream + " 200");
            assertRefused(server, 150);
            assertThat(server.handled).hasValue(1);
        }
    }

    @Test
    void resetsTheStreamOfAnEmptyPath() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get(""), true);

            assertThat(client.next()).isEqualTo("reset 1 " + PROTOCOL_ERROR);
            assertRefused(server, 1);
        }
    }

    // ---------------------------------------------------------------- 5.1: states of streams

    @OverHttp2
    void closesTheConnectionOfASecondHeadOfARequestThatHasEnded(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp2Client client = connect(server, protocols)) {
            // The rules see no frame that arrives together with the preface of a connection in clear text.
            assertServed(client, 1);
            client.headers(3, RawHttp2Client.get("/later"), true);
            client.headers(3, RawHttp2Client.get("/later"), true);

            assertEnds(client, STREAM_CLOSED);
            assertRefused(server, 1);
        }
    }

    @OverHttp2
    void closesTheConnectionOfAHeadOfAClosedStream(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp2Client client = connect(server, protocols)) {
            assertServed(client, 1);
            client.headers(1, RawHttp2Client.get("/hello"), true);

            assertEnds(client, STREAM_CLOSED);
            assertRefused(server, 1);
        }
    }

    @OverHttp2
    void closesTheConnectionOfAStreamBelowAnEarlierOne(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp2Client client = connect(server, protocols)) {
            assertServed(client, 5);
            client.headers(3, RawHttp2Client.get("/hello"), true);

            assertEnds(client, PROTOCOL_ERROR);
            assertRefused(server, 1);
        }
    }

    /** Each protocol with HTTP/2 as a parameter. */
    @Retention(RetentionPolicy.RUNTIME)
    @ParameterizedTest
    @EnumSource(
            value = Protocols.class,
            names = {"HTTP1_OR_H2C", "TLS_HTTP1_OR_H2"})
    @interface OverHttp2 {}

    private static void assertServed(RawHttp2Client client, int stream) throws IOException {
        client.headers(stream, RawHttp2Client.get("/hello"), true);
        assertThat(client.next()).isEqualTo("headers " + stream + " 200");
        assertThat(client.next()).isEqualTo("data " + stream + " hello end");
    }

    private static void assertEnds(RawHttp2Client client, int error) throws IOException {
        assertThat(client.next()).matches("goaway \\d+ " + error);
        assertThat(client.next()).isEqualTo("closed");
    }

    // ---------------------------------------------------------------- floods

    /** A frame that is sent again and again. */
    enum Flood {
        PINGS(6, 0, 0, 8),
        ACKNOWLEDGED_PINGS(6, 1, 0, 8),
        SETTINGS(4, 0, 0, 0),
        PRIORITIES(2, 0, 1, 5),
        UNKNOWN_FRAMES(0x42, 0, 0, 0),
        EMPTY_BODIES(0, 0, 1, 0),
        CONTINUATIONS(9, 0, 3, 0),
        RESETS(3, 0, 1, 4);

        private final int type;
        private final int flags;
        private final int stream;
        private final int length;

        Flood(int type, int flags, int stream, int length) {
            this.type = type;
            this.flags = flags;
            this.stream = stream;
            this.length = length;
        }

        private byte[] frame() {
            ByteBuffer bytes = ByteBuffer.allocate(9 + length);
            bytes.put((byte) 0)
                    .putShort((short) length)
                    .put((byte) type)
                    .put((byte) flags)
                    .putInt(stream);
            if (this == PRIORITIES) {
                // Depends on stream 0.
                bytes.putInt(0).put((byte) 16);
            } else if (this == RESETS) {
                bytes.putInt(8);
            }
            return bytes.array();
        }

        /** Opens the stream that the frames belong to. */
        private void prepare(RawHttp2Client client) throws IOException {
            if (this == EMPTY_BODIES || this == RESETS) {
                client.headers(1, RawHttp2Client.post("/count"), false);
            } else if (this == CONTINUATIONS) {
                byte[] head = client.encoded(3, RawHttp2Client.get("/hello"));
                // The fields are complete, but END_HEADERS is missing.
                head[4] &= ~0x4;
                client.connection().send(head);
            } else {
                client.headers(1, RawHttp2Client.get("/later"), true);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Flood.class)
    void endsAFloodedConnectionAndCountsIt(Flood flood) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            byte[] frame = flood.frame();
            ByteBuffer many = ByteBuffer.allocate(frame.length * 100);
            while (many.hasRemaining()) {
                many.put(frame);
            }
            try {
                flood.prepare(client);
                for (int i = 0; i < 50; i++) {
                    client.connection().send(many.array());
                }
            } catch (IOException e) {
                // The server has closed the connection.
            }
            server.listener.awaitClosed(1);
            assertThat(server.listener.flooded).hasValue(1);
            assertRefused(server, 1);
        }
    }

    /** The gateway answers each of them with a reset, which costs more than it costs the caller. */
    @Test
    void endsAConnectionFloodedWithMalformedHeadsAndCountsIt() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            Http2Headers head = RawHttp2Client.get("/hello");
            head.remove(":path");
            try {
                for (int stream = 1; stream < 10_000; stream += 2) {
                    client.headers(stream, head, true);
                }
            } catch (IOException e) {
                // The server has closed the connection.
            }
            server.listener.awaitClosed(1);
            assertThat(server.listener.flooded).hasValue(1);
            assertThat(server.handled).hasValue(0);
        }
    }

    @Test
    void doesNotEndTheConnectionOfACallerThatPingsAndUpdatesWindowsPerResponse() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            for (int stream = 1; stream < 3000; stream += 2) {
                client.headers(stream, RawHttp2Client.get("/hello"), true);
                client.ping();
                client.openWindow(5);
                assertThat(client.next()).isEqualTo("headers " + stream + " 200");
                assertThat(client.next()).isEqualTo("data " + stream + " hello end");
            }
            assertThat(server.listener.flooded).hasValue(0);
            assertThat(server.listener.refused).isEmpty();
        }
    }

    /** As many resets as streams at once, several times: their calls have timed out at the caller. */
    @Test
    void doesNotEndTheConnectionOfACallerWhoseCallsTimeOut() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            int stream = 1;
            for (int round = 0; round < 5; round++) {
                for (int i = 0; i < 100; i++) {
                    client.headers(stream + 2 * i, RawHttp2Client.get("/later"), true);
                }
                for (int i = 0; i < 100; i++) {
                    client.reset(stream + 2 * i);
                }
                stream += 200;
            }
            client.headers(stream, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers " + stream + " 200");
            assertThat(server.listener.flooded).hasValue(0);
        }
    }
}
