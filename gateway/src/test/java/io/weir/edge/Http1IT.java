package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.drain.Drain;
import io.weir.edge.GuardedTestServer.Protocols;
import io.weir.edge.RawHttp1Client.Answer;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import java.io.IOException;
import java.net.SocketException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.netty.http.Http11SslContextSpec;
import reactor.netty.http.client.HttpClient;
import reactor.netty.tcp.SslProvider.GenericSslContextSpec;

@ExtendWith(Leaks.class)
class Http1IT {

    private static final String HOST = "Host: weir.example\r\n";

    // ---------------------------------------------------------------- valid requests

    @ParameterizedTest
    @EnumSource
    void keepsAConnectionForManyRequests(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            for (int i = 0; i < 20; i++) {
                assertThat(client.get("/hello").body()).isEqualTo("hello");
                client.send("POST /echo HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\n\r\nabc");
                assertThat(client.answer().body()).isEqualTo("abc");
                client.send("POST /echo HTTP/1.1\r\n" + HOST
                        + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n");
                assertThat(client.answer().body()).isEqualTo("abcd");
                client.send("HEAD /hello HTTP/1.1\r\n" + HOST + "\r\n");
                assertThat(client.answer(false).field("content-length")).isEqualTo("5");
            }
            assertThat(server.listener.opened).hasValue(1);
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void answersPipelinedRequestsInOrder(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            StringBuilder requests = new StringBuilder();
            for (int i = 0; i < 20; i++) {
                String body = "body " + i;
                requests.append("POST /echo HTTP/1.1\r\n" + HOST + "Content-Length: ")
                        .append(body.length())
                        .append("\r\n\r\n")
                        .append(body)
                        .append("POST /echo HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n")
                        .append(Integer.toHexString(body.length()))
                        .append("\r\n")
                        .append(body)
                        .append("\r\n0\r\n\r\n")
                        .append("GET /hello HTTP/1.1\r\n" + HOST + "\r\n");
            }
            client.send(requests.toString());

            for (int i = 0; i < 20; i++) {
                assertThat(client.answer().body()).isEqualTo("body " + i);
                assertThat(client.answer().body()).isEqualTo("body " + i);
                assertThat(client.answer().body()).isEqualTo("hello");
            }
        }
    }

    /** More requests than Reactor Netty reads ahead, so that the last one is read while others wait. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1\r\n" + HOST + "Connection: close\r\n",
                "HTTP/1.1\r\n" + HOST + "Connection: te, Close\r\n",
                "HTTP/1.0\r\n"
            })
    void answersAllPipelinedRequestsBeforeAClose(String last) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            String request = "GET /hello HTTP/1.1\r\n" + HOST + "\r\n";
            // The requests after the closing one are dropped.
            client.send(
                    request.repeat(49) + "POST /echo " + last + "Content-Length: 4\r\n\r\nlast" + request.repeat(50));

            for (int i = 0; i < 49; i++) {
                RawHttp1Client.Answer answer = client.answer();
                assertThat(answer.body()).as("answer %d", i).isEqualTo("hello");
                assertThat(answer.closes()).as("answer %d", i).isFalse();
            }
            RawHttp1Client.Answer answer = client.answer();
            assertThat(answer.body()).isEqualTo("last");
            assertThat(answer.closes()).isTrue();
            assertThat(client.rest()).isEmpty();
            client.hangUp();
            server.listener.awaitClosed(1);
            assertThat(server.handled).hasValue(50);
        }
    }

    @ParameterizedTest
    @EnumSource
    void answersARequestThatArrivesBytewise(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            String requests = "\r\nPOST /echo HTTP/1.1\r\n" + HOST
                    + "Transfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\nX: y\r\n\r\n"
                    + "POST /echo HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\n\r\nabc"
                    + "GET /hello HTTP/1.1\r\n" + HOST + "\r\n";
            for (int i = 0; i < requests.length(); i++) {
                client.send(requests.substring(i, i + 1));
            }

            assertThat(client.answer().body()).isEqualTo("abc");
            assertThat(client.answer().body()).isEqualTo("abc");
            assertThat(client.answer().body()).isEqualTo("hello");
        }
    }

    @ParameterizedTest
    @EnumSource
    void sends100ContinueBeforeItReadsTheBody(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            for (int i = 0; i < 2; i++) {
                client.send("POST /count HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
                assertThat(client.answer().status()).isEqualTo(100);
                client.send("abc");
                assertThat(client.answer().body()).isEqualTo("3");
            }
        }
    }

    @Test
    void sendsNo100ContinueForAnUnwantedBody() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("POST /nowhere HTTP/1.1\r\n" + HOST
                    + "Content-Length: 3\r\nExpect: 100-continue\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");

            Answer answer = client.answer();
            assertThat(answer.status()).isEqualTo(404);
            assertThat(answer.closes()).isTrue();
            client.shutdownOutput();
            assertThat(client.rest()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void servesAnHttp10Request(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            client.send("GET /hello HTTP/1.0\r\n\r\n");

            assertThat(client.answer().body()).isEqualTo("hello");
            assertThat(client.rest()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void upgradesToWebSocket(boolean afterAnotherRequest) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            if (afterAnotherRequest) {
                client.get("/hello");
            }
            client.send("GET /ws HTTP/1.1\r\n" + HOST
                    + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
            assertThat(client.answer().status()).isEqualTo(101);

            byte[] frame = {(byte) 0x81, (byte) 0x82, 0, 0, 0, 0, 'h', 'i'};
            for (int i = 0; i < 3; i++) {
                for (byte b : frame) {
                    client.send(new byte[] {b});
                }
                assertThat(client.bytes(4)).containsExactly(0x81, 2, 'h', 'i');
            }
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "TLS_HTTP1_OR_H2")
    void carriesWebSocketsOfAReactorNettyClient(Protocols protocols) {
        try (GuardedTestServer server = GuardedTestServer.start(protocols)) {
            HttpClient client = HttpClient.newConnection().host("localhost").port(server.port());
            if (protocols.isTls()) {
                client = client.secure(spec ->
                        spec.sslContext((GenericSslContextSpec<?>) Http11SslContextSpec.forClient()
                                .configure(builder -> builder.trustManager(InsecureTrustManagerFactory.INSTANCE))));
            }
            String echoed = client.websocket()
                    .uri("/ws")
                    .handle((in, out) -> out.sendString(Mono.just("hi"))
                            .then(in.receive().asString().next().then())
                            .then())
                    .then(Mono.just("done"))
                    .block(PATIENCE);
            assertThat(echoed).isEqualTo("done");
        }
    }

    // ---------------------------------------------------------------- slow heads

    @ParameterizedTest
    @EnumSource
    void refusesAHeadThatStalls(Protocols protocols) throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout(protocols);
                RawHttp1Client client = server.connect()) {
            client.send("GET /hello HTTP/1.1\r\nHos");

            assertRefused(client, Reason.CLIENT_TOO_SLOW);
            server.listener.awaitRefused(1);
            assertThat(server.listener.refused.get(0).nanos())
                    .isGreaterThanOrEqualTo(Duration.ofSeconds(1).toNanos());
        }
    }

    @ParameterizedTest
    @EnumSource
    void refusesALaterHeadThatStalls(Protocols protocols) throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout(protocols);
                RawHttp1Client client = server.connect()) {
            client.get("/hello");
            client.send("GET /hello HTTP/1.1\r\n" + HOST + "\r\nG");
            assertThat(client.answer().body()).isEqualTo("hello");

            assertRefused(client, Reason.CLIENT_TOO_SLOW);
        }
    }

    @Test
    void refusesAHeadThatDrips() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            CompletableFuture<Void> dripping = CompletableFuture.runAsync(() -> drip(client));

            assertRefused(client, Reason.CLIENT_TOO_SLOW);
            client.hangUp();
            dripping.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    private static void drip(RawHttp1Client client) {
        try {
            client.send("GET /hello HTTP/1.1\r\n");
            while (true) {
                client.send("x: y\r\n");
                // A slow caller: the head never ends, and each part comes in time.
                Thread.sleep(10);
            }
        } catch (IOException | InterruptedException e) {
            // The server has closed the connection.
        }
    }

    @ParameterizedTest
    @EnumSource
    void closesASilentConnectionWithoutAResponse(Protocols protocols) throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout(protocols);
                RawHttp1Client client = RawHttp1Client.to(server.port())) {
            assertThat(client.rest()).isEmpty();
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void closesAConnectionWhoseTlsHandshakeStalls() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout(Protocols.TLS_HTTP1_OR_H2);
                RawHttp1Client client = RawHttp1Client.to(server.port())) {
            client.send(new byte[] {0x16, 3, 1});

            assertThat(client.rest()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void closesAnIdleConnectionWithoutAResponse(Protocols protocols) throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(protocols, edge -> {
                    edge.keepAliveTimeout = Duration.ofMillis(500);
                    return edge;
                });
                RawHttp1Client client = server.connect()) {
            client.get("/hello");
            client.get("/hello");

            assertThat(client.rest()).isEmpty();
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void hasNoTimeoutWhileAResponseIsPending() throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
                    edge.headTimeout = Duration.ofSeconds(1);
                    edge.keepAliveTimeout = Duration.ofMillis(500);
                    return edge;
                });
                RawHttp1Client client = server.connect()) {
            client.send("GET /later HTTP/1.1\r\n" + HOST + "\r\nG");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            // When another head and another idle connection have timed out, this one would have, too.
            try (RawHttp1Client stalling = server.connect()) {
                stalling.send("G");
                assertRefused(stalling, Reason.CLIENT_TOO_SLOW);
            }
            try (RawHttp1Client idle = server.connect()) {
                idle.get("/hello");
                assertThat(idle.rest()).isEmpty();
            }
            server.later.complete("late");

            assertThat(client.answer().body()).isEqualTo("late");
            assertRefused(client, Reason.CLIENT_TOO_SLOW);
        }
    }

    // ---------------------------------------------------------------- malformed heads

    static Stream<Arguments> malformedHeads() {
        String get = "GET /hello HTTP/1.1\r\n";
        String post = "POST /echo HTTP/1.1\r\n" + HOST;
        return Stream.of(
                head("no host", get + "\r\n", "host: missing"),
                head("empty host", get + "Host:\r\n\r\n", "host: "),
                head("two hosts", get + HOST + HOST + "\r\n", "host: more than one"),
                head("two hosts of HTTP/1.0", "GET /hello HTTP/1.0\r\n" + HOST + HOST + "\r\n", "host: more than one"),
                head("host with a path", get + "Host: a/b\r\n\r\n", "host: a/b"),
                head("host with a user", get + "Host: u@a\r\n\r\n", "host: u@a"),
                head(
                        "length and encoding",
                        post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                        "Content-Length"),
                head("two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "Content-Length"),
                head("a list of lengths", post + "Content-Length: 3, 3\r\n\r\nabc", "Content-Length"),
                head("negative length", post + "Content-Length: -3\r\n\r\nabc", "Content-Length"),
                head("signed length", post + "Content-Length: +3\r\n\r\nabc", "Content-Length"),
                head("hexadecimal length", post + "Content-Length: 0x3\r\n\r\nabc", "Content-Length"),
                head(
                        "encoding of HTTP/1.0",
                        "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                        "Transfer"),
                head("another encoding", post + "Transfer-Encoding: gzip\r\n\r\n", "chunked"),
                head("chunked, and more", post + "Transfer-Encoding: chunked, gzip\r\n\r\n", "chunked"),
                head("another encoding within", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", "gzip, chunked"),
                head(
                        "another encoding before",
                        post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
                        "gzip, chunked"),
                head(
                        "WebSocket of before, with eight bytes behind its head",
                        get + HOST + "Upgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key1: 1 1\r\n"
                                + "Sec-WebSocket-Key2: 2 2\r\n\r\n",
                        "sec-websocket-key1"),
                head("chunked twice", post + "Transfer-Encoding: chunked, chunked\r\n\r\n", "chunked"),
                head("obscured encoding", post + "Transfer-Encoding : chunked\r\n\r\n", "header"),
                head("space before the colon", get + HOST + "X : y\r\n\r\n", "header"),
                head("space before the first field", get + " " + HOST + "\r\n", "folded"),
                head("folded field", get + HOST + "X: a\r\n b\r\n\r\n", "folded"),
                head("field folded with a tab", get + HOST + "X: a\r\n\tb\r\n\r\n", "folded"),
                head("no colon", get + HOST + "nonsense\r\n\r\n", "colon"),
                head("empty name", get + HOST + ": x\r\n\r\n", "header"),
                head("bare CR in a field", get + HOST + "X: a\rb\r\n\r\n", "bare carriage return"),
                head("bare CR in a target", "GET /a\rb HTTP/1.1\r\n" + HOST + "\r\n", "bare carriage return"),
                head("bare CR for spaces", "GET\r/hello\rHTTP/1.1\r\n" + HOST + "\r\n", "bare carriage return"),
                head("bare CR before the end", get + HOST + "\r\r\n\r\n", "bare carriage return"),
                head("bare LF", "GET /hello HTTP/1.1\n" + HOST + "\n", ""),
                head("NUL in a field", get + HOST + "X: a\0b\r\n\r\n", "header"),
                head("method that is no token", "G{T /hello HTTP/1.1\r\n" + HOST + "\r\n", "Method"),
                head("CONNECT", "CONNECT a:443 HTTP/1.1\r\n" + HOST + "\r\n", "CONNECT"),
                head("CONNECT of a path", "CONNECT /hello HTTP/1.1\r\n" + HOST + "\r\n", "CONNECT"),
                head("no target", "GET HTTP/1.1\r\n" + HOST + "\r\n", ""),
                head("space in the target", "GET /a b HTTP/1.1\r\n" + HOST + "\r\n", "version"),
                head("no version", "GET /hello\r\n\r\n", ""),
                head("HTTP/2.0", "GET /hello HTTP/2.0\r\n" + HOST + "\r\n", "HTTP/2.0"),
                head("HTTP/1.2", "GET /hello HTTP/1.2\r\n" + HOST + "\r\n", "HTTP/1.2"),
                head("http/1.1", "GET /hello http/1.1\r\n" + HOST + "\r\n", "protocol"),
                head("RTSP", "GET /hello RTSP/1.0\r\n" + HOST + "\r\n", "version"),
                head("garbage", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n", ""),
                head("more garbage", "\u00ff\u00fe\u0000\u0001\r\n\r\n\r\n", ""));
    }

    private static Arguments head(String name, String bytes, String detail) {
        return Arguments.of(name, bytes, detail);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("malformedHeads")
    void refusesAMalformedHead(String name, String bytes, String detail) throws Exception {
        for (Protocols protocols : new Protocols[] {Protocols.HTTP1_OR_H2C, Protocols.TLS_HTTP1_OR_H2}) {
            try (GuardedTestServer server = GuardedTestServer.start(protocols);
                    RawHttp1Client client = server.connect()) {
                client.send(bytes);

                assertThat(assertRefused(client, Reason.BAD_REQUEST).body()).contains(detail);
                server.listener.awaitRefused(1);
                assertThat(server.handled).hasValue(0);
            }
        }
    }

    @Test
    void refusesAMalformedHeadInAnyFragmentation() throws Exception {
        String bytes = "GET /hello HTTP/1.1\r\n" + HOST + "X: a\r\n b\r\n\r\n";
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C)) {
            for (int cut = 1; cut < bytes.length() - 3; cut++) {
                try (RawHttp1Client client = server.connect()) {
                    client.send(bytes.substring(0, cut));
                    client.send(bytes.substring(cut));

                    assertRefused(client, Reason.BAD_REQUEST);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void reportsTheRefusedRequest(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            client.send("DELETE /orders/1?x HTTP/1.1\r\n\r\n");

            assertRefused(client, Reason.BAD_REQUEST);
            server.listener.awaitRefused(1);
            assertThat(server.listener.refused.get(0))
                    .isEqualTo(new RecordingEdgeListener.Refused(Reason.BAD_REQUEST, "DELETE", "/orders/1?x", 0));
        }
    }

    @ParameterizedTest
    @EnumSource
    void keepsTheOrderOfResponsesAndRefusals(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            client.send("GET /later HTTP/1.1\r\n" + HOST + "\r\n" + "GET /hello HTTP/1.1\r\n" + HOST + "\r\n"
                    + "GET /hello HTTP/1.1\r\n" + HOST + "X: a\r\n b\r\n\r\n" + "GET /hello HTTP/1.1\r\n" + HOST
                    + "\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            server.later.complete("late");

            assertThat(client.answer().body()).isEqualTo("late");
            assertThat(client.answer().body()).isEqualTo("hello");
            assertRefused(client, Reason.BAD_REQUEST);
            assertThat(server.handled).hasValue(2);
        }
    }

    @ParameterizedTest
    @EnumSource
    void refusesAHeadRequestWithoutABody(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            client.send("HEAD /hello HTTP/1.1\r\n\r\n");

            Answer answer = client.answer(false);
            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.closes()).isTrue();
            client.shutdownOutput();
            assertThat(client.rest()).isEmpty();
        }
    }

    // ---------------------------------------------------------------- limits

    @ParameterizedTest
    @EnumSource
    void refusesHeadsOverTheLimits(Protocols protocols) throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(protocols, edge -> {
            edge.maxUriLength = 256;
            edge.maxHeaderSize = 1024;
            edge.maxHeaderCount = 10;
            return edge;
        })) {
            String get = "GET /hello HTTP/1.1\r\n" + HOST;
            assertTooLarge(server, "GET /" + "a".repeat(300) + " HTTP/1.1\r\n" + HOST + "\r\n", Reason.URI_TOO_LONG);
            assertTooLarge(server, "GET /" + "a".repeat(300), Reason.URI_TOO_LONG);
            assertTooLarge(server, "A".repeat(300) + " / HTTP/1.1\r\n" + HOST + "\r\n", Reason.URI_TOO_LONG);
            assertTooLarge(server, get + "X: " + "a".repeat(1024) + "\r\n\r\n", Reason.HEADERS_TOO_LARGE);
            assertTooLarge(server, get + "X: " + "a".repeat(1024), Reason.HEADERS_TOO_LARGE);
            assertTooLarge(server, get + "X".repeat(1100), Reason.HEADERS_TOO_LARGE);
            assertTooLarge(server, get + "X: y\r\n".repeat(300), Reason.HEADERS_TOO_LARGE);
            assertTooLarge(server, get + "X: y\r\n".repeat(10) + "\r\n", Reason.HEADERS_TOO_LARGE);
            try (RawHttp1Client client = server.connect()) {
                client.send(get + "X: y\r\n".repeat(9) + "\r\n");
                assertThat(client.answer().body()).isEqualTo("hello");
            }
        }
    }

    private static void assertTooLarge(GuardedTestServer server, String bytes, Reason reason) throws Exception {
        int before = server.listener.refused.size();
        try (RawHttp1Client client = server.connect()) {
            client.send(bytes);
            assertRefused(client, reason);
        }
        server.listener.awaitRefused(before + 1);
        assertThat(server.listener.refused.get(before).reason()).isEqualTo(reason);
    }

    @Test
    void closesConnectionsOverTheLimitAtOnce() throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
                    edge.maxConnections = 2;
                    return edge;
                });
                RawHttp1Client first = server.connect();
                RawHttp1Client second = server.connect()) {
            first.get("/hello");
            second.get("/hello");
            ConnectionRegistry connections = server.customizer.connections();
            assertThat(connections.open()).isEqualTo(2);
            assertThat(connections.limit()).isEqualTo(2);
            try (RawHttp1Client third = server.connect()) {
                assertThat(third.rest()).isEmpty();
            }
            assertThat(connections.rejected()).isEqualTo(1);
            assertThat(server.listener.rejected).hasValue(1);

            first.hangUp();
            server.listener.awaitClosed(1);
            try (RawHttp1Client third = server.connect()) {
                assertThat(third.get("/hello").body()).isEqualTo("hello");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void survivesMorePipelinedRequestsThanTheCodecHolds(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            client.send("GET /later HTTP/1.1\r\n" + HOST + "\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
                try {
                    client.send(("GET /hello HTTP/1.1\r\n" + HOST + "\r\n").repeat(50_000));
                } catch (IOException e) {
                    // The server does not read all of it.
                }
            });
            server.later.complete("late");

            assertThat(client.answer().body()).isEqualTo("late");
            client.hangUp();
            sending.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            server.listener.awaitClosed(1);
        }
    }

    // ---------------------------------------------------------------- unread bodies

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 32768", "Transfer-Encoding: chunked"})
    void keepsTheConnectionAfterASmallUnreadBody(String framing) throws Exception {
        for (Protocols protocols : Protocols.values()) {
            try (GuardedTestServer server = GuardedTestServer.start(protocols);
                    RawHttp1Client client = server.connect()) {
                for (int i = 0; i < 3; i++) {
                    client.send("POST /early HTTP/1.1\r\n" + HOST + framing + "\r\n\r\n");
                    Answer answer = client.answer();
                    assertThat(answer.body()).isEqualTo("early");
                    assertThat(answer.closes()).isFalse();
                    String body = "x".repeat(32768);
                    client.send(framing.startsWith("C") ? body : "8000\r\n" + body + "\r\n0\r\n\r\n");
                }
                assertThat(client.get("/hello").body()).isEqualTo("hello");
                assertThat(server.listener.opened).hasValue(1);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void letsTheCallerReadTheResponseAfterALargeUnreadBody(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client client = server.connect()) {
            // More than the buffers between client and server hold.
            int size = 64 * 1024 * 1024;
            client.send("POST /early-large HTTP/1.1\r\n" + HOST + "Content-Length: " + size + "\r\n\r\n");
            CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
                try {
                    client.send(new byte[size]);
                } catch (IOException e) {
                    // The server has closed the connection, as expected.
                }
            });

            Answer answer = client.answer();
            assertThat(answer.body()).hasSize(1024 * 1024);
            assertThat(answer.closes()).isTrue();
            // An end and no reset, which could overtake the response: the server stops reading instead.
            assertThat(client.rest()).isEmpty();
            try (RawHttp1Client another = server.connect()) {
                another.get("/hello");
            }
            server.listener.awaitClosed(1);
            assertThat(sending).isNotDone();
            client.hangUp();
            sending.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            server.listener.awaitClosed(2);
        }
    }

    @Test
    void closesTheConnectionOfALargeUnreadChunkedBody() throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
                    edge.headTimeout = Duration.ofMinutes(5);
                    return edge;
                });
                RawHttp1Client client = server.connect()) {
            client.send("POST /early HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n");
            assertThat(client.answer().body()).isEqualTo("early");

            String chunk = "8000\r\n" + "x".repeat(32768) + "\r\n";
            client.send(chunk);
            client.send(chunk);
            client.send(chunk);
            assertThat(client.rest()).isEmpty();
        }
    }

    @Test
    void closesTheConnectionOfAnUnreadBodyThatStalls() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("POST /early HTTP/1.1\r\n" + HOST + "Content-Length: 10\r\n\r\nabc");
            assertThat(client.answer().body()).isEqualTo("early");

            assertThat(client.rest()).isEmpty();
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void doesNotLingerOnAReset() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("POST /abort HTTP/1.1\r\n" + HOST + "Content-Length: 10\r\n\r\nabc");

            assertThatIOException().isThrownBy(client::rest).isInstanceOf(SocketException.class);
        }
    }

    // ---------------------------------------------------------------- malformed bodies

    @ParameterizedTest
    @ValueSource(
            strings = {
                "zz\r\n",
                "3\r\nabcdef",
                "3\r\nabc\r\n-1\r\n",
                "0\r\n X: y\r\n\r\n",
                "0\r\nX: y\rz\r\n\r\n",
                "\r\n"
            })
    void refusesAMalformedBody(String body) throws Exception {
        for (Protocols protocols : Protocols.values()) {
            try (GuardedTestServer server = GuardedTestServer.start(protocols);
                    RawHttp1Client client = server.connect()) {
                client.send("POST /count HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n" + body);

                assertRefused(client, Reason.BAD_REQUEST);
                server.listener.awaitRefused(1);
                assertThat(server.listener.refused.get(0).target()).isEqualTo("/count");
            }
        }
    }

    @Test
    void refusesAMalformedBodyAfterEarlierResponses() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("GET /later HTTP/1.1\r\n" + HOST + "\r\nPOST /count HTTP/1.1\r\n" + HOST
                    + "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            server.later.complete("late");

            assertThat(client.answer().body()).isEqualTo("late");
            assertRefused(client, Reason.BAD_REQUEST);
        }
    }

    /** Half a response must not look complete. */
    @Test
    void resetsABegunResponseWhenTheRequestBodyIsMalformed() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("POST /begun HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
            assertThat(client.line()).isEqualTo("HTTP/1.1 200 OK");
            client.send("zz\r\n");

            assertThatIOException().isThrownBy(client::rest).isInstanceOf(SocketException.class);
            server.listener.awaitRefused(1);
        }
    }

    // ---------------------------------------------------------------- half-closed connections

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "GET /hello HT",
                "GET /hello HTTP/1.1\r\nHost: a",
                "GET /later HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na",
                "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na",
            })
    void treatsACallerThatShutsDownItsOutputAsGone(String bytes) throws Exception {
        for (Protocols protocols : new Protocols[] {Protocols.HTTP1, Protocols.HTTP1_OR_H2C}) {
            try (GuardedTestServer server = GuardedTestServer.start(protocols);
                    RawHttp1Client client = server.connect()) {
                client.send(bytes);
                client.shutdownOutput();

                assertThat(client.rest()).isEmpty();
                server.listener.awaitClosed(1);
                assertThat(server.listener.refused).isEmpty();
            }
        }
    }

    // ---------------------------------------------------------------- drain

    @ParameterizedTest
    @EnumSource
    void closesConnectionsWhileItDrains(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client idle = server.connect();
                RawHttp1Client busy = server.connect();
                RawHttp1Client fresh = server.connect()) {
            idle.get("/hello");
            busy.send("GET /later HTTP/1.1\r\n" + HOST + "\r\nGET /hello HTTP/1.1\r\n" + HOST + "\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 2);

            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();

            assertThat(idle.rest()).isEmpty();
            Answer answer = fresh.get("/hello");
            assertThat(answer.body()).isEqualTo("hello");
            assertThat(answer.closes()).isTrue();
            assertThat(fresh.rest()).isEmpty();
            server.later.complete("late");
            Answer late = busy.answer();
            assertThat(late.body()).isEqualTo("late");
            assertThat(late.closes()).isTrue();
            // Requests of a caller that has not read the response yet must not cause a reset.
            for (int i = 0; i < 50; i++) {
                busy.send("GET /hello HTTP/1.1\r\n" + HOST + "\r\n");
            }
            busy.shutdownOutput();
            assertThat(busy.rest()).isEmpty();
            assertThat(server.handled).hasValue(3);
        }
    }

    // ---------------------------------------------------------------- helpers

    private static GuardedTestServer withShortHeadTimeout(Protocols protocols) {
        return new GuardedTestServer(protocols, edge -> {
            edge.headTimeout = Duration.ofSeconds(1);
            return edge;
        });
    }

    /** Expects a refusal as the last response. */
    private static Answer assertRefused(RawHttp1Client client, Reason reason) throws IOException {
        Answer answer = client.answer();
        assertThat(answer.status()).isEqualTo(reason.status().code());
        assertThat(answer.field("content-type")).isEqualTo("application/problem+json");
        assertThat(answer.field("cache-control")).isEqualTo("no-store");
        assertThat(answer.field("proxy-status"))
                .isEqualTo("weir; error=http_request_error; details=\"" + reason.word() + '"');
        assertThat(answer.closes()).isTrue();
        assertThat(answer.body()).startsWith("{\"type\":\"urn:weir:" + reason.word() + "\"");
        assertThat(client.rest()).isEmpty();
        return answer;
    }
}
