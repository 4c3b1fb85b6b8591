package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.drain.Drain;
import io.weir.edge.TestServer.Speaks;
import io.weir.edge.Wire.Answer;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import java.io.IOException;
import java.net.SocketException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
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
@Timeout(60)
class Http1IT {

    private static final String HOST = "Host: weir.example\r\n";

    // ---------------------------------------------------------------- what must keep working

    @ParameterizedTest
    @EnumSource
    void keepsAConnectionForManyRequests(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            for (int i = 0; i < 20; i++) {
                assertThat(wire.get("/hello").body()).isEqualTo("hello");
                wire.send("POST /echo HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\n\r\nabc");
                assertThat(wire.answer().body()).isEqualTo("abc");
                wire.send("POST /echo HTTP/1.1\r\n" + HOST
                        + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n");
                assertThat(wire.answer().body()).isEqualTo("abcd");
                wire.send("HEAD /hello HTTP/1.1\r\n" + HOST + "\r\n");
                assertThat(wire.answer(false).field("content-length")).isEqualTo("5");
            }
            assertThat(server.heard.opened).hasValue(1);
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void answersPipelinedRequestsInTheirOrder(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
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
            wire.send(requests.toString());

            for (int i = 0; i < 20; i++) {
                assertThat(wire.answer().body()).isEqualTo("body " + i);
                assertThat(wire.answer().body()).isEqualTo("body " + i);
                assertThat(wire.answer().body()).isEqualTo("hello");
            }
        }
    }

    /** More than Reactor Netty reads ahead, so that the last one is read while others wait. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1\r\n" + HOST + "Connection: close\r\n",
                "HTTP/1.1\r\n" + HOST + "Connection: te, Close\r\n",
                "HTTP/1.0\r\n"
            })
    void answersAllPipelinedRequestsOfWhichTheLastClosesTheConnection(String last) throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            String request = "GET /hello HTTP/1.1\r\n" + HOST + "\r\n";
            // What comes behind the last one is nobody's.
            wire.send(request.repeat(49) + "POST /echo " + last + "Content-Length: 4\r\n\r\nlast" + request.repeat(50));

            for (int i = 0; i < 49; i++) {
                Wire.Answer answer = wire.answer();
                assertThat(answer.body()).as("answer %d", i).isEqualTo("hello");
                assertThat(answer.closes()).as("answer %d", i).isFalse();
            }
            Wire.Answer answer = wire.answer();
            assertThat(answer.body()).isEqualTo("last");
            assertThat(answer.closes()).isTrue();
            assertThat(wire.rest()).isEmpty();
            wire.hangUp();
            server.heard.awaitClosed(1);
            assertThat(server.handled).hasValue(50);
        }
    }

    @ParameterizedTest
    @EnumSource
    void answersARequestThatComesAByteAtATime(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            String requests = "\r\nPOST /echo HTTP/1.1\r\n" + HOST
                    + "Transfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\nX: y\r\n\r\n"
                    + "POST /echo HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\n\r\nabc"
                    + "GET /hello HTTP/1.1\r\n" + HOST + "\r\n";
            for (int i = 0; i < requests.length(); i++) {
                wire.send(requests.substring(i, i + 1));
            }

            assertThat(wire.answer().body()).isEqualTo("abc");
            assertThat(wire.answer().body()).isEqualTo("abc");
            assertThat(wire.answer().body()).isEqualTo("hello");
        }
    }

    @ParameterizedTest
    @EnumSource
    void asksForABodyThatWaitsForIt(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            for (int i = 0; i < 2; i++) {
                wire.send("POST /count HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
                assertThat(wire.answer().status()).isEqualTo(100);
                wire.send("abc");
                assertThat(wire.answer().body()).isEqualTo("3");
            }
        }
    }

    @Test
    void doesNotAskForABodyThatNobodyWants() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            wire.send("POST /nowhere HTTP/1.1\r\n" + HOST
                    + "Content-Length: 3\r\nExpect: 100-continue\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");

            Answer answer = wire.answer();
            assertThat(answer.status()).isEqualTo(404);
            assertThat(answer.closes()).isTrue();
            wire.shutdownOutput();
            assertThat(wire.rest()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void servesOneRequestOfHttp10(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            wire.send("GET /hello HTTP/1.0\r\n\r\n");

            assertThat(wire.answer().body()).isEqualTo("hello");
            assertThat(wire.rest()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void upgradesToWebSocket(boolean afterAnotherRequest) throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            if (afterAnotherRequest) {
                wire.get("/hello");
            }
            wire.send("GET /ws HTTP/1.1\r\n" + HOST
                    + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
            assertThat(wire.answer().status()).isEqualTo(101);

            byte[] frame = {(byte) 0x81, (byte) 0x82, 0, 0, 0, 0, 'h', 'i'};
            for (int i = 0; i < 3; i++) {
                for (byte b : frame) {
                    wire.send(new byte[] {b});
                }
                assertThat(wire.bytes(4)).containsExactly(0x81, 2, 'h', 'i');
            }
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "TLS_HTTP1_OR_H2")
    void carriesWebSocketsOfAUsualClient(Speaks speaks) {
        try (TestServer server = TestServer.start(speaks)) {
            HttpClient client = HttpClient.newConnection().host("localhost").port(server.port());
            if (speaks.isTls()) {
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
                    .block(Duration.ofSeconds(10));
            assertThat(echoed).isEqualTo("done");
        }
    }

    // ---------------------------------------------------------------- slow heads

    @ParameterizedTest
    @EnumSource
    void refusesAHeadThatStalls(Speaks speaks) throws Exception {
        try (TestServer server = impatient(speaks);
                Wire wire = server.connect()) {
            wire.send("GET /hello HTTP/1.1\r\nHos");

            assertRefused(wire, Reason.CLIENT_TOO_SLOW);
            server.heard.awaitRefused(1);
            assertThat(server.heard.refused.get(0).nanos())
                    .isGreaterThanOrEqualTo(Duration.ofMillis(500).toNanos());
        }
    }

    @ParameterizedTest
    @EnumSource
    void refusesALaterHeadThatStalls(Speaks speaks) throws Exception {
        try (TestServer server = impatient(speaks);
                Wire wire = server.connect()) {
            wire.get("/hello");
            wire.send("GET /hello HTTP/1.1\r\n" + HOST + "\r\nG");
            assertThat(wire.answer().body()).isEqualTo("hello");

            assertRefused(wire, Reason.CLIENT_TOO_SLOW);
        }
    }

    @Test
    void doesNotLetAHeadThatDripsTakeLonger() throws Exception {
        try (TestServer server = impatient(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            CompletableFuture<Void> dripping = CompletableFuture.runAsync(() -> drip(wire));

            assertRefused(wire, Reason.CLIENT_TOO_SLOW);
            wire.hangUp();
            dripping.get(10, TimeUnit.SECONDS);
        }
    }

    private static void drip(Wire wire) {
        try {
            wire.send("GET /hello HTTP/1.1\r\n");
            while (true) {
                wire.send("x: y\r\n");
                Thread.sleep(10);
            }
        } catch (IOException | InterruptedException e) {
            // Closed at last.
        }
    }

    @ParameterizedTest
    @EnumSource
    void closesAConnectionThatSaysNothingWithoutAWord(Speaks speaks) throws Exception {
        try (TestServer server = impatient(speaks);
                Wire wire = Wire.to(server.port())) {
            assertThat(wire.rest()).isEmpty();
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void closesAConnectionWhoseTlsHandshakeStalls() throws Exception {
        try (TestServer server = impatient(Speaks.TLS_HTTP1_OR_H2);
                Wire wire = Wire.to(server.port())) {
            wire.send(new byte[] {0x16, 3, 1});

            assertThat(wire.rest()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void closesAnIdleConnectionWithoutAWord(Speaks speaks) throws Exception {
        try (TestServer server = new TestServer(speaks, edge -> {
                    edge.keepAliveTimeout = Duration.ofMillis(500);
                    return edge;
                });
                Wire wire = server.connect()) {
            wire.get("/hello");
            wire.get("/hello");

            assertThat(wire.rest()).isEmpty();
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void letsAnAnswerTakeLongerThanAHeadAndAnIdleConnectionMay() throws Exception {
        try (TestServer server = new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
                    edge.headTimeout = Duration.ofMillis(500);
                    edge.keepAliveTimeout = Duration.ofMillis(500);
                    return edge;
                });
                Wire wire = server.connect()) {
            wire.send("GET /later HTTP/1.1\r\n" + HOST + "\r\nG");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            // When another head and another idle connection have had their time, so has this one.
            try (Wire stalling = server.connect()) {
                stalling.send("G");
                assertRefused(stalling, Reason.CLIENT_TOO_SLOW);
            }
            try (Wire idle = server.connect()) {
                idle.get("/hello");
                assertThat(idle.rest()).isEmpty();
            }
            server.later.complete("late");

            assertThat(wire.answer().body()).isEqualTo("late");
            assertRefused(wire, Reason.CLIENT_TOO_SLOW);
        }
    }

    // ---------------------------------------------------------------- malformed heads

    static Stream<Arguments> malformed() {
        String get = "GET /hello HTTP/1.1\r\n";
        String post = "POST /echo HTTP/1.1\r\n" + HOST;
        return Stream.of(
                bad("no host", get + "\r\n", "host: missing"),
                bad("empty host", get + "Host:\r\n\r\n", "host: "),
                bad("two hosts", get + HOST + HOST + "\r\n", "host: more than one"),
                bad("two hosts of HTTP/1.0", "GET /hello HTTP/1.0\r\n" + HOST + HOST + "\r\n", "host: more than one"),
                bad("host with a path", get + "Host: a/b\r\n\r\n", "host: a/b"),
                bad("host with a user", get + "Host: u@a\r\n\r\n", "host: u@a"),
                bad(
                        "length and encoding",
                        post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                        "Content-Length"),
                bad("two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "Content-Length"),
                bad("a list of lengths", post + "Content-Length: 3, 3\r\n\r\nabc", "Content-Length"),
                bad("negative length", post + "Content-Length: -3\r\n\r\nabc", "Content-Length"),
                bad("signed length", post + "Content-Length: +3\r\n\r\nabc", "Content-Length"),
                bad("hexadecimal length", post + "Content-Length: 0x3\r\n\r\nabc", "Content-Length"),
                bad(
                        "encoding of HTTP/1.0",
                        "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                        "Transfer"),
                bad("another encoding", post + "Transfer-Encoding: gzip\r\n\r\n", "chunked"),
                bad("chunked, and more", post + "Transfer-Encoding: chunked, gzip\r\n\r\n", "chunked"),
                bad("another encoding within", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", "gzip, chunked"),
                bad(
                        "another encoding before",
                        post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
                        "gzip, chunked"),
                bad(
                        "WebSocket of before, with eight bytes behind its head",
                        get + HOST + "Upgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key1: 1 1\r\n"
                                + "Sec-WebSocket-Key2: 2 2\r\n\r\n",
                        "sec-websocket-key1"),
                bad("chunked twice", post + "Transfer-Encoding: chunked, chunked\r\n\r\n", "chunked"),
                bad("obscured encoding", post + "Transfer-Encoding : chunked\r\n\r\n", "header"),
                bad("space before the colon", get + HOST + "X : y\r\n\r\n", "header"),
                bad("space before the first field", get + " " + HOST + "\r\n", "folded"),
                bad("folded field", get + HOST + "X: a\r\n b\r\n\r\n", "folded"),
                bad("field folded with a tab", get + HOST + "X: a\r\n\tb\r\n\r\n", "folded"),
                bad("no colon", get + HOST + "nonsense\r\n\r\n", "colon"),
                bad("empty name", get + HOST + ": x\r\n\r\n", "header"),
                bad("bare CR in a field", get + HOST + "X: a\rb\r\n\r\n", "bare carriage return"),
                bad("bare CR in a target", "GET /a\rb HTTP/1.1\r\n" + HOST + "\r\n", "bare carriage return"),
                bad("bare CR for spaces", "GET\r/hello\rHTTP/1.1\r\n" + HOST + "\r\n", "bare carriage return"),
                bad("bare CR before the end", get + HOST + "\r\r\n\r\n", "bare carriage return"),
                bad("bare LF", "GET /hello HTTP/1.1\n" + HOST + "\n", ""),
                bad("NUL in a field", get + HOST + "X: a\0b\r\n\r\n", "header"),
                bad("method that is no token", "G{T /hello HTTP/1.1\r\n" + HOST + "\r\n", "Method"),
                bad("CONNECT", "CONNECT a:443 HTTP/1.1\r\n" + HOST + "\r\n", "CONNECT"),
                bad("CONNECT of a path", "CONNECT /hello HTTP/1.1\r\n" + HOST + "\r\n", "CONNECT"),
                bad("no target", "GET HTTP/1.1\r\n" + HOST + "\r\n", ""),
                bad("space in the target", "GET /a b HTTP/1.1\r\n" + HOST + "\r\n", "version"),
                bad("no version", "GET /hello\r\n\r\n", ""),
                bad("HTTP/2.0", "GET /hello HTTP/2.0\r\n" + HOST + "\r\n", "HTTP/2.0"),
                bad("HTTP/1.2", "GET /hello HTTP/1.2\r\n" + HOST + "\r\n", "HTTP/1.2"),
                bad("http/1.1", "GET /hello http/1.1\r\n" + HOST + "\r\n", "protocol"),
                bad("RTSP", "GET /hello RTSP/1.0\r\n" + HOST + "\r\n", "version"),
                bad("garbage", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n", ""),
                bad("more garbage", "\u00ff\u00fe\u0000\u0001\r\n\r\n\r\n", ""));
    }

    private static Arguments bad(String what, String bytes, String detail) {
        return Arguments.of(what, bytes, detail);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("malformed")
    void refusesAMalformedHead(String what, String bytes, String detail) throws Exception {
        for (Speaks speaks : new Speaks[] {Speaks.HTTP1_OR_H2C, Speaks.TLS_HTTP1_OR_H2}) {
            try (TestServer server = TestServer.start(speaks);
                    Wire wire = server.connect()) {
                wire.send(bytes);

                assertThat(assertRefused(wire, Reason.BAD_REQUEST).body()).contains(detail);
                server.heard.awaitRefused(1);
                assertThat(server.handled).hasValue(0);
            }
        }
    }

    @Test
    void refusesAMalformedHeadWhereverItIsCut() throws Exception {
        String bytes = "GET /hello HTTP/1.1\r\n" + HOST + "X: a\r\n b\r\n\r\n";
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C)) {
            for (int cut = 1; cut < bytes.length() - 3; cut++) {
                try (Wire wire = server.connect()) {
                    wire.send(bytes.substring(0, cut));
                    wire.send(bytes.substring(cut));

                    assertRefused(wire, Reason.BAD_REQUEST);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void tellsWhatWasRefused(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            wire.send("DELETE /orders/1?x HTTP/1.1\r\n\r\n");

            assertRefused(wire, Reason.BAD_REQUEST);
            server.heard.awaitRefused(1);
            assertThat(server.heard.refused.get(0))
                    .isEqualTo(new RecordingEdgeListener.Refused(Reason.BAD_REQUEST, "DELETE", "/orders/1?x", 0));
        }
    }

    @ParameterizedTest
    @EnumSource
    void refusesInTheOrderOfTheRequests(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            wire.send("GET /later HTTP/1.1\r\n" + HOST + "\r\n" + "GET /hello HTTP/1.1\r\n" + HOST + "\r\n"
                    + "GET /hello HTTP/1.1\r\n" + HOST + "X: a\r\n b\r\n\r\n" + "GET /hello HTTP/1.1\r\n" + HOST
                    + "\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            server.later.complete("late");

            assertThat(wire.answer().body()).isEqualTo("late");
            assertThat(wire.answer().body()).isEqualTo("hello");
            assertRefused(wire, Reason.BAD_REQUEST);
            assertThat(server.handled).hasValue(2);
        }
    }

    @ParameterizedTest
    @EnumSource
    void answersAHeadRequestWithoutABody(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            wire.send("HEAD /hello HTTP/1.1\r\n\r\n");

            Answer answer = wire.answer(false);
            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.closes()).isTrue();
            wire.shutdownOutput();
            assertThat(wire.rest()).isEmpty();
        }
    }

    // ---------------------------------------------------------------- too much

    @ParameterizedTest
    @EnumSource
    void refusesWhatIsTooLarge(Speaks speaks) throws Exception {
        try (TestServer server = new TestServer(speaks, edge -> {
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
            try (Wire wire = server.connect()) {
                wire.send(get + "X: y\r\n".repeat(9) + "\r\n");
                assertThat(wire.answer().body()).isEqualTo("hello");
            }
        }
    }

    private static void assertTooLarge(TestServer server, String bytes, Reason reason) throws Exception {
        int before = server.heard.refused.size();
        try (Wire wire = server.connect()) {
            wire.send(bytes);
            assertRefused(wire, reason);
        }
        server.heard.awaitRefused(before + 1);
        assertThat(server.heard.refused.get(before).reason()).isEqualTo(reason);
    }

    @Test
    void closesConnectionsOverTheLimitAtOnce() throws Exception {
        try (TestServer server = new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
                    edge.maxConnections = 2;
                    return edge;
                });
                Wire first = server.connect();
                Wire second = server.connect()) {
            first.get("/hello");
            second.get("/hello");
            ConnectionRegistry connections = server.customizer.connections();
            assertThat(connections.open()).isEqualTo(2);
            assertThat(connections.limit()).isEqualTo(2);
            try (Wire third = server.connect()) {
                assertThat(third.rest()).isEmpty();
            }
            assertThat(connections.rejected()).isEqualTo(1);
            assertThat(server.heard.rejected).hasValue(1);

            first.hangUp();
            server.heard.awaitClosed(1);
            try (Wire third = server.connect()) {
                assertThat(third.get("/hello").body()).isEqualTo("hello");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void survivesMoreRequestsAtOnceThanTheCodecHolds(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            wire.send("GET /later HTTP/1.1\r\n" + HOST + "\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
                try {
                    wire.send(("GET /hello HTTP/1.1\r\n" + HOST + "\r\n").repeat(50_000));
                } catch (IOException e) {
                    // Not all of it is read.
                }
            });
            server.later.complete("late");

            assertThat(wire.answer().body()).isEqualTo("late");
            wire.hangUp();
            sending.get(10, TimeUnit.SECONDS);
            server.heard.awaitClosed(1);
        }
    }

    // ---------------------------------------------------------------- bodies that nobody reads

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 32768", "Transfer-Encoding: chunked"})
    void keepsAConnectionWhoseSmallBodyNobodyReads(String framing) throws Exception {
        for (Speaks speaks : Speaks.values()) {
            try (TestServer server = TestServer.start(speaks);
                    Wire wire = server.connect()) {
                for (int i = 0; i < 3; i++) {
                    wire.send("POST /early HTTP/1.1\r\n" + HOST + framing + "\r\n\r\n");
                    Answer answer = wire.answer();
                    assertThat(answer.body()).isEqualTo("early");
                    assertThat(answer.closes()).isFalse();
                    String body = "x".repeat(32768);
                    wire.send(framing.startsWith("C") ? body : "8000\r\n" + body + "\r\n0\r\n\r\n");
                }
                assertThat(wire.get("/hello").body()).isEqualTo("hello");
                assertThat(server.heard.opened).hasValue(1);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void letsACallerReadTheAnswerToALargeBodyThatNobodyReads(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire wire = server.connect()) {
            // More than all the buffers in between hold.
            int size = 64 * 1024 * 1024;
            wire.send("POST /early-large HTTP/1.1\r\n" + HOST + "Content-Length: " + size + "\r\n\r\n");
            CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
                try {
                    wire.send(new byte[size]);
                } catch (IOException e) {
                    // Closed by the other side, as it should.
                }
            });

            Answer answer = wire.answer();
            assertThat(answer.body()).hasSize(1024 * 1024);
            assertThat(answer.closes()).isTrue();
            // Its end, and no reset, which could overtake the answer: the sender is held up, not cut off.
            assertThat(wire.rest()).isEmpty();
            try (Wire another = server.connect()) {
                another.get("/hello");
            }
            server.heard.awaitClosed(1);
            assertThat(sending).isNotDone();
            wire.hangUp();
            sending.get(10, TimeUnit.SECONDS);
            server.heard.awaitClosed(2);
        }
    }

    @Test
    void closesTheConnectionOfALargeChunkedBodyThatNobodyReads() throws Exception {
        try (TestServer server = new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
                    edge.headTimeout = Duration.ofMinutes(5);
                    return edge;
                });
                Wire wire = server.connect()) {
            wire.send("POST /early HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n");
            assertThat(wire.answer().body()).isEqualTo("early");

            String chunk = "8000\r\n" + "x".repeat(32768) + "\r\n";
            wire.send(chunk);
            wire.send(chunk);
            wire.send(chunk);
            assertThat(wire.rest()).isEmpty();
        }
    }

    @Test
    void doesNotWaitForTheRestOfABodyThatNobodyReads() throws Exception {
        try (TestServer server = impatient(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            wire.send("POST /early HTTP/1.1\r\n" + HOST + "Content-Length: 10\r\n\r\nabc");
            assertThat(wire.answer().body()).isEqualTo("early");

            assertThat(wire.rest()).isEmpty();
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void doesNotLingerOverAConnectionThatIsReset() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            wire.send("POST /abort HTTP/1.1\r\n" + HOST + "Content-Length: 10\r\n\r\nabc");

            assertThatIOException().isThrownBy(wire::rest).isInstanceOf(SocketException.class);
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
        for (Speaks speaks : Speaks.values()) {
            try (TestServer server = TestServer.start(speaks);
                    Wire wire = server.connect()) {
                wire.send("POST /count HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n" + body);

                assertRefused(wire, Reason.BAD_REQUEST);
                server.heard.awaitRefused(1);
                assertThat(server.heard.refused.get(0).target()).isEqualTo("/count");
            }
        }
    }

    @Test
    void refusesAMalformedBodyBehindOtherRequests() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            wire.send("GET /later HTTP/1.1\r\n" + HOST + "\r\nPOST /count HTTP/1.1\r\n" + HOST
                    + "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);
            server.later.complete("late");

            assertThat(wire.answer().body()).isEqualTo("late");
            assertRefused(wire, Reason.BAD_REQUEST);
        }
    }

    /** Half an answer must not look like a whole one. */
    @Test
    void resetsAnAnswerThatHasBegunWhenItsRequestIsMalformed() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            wire.send("POST /begun HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
            assertThat(wire.line()).isEqualTo("HTTP/1.1 200 OK");
            wire.send("zz\r\n");

            assertThatIOException().isThrownBy(wire::rest).isInstanceOf(SocketException.class);
            server.heard.awaitRefused(1);
        }
    }

    // ---------------------------------------------------------------- callers that leave

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
    void takesACallerThatStopsSendingForGone(String bytes) throws Exception {
        for (Speaks speaks : new Speaks[] {Speaks.HTTP1, Speaks.HTTP1_OR_H2C}) {
            try (TestServer server = TestServer.start(speaks);
                    Wire wire = server.connect()) {
                wire.send(bytes);
                wire.shutdownOutput();

                assertThat(wire.rest()).isEmpty();
                server.heard.awaitClosed(1);
                assertThat(server.heard.refused).isEmpty();
            }
        }
    }

    // ---------------------------------------------------------------- drain

    @ParameterizedTest
    @EnumSource
    void closesConnectionsWhileItDrains(Speaks speaks) throws Exception {
        try (TestServer server = TestServer.start(speaks);
                Wire idle = server.connect();
                Wire busy = server.connect();
                Wire fresh = server.connect()) {
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
            // What a caller sends that has not read the answer yet must not have the connection reset.
            for (int i = 0; i < 50; i++) {
                busy.send("GET /hello HTTP/1.1\r\n" + HOST + "\r\n");
            }
            busy.shutdownOutput();
            assertThat(busy.rest()).isEmpty();
            assertThat(server.handled).hasValue(3);
        }
    }

    // ---------------------------------------------------------------- helpers

    private static TestServer impatient(Speaks speaks) {
        return new TestServer(speaks, edge -> {
            edge.headTimeout = Duration.ofMillis(500);
            return edge;
        });
    }

    /** The vocabulary's answer, and nothing behind it. */
    private static Answer assertRefused(Wire wire, Reason reason) throws IOException {
        Answer answer = wire.answer();
        assertThat(answer.status()).isEqualTo(reason.status().code());
        assertThat(answer.field("content-type")).isEqualTo("application/problem+json");
        assertThat(answer.field("cache-control")).isEqualTo("no-store");
        assertThat(answer.field("proxy-status"))
                .isEqualTo("weir; error=http_request_error; details=\"" + reason.word() + '"');
        assertThat(answer.closes()).isTrue();
        assertThat(answer.body()).startsWith("{\"type\":\"urn:weir:" + reason.word() + "\"");
        assertThat(wire.rest()).isEmpty();
        return answer;
    }
}
