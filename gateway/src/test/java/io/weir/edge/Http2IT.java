package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.drain.Drain;
import io.weir.edge.TestServer.Speaks;
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
import org.junit.jupiter.api.Timeout;
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
@Timeout(60)
class Http2IT {

    private static final int NO_ERROR = 0;
    private static final int PROTOCOL_ERROR = 1;
    private static final int CANCEL = 8;
    private static final int ENHANCE_YOUR_CALM = 11;

    // ---------------------------------------------------------------- what must keep working

    @Test
    void servesAUsualClientWithPriorKnowledge() {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C)) {
            exchange(client(server).protocol(HttpProtocol.H2C));
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void servesAUsualClientOverTls() {
        try (TestServer server = TestServer.start(Speaks.TLS_HTTP1_OR_H2)) {
            exchange(client(server)
                    .protocol(HttpProtocol.H2)
                    .secure(spec -> spec.sslContext((GenericSslContextSpec<?>) Http2SslContextSpec.forClient()
                            .configure(builder -> builder.trustManager(InsecureTrustManagerFactory.INSTANCE)))));
            assertThat(server.heard.refused).isEmpty();
        }
    }

    private static HttpClient client(TestServer server) {
        return HttpClient.newConnection().host("localhost").port(server.port());
    }

    private static void exchange(HttpClient client) {
        for (int i = 0; i < 3; i++) {
            assertThat(client.get()
                            .uri("/hello")
                            .responseContent()
                            .aggregate()
                            .asString()
                            .block(Duration.ofSeconds(10)))
                    .isEqualTo("hello");
            assertThat(client.post()
                            .uri("/echo")
                            .send(Mono.just(Unpooled.wrappedBuffer(new byte[200_000])))
                            .responseContent()
                            .aggregate()
                            .asByteArray()
                            .block(Duration.ofSeconds(10)))
                    .hasSize(200_000);
        }
    }

    /** The JDK's client wishes for an upgrade, with every first request, of every method. */
    @Test
    void upgradesAConnectionOfHttp1() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                java.net.http.HttpClient client = java.net.http.HttpClient.newHttpClient()) {
            HttpRequest get = HttpRequest.newBuilder(URI.create("http://localhost:" + server.port() + "/hello"))
                    .timeout(Duration.ofSeconds(10))
                    .build();
            for (int i = 0; i < 3; i++) {
                HttpResponse<String> answer = client.send(get, HttpResponse.BodyHandlers.ofString());
                assertThat(answer.body()).isEqualTo("hello");
                assertThat(answer.version()).isEqualTo(java.net.http.HttpClient.Version.HTTP_2);
            }
            assertThat(server.heard.opened).hasValue(1);

            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();
            server.heard.awaitClosed(1);
        }
    }

    @Test
    void doesNotUpgradeForARequestWithABody() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                java.net.http.HttpClient client = java.net.http.HttpClient.newHttpClient()) {
            HttpResponse<String> answer = client.send(
                    HttpRequest.newBuilder(URI.create("http://localhost:" + server.port() + "/echo"))
                            .POST(HttpRequest.BodyPublishers.ofString("x".repeat(100_000)))
                            .timeout(Duration.ofSeconds(10))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(answer.body()).hasSize(100_000);
            assertThat(answer.version()).isEqualTo(java.net.http.HttpClient.Version.HTTP_1_1);
        }
    }

    @Test
    void servesManyStreamsThatComeAByteAtATime() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            for (int stream = 1; stream < 20; stream += 2) {
                for (byte b : wire.encoded(stream, Http2Wire.get("/hello"))) {
                    wire.wire().send(new byte[] {b});
                }
                assertThat(wire.next()).isEqualTo("headers " + stream + " 200");
                assertThat(wire.next()).isEqualTo("data " + stream + " hello end");
            }
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void takesTrailersForNoRequest() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.post("/count"), false);
            wire.data(1, 10, false);
            wire.headers(1, new DefaultHttp2Headers().add("x", "y"), true);

            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 10 end");
        }
    }

    @Test
    void takesAHostThatSaysTheSameAsTheAuthority() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.get("/hosts").add("host", "WEIR.example"), true);
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 [weir.example] end");
            wire.headers(3, Http2Wire.request("GET", "/hosts").add("host", "weir.example"), true);
            assertThat(wire.next()).isEqualTo("headers 3 200");
            assertThat(wire.next()).isEqualTo("data 3 [weir.example] end");
        }
    }

    // ---------------------------------------------------------------- refusals

    static Stream<Arguments> refused() {
        Http2Headers many = Http2Wire.get("/hello");
        for (int i = 0; i < 11; i++) {
            many.add("x" + i, "y");
        }
        Http2Headers noPath = Http2Wire.get("/hello");
        noPath.remove(":path");
        return Stream.of(
                Arguments.of("no host", Http2Wire.request("GET", "/hello"), Reason.BAD_REQUEST, "host: missing"),
                Arguments.of(
                        "two hosts",
                        Http2Wire.request("GET", "/hello").add("host", "a").add("host", "a"),
                        Reason.BAD_REQUEST,
                        "host: more than one"),
                Arguments.of(
                        "another host",
                        Http2Wire.get("/hello").add("host", "b"),
                        Reason.BAD_REQUEST,
                        "host: another than :authority"),
                Arguments.of(
                        "host with a user",
                        Http2Wire.request("GET", "/hello").authority("u@a"),
                        Reason.BAD_REQUEST,
                        "host: malformed"),
                Arguments.of(
                        "method that is no token",
                        Http2Wire.request("G T", "/hello").authority("a"),
                        Reason.BAD_REQUEST,
                        "a method and a path"),
                Arguments.of("connect", Http2Wire.request("CONNECT", "/hello").authority("a"), Reason.BAD_REQUEST, ""),
                Arguments.of("space in the path", Http2Wire.get("/a b"), Reason.BAD_REQUEST, "a method and a path"),
                Arguments.of("long path", Http2Wire.get("/" + "a".repeat(256)), Reason.URI_TOO_LONG, "longer than 256"),
                Arguments.of(
                        "large field",
                        Http2Wire.get("/hello").add("x", "y".repeat(1024)),
                        Reason.HEADERS_TOO_LARGE,
                        "larger than 1024"),
                Arguments.of("many fields", many, Reason.HEADERS_TOO_LARGE, "fields: 11 (expected: at most 10)"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("refused")
    void refusesInTheShapeOfEveryOtherRefusal(String what, Http2Headers head, Reason reason, String detail)
            throws Exception {
        try (TestServer server = small();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, head, true);

            assertThat(wire.next()).isEqualTo("headers 1 " + reason.status().code());
            assertThat(wire.lastHeaders.get("content-type")).asString().isEqualTo("application/problem+json");
            assertThat(wire.lastHeaders.get("cache-control")).asString().isEqualTo("no-store");
            assertThat(wire.lastHeaders.get("proxy-status"))
                    .asString()
                    .isEqualTo("weir; error=http_request_error; details=\"" + reason.word() + '"');
            assertThat(wire.next())
                    .startsWith("data 1 {\"type\":\"urn:weir:" + reason.word() + '"')
                    .contains(detail)
                    .endsWith(" end");
            // The connection is unharmed.
            wire.headers(3, Http2Wire.get("/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 3 200");
            assertThat(server.heard.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(reason);
            assertThat(server.handled).hasValue(1);
        }
    }

    @Test
    void resetsTheStreamOfARefusedRequestWithABody() throws Exception {
        try (TestServer server = small();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.request("POST", "/count"), false);

            assertThat(wire.next()).isEqualTo("headers 1 400");
            assertThat(wire.next()).startsWith("data 1 {").endsWith(" end");
            assertThat(wire.next()).isEqualTo("reset 1 " + NO_ERROR);
            wire.data(1, 100, true);
            wire.headers(3, Http2Wire.get("/hello"), true);
            String next = wire.next();
            assertThat(next.startsWith("reset 1") ? wire.next() : next).isEqualTo("headers 3 200");
            assertThat(server.heard.refused).hasSize(1);
        }
    }

    @Test
    void refusesHeadAndGrpcAsTheyUnderstandIt() throws Exception {
        try (TestServer server = small();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.request("HEAD", "/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 1 400 end");
            wire.headers(3, Http2Wire.request("POST", "/a.B/c").add("content-type", "application/grpc+proto"), true);
            assertThat(wire.next()).isEqualTo("headers 3 200 end");
            assertThat(wire.lastHeaders.get("grpc-status")).asString().isEqualTo("13");
        }
    }

    /** So much larger than everything allowed that the codec does not decode it. */
    @Test
    void endsAStreamWhoseHeadIsFarTooLarge() throws Exception {
        try (TestServer server = small();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.get("/hello").add("x", "y".repeat(3000)), true);

            assertThat(wire.next()).isEqualTo("headers 1 431 end");
            assertThat(server.handled).hasValue(0);
            server.heard.awaitRefused(1);
        }
    }

    private static TestServer small() {
        return new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
            edge.maxUriLength = 256;
            edge.maxHeaderSize = 1024;
            edge.maxHeaderCount = 10;
            return edge;
        });
    }

    // ---------------------------------------------------------------- violations

    @Test
    void endsTheStreamOfAMalformedHead() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.get("/hello").add("Upper", "case"), true);
            assertThat(wire.next()).isEqualTo("reset 1 " + PROTOCOL_ERROR);
            wire.headers(3, Http2Wire.get("/hello").add("connection", "close"), true);
            assertThat(wire.next()).isEqualTo("reset 3 " + PROTOCOL_ERROR);
            wire.headers(5, Http2Wire.post("/count").add("content-length", "1"), false);
            wire.data(5, 2, true);
            assertThat(wire.next()).isEqualTo("reset 5 " + PROTOCOL_ERROR);

            wire.headers(7, Http2Wire.get("/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 7 200");
            assertThat(server.heard.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.BAD_REQUEST, Reason.BAD_REQUEST, Reason.BAD_REQUEST);
        }
    }

    @Test
    void endsTheConnectionOfAViolation() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            // Data of no stream.
            wire.wire().send(new byte[] {0, 0, 1, 0, 1, 0, 0, 0, 0, 'x'});

            assertThat(wire.next()).isEqualTo("goaway 2147483647 " + PROTOCOL_ERROR);
            assertThat(wire.next()).isEqualTo("closed");
            assertThat(server.heard.refused)
                    .containsExactly(new RecordingEdgeListener.Refused(Reason.BAD_REQUEST, null, null, 0));
        }
    }

    @Test
    void endsTheConnectionOfACallerWhoOpensAndResetsStreams() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            try {
                for (int stream = 1; stream < 2000; stream += 2) {
                    wire.headers(stream, Http2Wire.get("/later"), true);
                    wire.reset(stream);
                }
            } catch (IOException e) {
                // Closed in between.
            }
            server.heard.awaitClosed(1);
            assertThat(server.heard.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.BAD_REQUEST);
        }
    }

    @Test
    void survivesGarbageBehindThePreface() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Wire wire = server.connect()) {
            wire.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "garbage, not settings");

            assertThat(wire.rest()).isNotEmpty();
            server.heard.awaitClosed(1);
            assertThat(server.heard.refused)
                    .containsExactly(new RecordingEdgeListener.Refused(Reason.BAD_REQUEST, null, null, 0));
        }
    }

    // ---------------------------------------------------------------- slow heads

    @Test
    void endsTheConnectionOfAHeadThatStalls() throws Exception {
        try (TestServer server = impatient();
                Http2Wire wire = new Http2Wire(server.connect())) {
            byte[] head = wire.encoded(1, Http2Wire.get("/hello"));
            wire.wire().send(Arrays.copyOf(head, head.length - 1));

            assertThat(wire.next()).isEqualTo("goaway 0 " + ENHANCE_YOUR_CALM);
            assertThat(wire.next()).isEqualTo("closed");
            assertThat(server.heard.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.CLIENT_TOO_SLOW);
        }
    }

    @Test
    void endsTheConnectionOfALaterHeadThatStallsInAContinuation() throws Exception {
        try (TestServer server = impatient();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.get("/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 hello end");
            byte[] head = wire.encoded(3, Http2Wire.get("/hello"));
            // The fields are complete, but nothing says so.
            head[4] &= ~0x4;
            wire.wire().send(head);

            assertThat(wire.next()).isEqualTo("goaway 1 " + ENHANCE_YOUR_CALM);
            assertThat(wire.next()).isEqualTo("closed");
        }
    }

    @Test
    void closesAConnectionThatAsksForNothing() throws Exception {
        try (TestServer server = impatient();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.ping();

            assertThat(wire.next()).isEqualTo("goaway 0 " + NO_ERROR);
            assertThat(wire.next()).isEqualTo("closed");
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void closesAnIdleConnectionWhateverItPings() throws Exception {
        try (TestServer server = new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
                    edge.keepAliveTimeout = Duration.ofMillis(500);
                    return edge;
                });
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.get("/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 hello end");
            wire.ping();

            assertThat(wire.next()).isEqualTo("goaway 1 " + NO_ERROR);
            assertThat(wire.next()).isEqualTo("closed");
        }
    }

    private static TestServer impatient() {
        return new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
            edge.headTimeout = Duration.ofMillis(500);
            return edge;
        });
    }

    // ---------------------------------------------------------------- bodies that nobody reads

    @Test
    void dropsASmallBodyThatNobodyReads() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.post("/early"), false);
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 early end");
            wire.data(1, 16_000, false);
            wire.data(1, 16_000, true);

            wire.headers(3, Http2Wire.get("/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 3 200");
        }
    }

    @Test
    void resetsTheStreamOfALargeBodyThatNobodyReads() throws Exception {
        try (TestServer server = new TestServer(Speaks.HTTP1_OR_H2C, edge -> {
                    edge.headTimeout = Duration.ofMinutes(5);
                    return edge;
                });
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.post("/early"), false);
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 early end");
            for (int i = 0; i < 5; i++) {
                wire.data(1, 16_000, false);
            }

            assertThat(wire.next()).isEqualTo("reset 1 " + NO_ERROR);
            assertThat(server.heard.refused).isEmpty();
        }
    }

    @Test
    void resetsTheStreamOfABodyThatNobodyReadsAndThatStalls() throws Exception {
        try (TestServer server = impatient();
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.post("/early"), false);
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).isEqualTo("data 1 early end");

            assertThat(wire.next()).isEqualTo("reset 1 " + NO_ERROR);
        }
    }

    @Test
    void resetsTheStreamOfARefusalThatIsNotTaken() throws Exception {
        try (TestServer server = impatient();
                Http2Wire wire = new Http2Wire(server.connect(), 0)) {
            wire.headers(1, Http2Wire.request("GET", "/hello"), true);
            wire.headers(3, Http2Wire.request("POST", "/echo"), false);

            assertThat(List.of(wire.next(), wire.next(), wire.next(), wire.next()))
                    .containsExactlyInAnyOrder(
                            "headers 1 400", "headers 3 400", "reset 1 " + CANCEL, "reset 3 " + CANCEL);
            assertThat(server.heard.refused)
                    .extracting(RecordingEdgeListener.Refused::reason)
                    .containsExactly(Reason.BAD_REQUEST, Reason.BAD_REQUEST);
        }
    }

    // ---------------------------------------------------------------- drain

    @Test
    void tellsCallersToGoAwayAndServesWhatTheyHaveAskedFor() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C);
                Http2Wire wire = new Http2Wire(server.connect())) {
            wire.headers(1, Http2Wire.get("/later"), true);
            RecordingEdgeListener.await("handled", () -> server.handled.get() == 1);

            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();
            assertThat(wire.next()).isEqualTo("goaway 2147483647 " + NO_ERROR);
            wire.headers(3, Http2Wire.get("/hello"), true);
            assertThat(wire.next()).isEqualTo("headers 3 200");
            assertThat(wire.next()).isEqualTo("data 3 hello end");
            server.later.complete("late");
            assertThat(wire.next()).isEqualTo("headers 1 200");
            assertThat(wire.next()).startsWith("data 1 late");
            String next = wire.next();
            assertThat(next.startsWith("data 1") ? wire.next() : next).isEqualTo("goaway 3 " + NO_ERROR);
            assertThat(wire.next()).isEqualTo("closed");
        }
    }

    @Test
    void tellsACallerWhoComesLateAfterItsFirstRequest() throws Exception {
        try (TestServer server = TestServer.start(Speaks.HTTP1_OR_H2C)) {
            server.drain.enter(Drain.Phase.ANNOUNCED);
            server.customizer.connections().drain();
            try (Http2Wire wire = new Http2Wire(server.connect())) {
                wire.headers(1, Http2Wire.get("/hello"), true);

                assertThat(List.of(wire.next(), wire.next(), wire.next()))
                        .contains("headers 1 200", "data 1 hello end", "goaway 2147483647 " + NO_ERROR);
                assertThat(wire.next()).isEqualTo("goaway 1 " + NO_ERROR);
                assertThat(wire.next()).isEqualTo("closed");
            }
        }
    }
}
