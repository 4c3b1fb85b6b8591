package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.drain.Drain;
import io.weir.edge.GuardedTestServer.Protocols;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.netty.http.Http2SslContextSpec;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.tcp.SslProvider.GenericSslContextSpec;

@ExtendWith(Leaks.class)
class Http2IT {

    private static final int NO_ERROR = 0;
    private static final int PROTOCOL_ERROR = 1;
    private static final int CANCEL = 8;
    private static final int ENHANCE_YOUR_CALM = 11;

    // ---------------------------------------------------------------- valid requests

    @Test
    void servesAReactorNettyClientWithPriorKnowledge() {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C)) {
            assertExchanges(client(server).protocol(HttpProtocol.H2C));
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void servesAReactorNettyClientOverTls() {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.TLS_HTTP1_OR_H2)) {
            assertExchanges(client(server)
                    .protocol(HttpProtocol.H2)
                    .secure(spec -> spec.sslContext((GenericSslContextSpec<?>) Http2SslContextSpec.forClient()
                            .configure(builder -> builder.trustManager(InsecureTrustManagerFactory.INSTANCE)))));
            assertThat(server.listener.refused).isEmpty();
        }
    }

    private static HttpClient client(GuardedTestServer server) {
        return HttpClient.newConnection().host("localhost").port(server.port());
    }

    private static void assertExchanges(HttpClient client) {
        for (int i = 0; i < 3; i++) {
            assertThat(client.get()
                            .uri("/hello")
                            .responseContent()
                            .aggregate()
                            .asString()
                            .block(PATIENCE))
                    .isEqualTo("hello");
            assertThat(client.post()
                            .uri("/echo")
                            .send(Mono.just(Unpooled.wrappedBuffer(new byte[200_000])))
                            .responseContent()
                            .aggregate()
                            .asByteArray()
                            .block(PATIENCE))
                    .hasSize(200_000);
        }
    }

    /** The JDK's client asks for an upgrade with every first request, of any method. */
    @Test
    void upgradesAnHttp1Connection() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                java.net.http.HttpClient client = java.net.http.HttpClient.newHttpClient()) {
            HttpRequest get = HttpRequest.newBuilder(URI.create("http://localhost:" + server.port() + "/hello"))
                    .timeout(PATIENCE)
                    .build();
            for (int i = 0; i < 3; i++) {
                HttpResponse<String> answer = client.send(get, HttpResponse.BodyHandlers.ofString());
                assertThat(answer.body()).isEqualTo("hello");
                assertThat(answer.version()).isEqualTo(java.net.http.HttpClient.Version.HTTP_2);
            }
            assertThat(server.listener.opened).hasValue(1);

            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();
            server.listener.awaitClosed(1);
        }
    }

    @Test
    void doesNotUpgradeForARequestWithABody() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                java.net.http.HttpClient client = java.net.http.HttpClient.newHttpClient()) {
            HttpResponse<String> answer = client.send(
                    HttpRequest.newBuilder(URI.create("http://localhost:" + server.port() + "/echo"))
                            .POST(HttpRequest.BodyPublishers.ofString("x".repeat(100_000)))
                            .timeout(PATIENCE)
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(answer.body()).hasSize(100_000);
            assertThat(answer.version()).isEqualTo(java.net.http.HttpClient.Version.HTTP_1_1);
        }
    }

    @Test
    void servesStreamsThatArriveBytewise() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            for (int stream = 1; stream < 20; stream += 2) {
                for (byte b : client.encoded(stream, RawHttp2Client.get("/hello"))) {
                    client.connection().send(new byte[] {b});
                }
                assertThat(client.next()).isEqualTo("headers " + stream + " 200");
                assertThat(client.next()).isEqualTo("data " + stream + " hello end");
            }
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void doesNotTreatTrailersAsARequest() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.post("/count"), false);
            client.data(1, 10, false);
            client.headers(1, new DefaultHttp2Headers().add("x", "y"), true);

            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 10 end");
        }
    }

    @Test
    void acceptsAHostEqualToTheAuthority() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get("/hosts").add("host", "WEIR.example"), true);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 [weir.example] end");
            client.headers(3, RawHttp2Client.request("GET", "/hosts").add("host", "weir.example"), true);
            assertThat(client.next()).isEqualTo("headers 3 200");
            assertThat(client.next()).isEqualTo("data 3 [weir.example] end");
        }
    }

    // ---------------------------------------------------------------- refusals

    static Stream<Arguments> refused() {
        Http2Headers many = RawHttp2Client.get("/hello");
        for (int i = 0; i < 11; i++) {
            many.add("x" + i, "y");
        }
        Http2Headers noPath = RawHttp2Client.get("/hello");
        noPath.remove(":path");
        return Stream.of(
                Arguments.of("no host", RawHttp2Client.request("GET", "/hello"), Reason.BAD_REQUEST, "host: missing"),
                Arguments.of(
                        "two hosts",
                        RawHttp2Client.request("GET", "/hello").add("host", "a").add("host", "a"),
                        Reason.BAD_REQUEST,
                        "host: more than one"),
                Arguments.of(
                        "another host",
                        RawHttp2Client.get("/hello").add("host", "b"),
                        Reason.BAD_REQUEST,
                        "host: another than :authority"),
                Arguments.of(
                        "host with a user",
                        RawHttp2Client.request("GET", "/hello").authority("u@a"),
                        Reason.BAD_REQUEST,
                        "host: malformed"),
                Arguments.of(
                        "method that is no token",
                        RawHttp2Client.request("G T", "/hello").authority("a"),
                        Reason.BAD_REQUEST,
                        "a method and a path"),
                Arguments.of(
                        "connect", RawHttp2Client.request("CONNECT", "/hello").authority("a"), Reason.BAD_REQUEST, ""),
                Arguments.of(
                        "space in the path", RawHttp2Client.get("/a b"), Reason.BAD_REQUEST, "a method and a path"),
                Arguments.of(
                        "path in absolute-form",
                        RawHttp2Client.get("http://other.example/hello"),
                        Reason.BAD_REQUEST,
                        "path: begins with no slash"),
                Arguments.of(
                        "path without a slash",
                        RawHttp2Client.get("hello"),
                        Reason.BAD_REQUEST,
                        "begins with no slash"),
                Arguments.of(
                        "long path", RawHttp2Client.get("/" + "a".repeat(256)), Reason.URI_TOO_LONG, "longer than 256"),
                Arguments.of(
                        "large field",
                        RawHttp2Client.get("/hello").add("x", "y".repeat(1024)),
                        Reason.HEADERS_TOO_LARGE,
                        "larger than 1024"),
                Arguments.of("many fields", many, Reason.HEADERS_TOO_LARGE, "fields: 11 (expected: at most 10)"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("refused")
    void refusesInTheFormOfEveryOtherRefusal(String name, Http2Headers head, Reason reason, String detail)
            throws Exception {
        try (GuardedTestServer server = withSmallLimits();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, head, true);

            assertThat(client.next()).isEqualTo("headers 1 " + reason.status().code());
            assertThat(client.lastHeaders().get("content-type")).asString().isEqualTo("application/problem+json");
            assertThat(client.lastHeaders().get("cache-control")).asString().isEqualTo("no-store");
            assertThat(client.lastHeaders().get("proxy-status"))
                    .asString()
                    .isEqualTo("weir; error=http_request_error; details=\"" + reason.word() + '"');
            assertThat(client.next())
                    .startsWith("data 1 {\"type\":\"urn:weir:" + reason.word() + '"')
                    .contains(detail)
                    .endsWith(" end");
            // The connection still works.
            client.headers(3, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers 3 200");
            assertThat(server.listener.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(reason);
            assertThat(server.handled).hasValue(1);
        }
    }

    @Test
    void resetsTheStreamOfARefusedRequestWithABody() throws Exception {
        try (GuardedTestServer server = withSmallLimits();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.request("POST", "/count"), false);

            assertThat(client.next()).isEqualTo("headers 1 400");
            assertThat(client.next()).startsWith("data 1 {").endsWith(" end");
            assertThat(client.next()).isEqualTo("reset 1 " + NO_ERROR);
            client.data(1, 100, true);
            client.headers(3, RawHttp2Client.get("/hello"), true);
            String next = client.next();
            assertThat(next.startsWith("reset 1") ? client.next() : next).isEqualTo("headers 3 200");
            assertThat(server.listener.refused).hasSize(1);
        }
    }

    @Test
    void refusesHeadAndGrpcInTheirForms() throws Exception {
        try (GuardedTestServer server = withSmallLimits();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.request("HEAD", "/hello"), true);
            assertThat(client.next()).isEqualTo("headers 1 400 end");
            client.headers(
                    3, RawHttp2Client.request("POST", "/a.B/c").add("content-type", "application/grpc+proto"), true);
            assertThat(client.next()).isEqualTo("headers 3 200 end");
            assertThat(client.lastHeaders().get("grpc-status")).asString().isEqualTo("13");
        }
    }

    /** The head exceeds all limits together, so the codec does not decode it. */
    @Test
    void refusesAHeadThatTheCodecDoesNotDecode() throws Exception {
        try (GuardedTestServer server = withSmallLimits();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get("/hello").add("x", "y".repeat(3000)), true);

            assertThat(client.next()).isEqualTo("headers 1 431 end");
            assertThat(server.handled).hasValue(0);
            server.listener.awaitRefused(1);
        }
    }

    private static GuardedTestServer withSmallLimits() {
        return new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
            edge.maxUriLength = 256;
            edge.maxHeaderSize = 1024;
            edge.maxHeaderCount = 10;
            return edge;
        });
    }

    // ---------------------------------------------------------------- violations

    @Test
    void resetsTheStreamOfAMalformedHead() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get("/hello").add("Upper", "case"), true);
            assertThat(client.next()).isEqualTo("reset 1 " + PROTOCOL_ERROR);
            client.headers(3, RawHttp2Client.get("/hello").add("connection", "close"), true);
            assertThat(client.next()).isEqualTo("reset 3 " + PROTOCOL_ERROR);
            client.headers(5, RawHttp2Client.post("/count").add("content-length", "1"), false);
            client.data(5, 2, true);
            assertThat(client.next()).isEqualTo("reset 5 " + PROTOCOL_ERROR);

            client.headers(7, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers 7 200");
            assertThat(server.listener.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.BAD_REQUEST, Reason.BAD_REQUEST, Reason.BAD_REQUEST);
        }
    }

    @Test
    void closesTheConnectionOfAViolation() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            // A DATA frame of an unknown stream.
            client.connection().send(new byte[] {0, 0, 1, 0, 1, 0, 0, 0, 0, 'x'});

            assertThat(client.next()).isEqualTo("goaway 2147483647 " + PROTOCOL_ERROR);
            assertThat(client.next()).isEqualTo("closed");
            assertThat(server.listener.refused)
                    .containsExactly(new RecordingEdgeListener.Refused(Reason.BAD_REQUEST, null, null, 0));
        }
    }

    @Test
    void closesTheConnectionOfACallerThatOpensAndResetsStreams() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            try {
                for (int stream = 1; stream < 2000; stream += 2) {
                    client.headers(stream, RawHttp2Client.get("/later"), true);
                    client.reset(stream);
                }
            } catch (IOException e) {
                // The server has closed the connection.
            }
            server.listener.awaitClosed(1);
            assertThat(server.listener.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.BAD_REQUEST);
        }
    }

    @Test
    void survivesGarbageAfterThePreface() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp1Client client = server.connect()) {
            client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "garbage, not settings");

            assertThat(client.rest()).isNotEmpty();
            server.listener.awaitClosed(1);
            assertThat(server.listener.refused)
                    .containsExactly(new RecordingEdgeListener.Refused(Reason.BAD_REQUEST, null, null, 0));
        }
    }

    // ---------------------------------------------------------------- slow heads

    @Test
    void closesTheConnectionOfAHeadThatStalls() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            byte[] head = client.encoded(1, RawHttp2Client.get("/hello"));
            client.connection().send(Arrays.copyOf(head, head.length - 1));

            assertThat(client.next()).isEqualTo("goaway 0 " + ENHANCE_YOUR_CALM);
            assertThat(client.next()).isEqualTo("closed");
            assertThat(server.listener.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.CLIENT_TOO_SLOW);
        }
    }

    @Test
    void closesTheConnectionOfALaterHeadThatStallsInAContinuation() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 hello end");
            byte[] head = client.encoded(3, RawHttp2Client.get("/hello"));
            // The fields are complete, but END_HEADERS is missing.
            head[4] &= ~0x4;
            client.connection().send(head);

            assertThat(client.next()).isEqualTo("goaway 1 " + ENHANCE_YOUR_CALM);
            assertThat(client.next()).isEqualTo("closed");
        }
    }

    @Test
    void closesAConnectionWithoutRequests() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.ping();

            assertThat(client.next()).isEqualTo("goaway 0 " + NO_ERROR);
            assertThat(client.next()).isEqualTo("closed");
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void closesAnIdleConnectionDespitePings() throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
                    edge.keepAliveTimeout = Duration.ofMillis(500);
                    return edge;
                });
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 hello end");
            client.ping();

            assertThat(client.next()).isEqualTo("goaway 1 " + NO_ERROR);
            assertThat(client.next()).isEqualTo("closed");
        }
    }

    private static GuardedTestServer withShortHeadTimeout() {
        return new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
            edge.headTimeout = Duration.ofMillis(500);
            return edge;
        });
    }

    // ---------------------------------------------------------------- unread bodies

    @Test
    void dropsASmallUnreadBody() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.post("/early"), false);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 early end");
            client.data(1, 16_000, false);
            client.data(1, 16_000, true);

            client.headers(3, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers 3 200");
        }
    }

    @Test
    void resetsTheStreamOfALargeUnreadBody() throws Exception {
        try (GuardedTestServer server = new GuardedTestServer(Protocols.HTTP1_OR_H2C, edge -> {
                    edge.headTimeout = Duration.ofMinutes(5);
                    return edge;
                });
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.post("/early"), false);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 early end");
            for (int i = 0; i < 5; i++) {
                client.data(1, 16_000, false);
            }

            assertThat(client.next()).isEqualTo("reset 1 " + NO_ERROR);
            assertThat(server.listener.refused).isEmpty();
        }
    }

    @Test
    void resetsTheStreamOfAnUnreadBodyThatStalls() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout();
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.post("/early"), false);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).isEqualTo("data 1 early end");

            assertThat(client.next()).isEqualTo("reset 1 " + NO_ERROR);
        }
    }

    @Test
    void resetsTheStreamOfARefusalThatTheCallerDoesNotRead() throws Exception {
        try (GuardedTestServer server = withShortHeadTimeout();
                RawHttp2Client client = new RawHttp2Client(server.connect(), 0)) {
            client.headers(1, RawHttp2Client.request("GET", "/hello"), true);
            client.headers(3, RawHttp2Client.request("POST", "/echo"), false);

            assertThat(List.of(client.next(), client.next(), client.next(), client.next()))
                    .containsExactlyInAnyOrder(
                            "headers 1 400", "headers 3 400", "reset 1 " + CANCEL, "reset 3 " + CANCEL);
            assertThat(server.listener.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.BAD_REQUEST, Reason.BAD_REQUEST);
        }
    }

    // ---------------------------------------------------------------- drain

    @Test
    void sendsGoAwayOnDrainAndServesOpenStreams() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client client = new RawHttp2Client(server.connect())) {
            client.headers(1, RawHttp2Client.get("/later"), true);
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);

            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();
            assertThat(client.next()).isEqualTo("goaway 2147483647 " + NO_ERROR);
            client.headers(3, RawHttp2Client.get("/hello"), true);
            assertThat(client.next()).isEqualTo("headers 3 200");
            assertThat(client.next()).isEqualTo("data 3 hello end");
            server.later.complete("late");
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(client.next()).startsWith("data 1 late");
            String next = client.next();
            assertThat(next.startsWith("data 1") ? client.next() : next).isEqualTo("goaway 3 " + NO_ERROR);
            assertThat(client.next()).isEqualTo("closed");
        }
    }

    @Test
    void sendsGoAwayToANewCallerAfterItsFirstRequest() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C)) {
            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();
            try (RawHttp2Client client = new RawHttp2Client(server.connect())) {
                client.headers(1, RawHttp2Client.get("/hello"), true);

                assertThat(List.of(client.next(), client.next(), client.next()))
                        .contains("headers 1 200", "data 1 hello end", "goaway 2147483647 " + NO_ERROR);
                assertThat(client.next()).isEqualTo("goaway 1 " + NO_ERROR);
                assertThat(client.next()).isEqualTo("closed");
            }
        }
    }
}
