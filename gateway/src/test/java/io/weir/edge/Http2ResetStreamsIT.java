package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.GuardedTestServer.Protocols;
import io.weir.testing.Leaks;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Frames of streams that the gateway has refused or reset: they were under way, and end no connection. */
@ExtendWith(Leaks.class)
class Http2ResetStreamsIT {

    private static final int REFUSED_STREAM = 7;
    private static final int ENHANCE_YOUR_CALM = 11;
    private static final int PROTOCOL_ERROR = 1;
    private static final int ALLOWED = 10;

    private static GuardedTestServer allowingTenStreams() {
        return new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
            edge.maxConcurrentStreams = ALLOWED;
            return edge;
        });
    }

    /** Opens as many streams as are allowed; returns the next one. */
    private static int fill(RawHttp2Client client) throws IOException {
        for (int i = 0; i < ALLOWED; i++) {
            client.headers(2 * i + 1, RawHttp2Client.get("/later"), true);
        }
        return 2 * ALLOWED + 1;
    }

    private static void assertOthersAreServed(GuardedTestServer server, RawHttp2Client client, int next)
            throws IOException {
        server.later.complete("later");
        // In any order.
        for (int i = 0; i < 2 * ALLOWED; i++) {
            assertThat(client.next()).matches("headers \\d+ 200|data \\d+ later end");
        }
        assertServed(client, next);
        assertThat(server.listener.flooded).hasValue(0);
    }

    private static void assertServed(RawHttp2Client client, int stream) throws IOException {
        client.headers(stream, RawHttp2Client.get("/hello"), true);
        assertThat(client.next()).isEqualTo("headers " + stream + " 200");
        assertThat(client.next()).isEqualTo("data " + stream + " hello end");
    }

    private static void frame(ByteBuf target, int type, int flags, int stream, int length) {
        target.writeMedium(length)
                .writeByte(type)
                .writeByte(flags)
                .writeInt(stream)
                .writeZero(length);
    }

    /** A request with a body, a window update and a reset. */
    private static ByteBuf requestThatIsCancelled(RawHttp2Client client, int stream, Http2Headers head) {
        byte[] bytes = client.encoded(stream, head);
        // Without END_STREAM.
        bytes[4] &= ~1;
        ByteBuf request = Unpooled.buffer().writeBytes(bytes);
        frame(request, 0, 0, stream, 1000);
        request.writeMedium(4).writeByte(8).writeByte(0).writeInt(stream).writeInt(1000);
        frame(request, 0, 1, stream, 0);
        request.writeMedium(4).writeByte(3).writeByte(0).writeInt(stream).writeInt(8);
        return request;
    }

    @ParameterizedTest(name = "{0} bytes at once")
    @ValueSource(ints = {1, 100, 10_000})
    void ignoresTheRestOfRequestsBeyondTheLimitOfStreams(int atOnce) throws Exception {
        try (GuardedTestServer server = allowingTenStreams();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            int stream = fill(client);
            for (int i = 0; i < 5; i++) {
                ByteBuf request = requestThatIsCancelled(client, stream, RawHttp2Client.post("/count"));
                while (request.isReadable()) {
                    int length = Math.min(atOnce, request.readableBytes());
                    client.connection().send(ByteBufUtil.getBytes(request.readSlice(length)));
                }
                assertThat(client.next()).isEqualTo("reset " + stream + " " + REFUSED_STREAM);
                stream += 2;
            }
            assertOthersAreServed(server, client, stream);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Upper-Case", ":unknown"})
    void ignoresTheRestOfARequestWithAMalformedHead(String name) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            assertServed(client, 1);
            Http2Headers head = RawHttp2Client.post("/count").add(name, "value");
            client.connection().send(ByteBufUtil.getBytes(requestThatIsCancelled(client, 3, head)));

            assertThat(client.next()).isEqualTo("reset 3 " + PROTOCOL_ERROR);
            assertServed(client, 5);
        }
    }

    /** Refused uploads take nothing of the connection's window for good, which is 1 MiB. */
    @Test
    void givesTheWindowOfRefusedUploadsBack() throws Exception {
        try (GuardedTestServer server = allowingTenStreams();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            int stream = fill(client);
            for (int i = 0; i < 50; i++) {
                client.headers(stream, RawHttp2Client.post("/count"), false);
                assertThat(client.next()).isEqualTo("reset " + stream + " " + REFUSED_STREAM);
                for (int part = 0; part < 4; part++) {
                    client.data(stream, 16_000, part == 3);
                }
                stream += 2;
            }
            assertOthersAreServed(server, client, stream);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ignoresTrailersOfARefusedRequest(boolean areLater) throws Exception {
        try (GuardedTestServer server = allowingTenStreams();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            int stream = fill(client);
            client.headers(stream, RawHttp2Client.post("/count"), false);
            assertThat(client.next()).isEqualTo("reset " + stream + " " + REFUSED_STREAM);
            server.later.complete("later");
            for (int i = 0; i < 2 * ALLOWED; i++) {
                assertThat(client.next()).doesNotContain("reset");
            }
            int next = stream + 2;
            if (areLater) {
                assertServed(client, next);
                next += 2;
            }
            Http2Headers trailers = new DefaultHttp2Headers(false).add("checksum", "1");
            client.headers(stream, trailers, true);
            assertThat(client.next()).matches("reset " + stream + " \\d+");
            assertServed(client, next);
            assertThat(server.listener.refused).isEmpty();
        }
    }

    /** More than a window's bytes cannot have been under way, whatever the size of the frames. */
    @ParameterizedTest
    @ValueSource(ints = {1, 16_384})
    void endsAConnectionThatGoesOnWithARefusedStream(int frameBytes) throws Exception {
        try (GuardedTestServer server = allowingTenStreams();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            int stream = fill(client);
            client.headers(stream, RawHttp2Client.post("/count"), false);
            assertThat(client.next()).isEqualTo("reset " + stream + " " + REFUSED_STREAM);
            ByteBuf body = Unpooled.buffer();
            for (int bytes = 0; bytes <= 2 * 65_535; bytes += 9 + frameBytes) {
                frame(body, 0, 0, stream, frameBytes);
            }
            client.connection().send(ByteBufUtil.getBytes(body));

            assertThat(client.next()).matches("goaway \\d+ " + ENHANCE_YOUR_CALM);
            server.listener.awaitClosed(1);
            assertThat(server.listener.flooded).hasValue(1);
        }
    }

    /** The edge answers a request that it refuses, and then resets the stream. */
    @ParameterizedTest
    @ValueSource(ints = {1, 300})
    void ignoresBodiesOfRequestsThatTheEdgeRefuses(int requests) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            Http2Headers head = RawHttp2Client.post("/x".repeat(8 * 1024));
            int stream = 1;
            for (int i = 0; i < requests; i++) {
                client.headers(stream, head, false);
                assertThat(client.next()).isEqualTo("headers " + stream + " 414");
                assertThat(client.next()).startsWith("data " + stream);
                assertThat(client.next()).isEqualTo("reset " + stream + " 0");
                client.connection().send(ByteBufUtil.getBytes(body(stream)));
                stream += 2;
            }
            assertServed(client, stream);
            assertThat(server.listener.flooded).hasValue(0);
        }
    }

    private static ByteBuf body(int stream) {
        ByteBuf body = Unpooled.buffer();
        for (int i = 0; i < 20; i++) {
            frame(body, 0, 0, stream, 100);
        }
        frame(body, 0, 1, stream, 0);
        return body;
    }
}
