package io.weir.instance;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.WebsocketServerSpec;

/** A backend with HTTP/2 by prior knowledge, for callers with HTTP/1.1 and HTTP/2. */
@ExtendWith(Leaks.class)
class Http2BackendIT {

    private static final String BACKEND = "orders";
    private static final int LARGE = 300_000;

    private static final String TUNNELS = "tunnels";

    private static final List<String> PROTOCOLS = new CopyOnWriteArrayList<>();

    /** The requests that reached the backend that opens WebSockets. */
    private static final BlockingQueue<List<String>> SEEN = new LinkedBlockingQueue<>();

    private static final Set<String> UNLIKE =
            Set.of("transfer-encoding", "x-http2-path", "x-http2-protocol", "x-http2-stream-id", "x-request-timeout");

    private static TestServer backend;
    private static TestServer tunnels;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend =
                TestServer.start(HttpServer.create().protocol(HttpProtocol.H2C).handle((request, response) -> {
                    PROTOCOLS.add(request.protocol());
                    HttpHeaders behind = new DefaultHttpHeaders();
                    request.withConnection(connection -> keepTrailers(connection, behind));
                    if (request.uri().endsWith("hinted")) {
                        request.withConnection(Http2BackendIT::hint);
                    }
                    boolean ill = request.uri().endsWith("unavailable");
                    // A Flux: a Mono would be sent with Content-Length and without trailers.
                    return response.header("Trailer", "grpc-status")
                            .trailerHeaders(trailers -> trailers.set("grpc-status", ill ? "14" : "0"))
                            .sendString(Flux.concat(
                                    size(request),
                                    Mono.fromSupplier(() -> " " + behind.get("x-checksum", "none")),
                                    Mono.just(request.uri().endsWith("large") ? "x".repeat(LARGE) : "")));
                }));
        tunnels = TestServer.start(HttpServer.create()
                .protocol(HttpProtocol.H2C)
                .http2Settings(settings -> settings.connectProtocolEnabled(true))
                .handle((request, response) -> {
                    SEEN.add(seen(request));
                    return request.uri().contains("open")
                            ? response.sendWebsocket(
                                    (in, out) ->
                                            out.sendObject(in.receiveFrames().map(WebSocketFrame::retain)),
                                    WebsocketServerSpec.builder()
                                            .protocols("two")
                                            .maxFramePayloadLength(LARGE)
                                            .build())
                            : response.status(403).header("X-Why", "closed").sendString(Mono.just("closed"));
                }));
        String[] properties = {"protocol: h2", "connection: { connect-timeout: 20s }", "deadline: 20s"};
        gateway = TestGateway.setup()
                .backend(BACKEND, "http://127.0.0.1:" + backend.port(), properties)
                .backend(TUNNELS, "http://127.0.0.1:" + tunnels.port(), properties)
                .route(BACKEND, BACKEND)
                .route(TUNNELS, TUNNELS)
                .filtered("hosted", TUNNELS, "PreserveHostHeader")
                .start();
    }

    /** The request's line and fields, without HTTP/2's own fields and fields with varying values. */
    private static List<String> seen(HttpServerRequest request) {
        return Stream.concat(
                        Stream.of(request.uri()),
                        request.requestHeaders().entries().stream()
                                .filter(field -> !UNLIKE.contains(field.getKey()))
                                .map(field -> field.getKey() + ": " + field.getValue()))
                .sorted()
                .toList();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The final answer shows whether the write succeeded.
    private static void hint(Connection stream) {
        Http2Headers early = new DefaultHttp2Headers().status("103").add("link", "</a.css>; rel=preload");
        stream.channel().writeAndFlush(new DefaultHttp2HeadersFrame(early, false));
    }

    private static void keepTrailers(Connection connection, HttpHeaders into) {
        connection
                .channel()
                .pipeline()
                .addBefore(NettyPipeline.ReactiveBridge, null, new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext context, Object message) {
                        if (message instanceof LastHttpContent last) {
                            into.add(last.trailingHeaders());
                        }
                        context.fireChannelRead(message);
                    }
                });
    }

    private static Mono<String> size(HttpServerRequest request) {
        return request.receive()
                .asByteArray()
                .map(bytes -> bytes.length)
                .reduce(0, Integer::sum)
                .map(String::valueOf);
    }

    @BeforeEach
    void calm() {
        gateway.calm();
        PROTOCOLS.clear();
        SEEN.clear();
    }

    @AfterEach
    void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
        tunnels.close();
    }

    @Door.Any
    void forwardsACall(Door door) throws IOException {
        String path = door.path(BACKEND, "get");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo("0 none");
        assertThat(PROTOCOLS).containsExactly("HTTP/2.0");
        gateway.assertTold(door, BACKEND, path, 200, "2xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Any
    void dropsInformationalAnswers(Door door) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(BACKEND, "hinted"));

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo("0 none");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    /** The codec of HTTP/1.1 does not read such a body; the codec of HTTP/2 does. */
    @Door.Any
    void dropsABodyThatTheAnswerMustNotHave(Door door) throws IOException {
        String path = door.path(BACKEND, "head");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            assertThat(caller.request("HEAD", path).status()).isEqualTo(200);
            assertThat(caller.request("GET", path + "/next").text()).isEqualTo("0 none");
        }

        assertThat(gateway.logged(path).path("bytes").asInt()).isZero();
        gateway.assertFed(BACKEND, 2, 0, 0);
    }

    @Door.Any
    void forwardsALargeAnswer(Door door) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(BACKEND, "large"));

        assertThat(answer.text()).isEqualTo("0 none" + "x".repeat(LARGE));
    }

    @Door.Any
    void forwardsUploads(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(BACKEND, "known"), "Content-Length: " + LARGE));
            Thread.ofVirtual().start(() -> sendAll(caller));
            assertThat(caller.answer().text()).isEqualTo(LARGE + " none");
        }
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(BACKEND, "unknown"), "Transfer-Encoding: chunked"));
            caller.send("3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
            assertThat(caller.answer().text()).isEqualTo("7 none");
        }
    }

    private static void sendAll(TestCaller caller) {
        try {
            caller.send(new byte[LARGE]);
        } catch (IOException e) {
            // The answer shows the reason.
        }
    }

    @Door.Any
    void forwardsRequestTrailersFromBothProtocols(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(BACKEND, "http1"), "Transfer-Encoding: chunked"));
            caller.send("3\r\nabc\r\n0\r\nX-Checksum: one\r\nContent-Length: 7\r\n\r\n");
            assertThat(caller.answer().text()).isEqualTo("3 one");
        }
        assertThat(postByHttp2(door.path(BACKEND, "http2"), "two")).containsEntry("body", "3 two");
    }

    @Door.Any
    void forwardsAnswerTrailersAndRecordsTheirStatus(Door door) throws IOException {
        TestCaller.Answer well = TestCaller.get(gateway.port(), door.path(BACKEND, "well"), "TE: trailers");
        TestCaller.Answer ill = TestCaller.get(gateway.port(), door.path(BACKEND, "unavailable"), "TE: trailers");

        assertThat(well.trailers()).containsEntry("grpc-status", "0");
        assertThat(ill.trailers()).containsEntry("grpc-status", "14");
        gateway.assertFed(BACKEND, 2, 1, 0);

        assertThat(postByHttp2(door.path(BACKEND, "well"), "c")).containsEntry("grpc-status", "0");
        assertThat(postByHttp2(door.path(BACKEND, "unavailable"), "c")).containsEntry("grpc-status", "14");
        gateway.assertFed(BACKEND, 4, 2, 0);
    }

    @Door.Any
    void servesManyConcurrentCalls(Door door) {
        HttpClient client = HttpClient.create().protocol(HttpProtocol.H2C);
        List<Integer> statuses = Flux.range(0, 40)
                .flatMap(
                        i -> client.get()
                                .uri("http://127.0.0.1:" + gateway.port() + door.path(BACKEND, "shared"))
                                .responseSingle((head, body) ->
                                        body.thenReturn(head.status().code())),
                        20)
                .collectList()
                .block(TestGateway.PATIENCE);

        assertThat(statuses).hasSize(40).containsOnly(200);

        await().untilAsserted(() -> assertThat(
                        gateway.backend(BACKEND).instances().first().pool().acquired())
                .isZero());
        assertThat(gateway.backend(BACKEND).instances().first().pool().idle()).isBetween(1, 20);
    }

    /**
     * The backend's settings exclude extended CONNECT. Callers that ask for a WebSocket must not open its
     * breaker.
     */
    @Door.Any
    void refusesAWebSocketThatTheBackendDoesNotSupport(Door door) throws IOException {
        String path = door.path(BACKEND, "websocket");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path);

            assertRefused(gateway, door, BACKEND, path, caller.answer(), Reason.BAD_REQUEST);
        }
        assertThat(PROTOCOLS).isEmpty();
        gateway.assertFed(BACKEND, 0, 0, 0);
    }

    /** An extended CONNECT (RFC 8441) has no key. */
    @Door.Any
    void forwardsAWebSocketAsExtendedConnect(Door door) throws Exception {
        String path = door.path(TUNNELS, "open");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket socket =
                    TestWebSocket.open(caller, path, "Sec-WebSocket-Protocol: one, two", "Content-Length: 0");
            assertThat(socket.subprotocol()).isEqualTo("two");
            for (int size : new int[] {0, 2, 200_000}) {
                socket.send(TestWebSocket.BINARY, true, new byte[size]);
                assertThat(socket.next()).isEqualTo("binary " + size);
            }
            socket.close(1000, "bye");
            assertThat(socket.next()).isEqualTo("close 1000 bye");
        }
        assertThat(seen())
                .contains("sec-websocket-protocol: one, two", "sec-websocket-version: 13")
                .noneMatch(field -> field.startsWith("sec-websocket-key"));
        gateway.assertTold(door, TUNNELS, path, 101, "1xx");
        gateway.assertFed(TUNNELS, 1, 0, 0);
    }

    /** The handshake contains no added fields, above all no origin if the caller sent none. */
    @Door.Any
    void forwardsAHandshakeWithTheFieldsOfAnyOtherRequest(Door door) throws Exception {
        String authority = "127.0.0.1:" + tunnels.port();
        assertSameRequest(door, TUNNELS, "?a=1&&b", authority);
        assertSameRequest(door, TUNNELS, "", authority, "Origin: https://shop.example");
        assertSameRequest(door, "hosted", "?", "weir.test");
        assertSameRequest(door, "hosted", "", "weir.test", "Origin: null", "X-A: 1", "X-A: 2", "TE: trailers");
        gateway.assertFed(TUNNELS, 8, 0, 0);
    }

    /** The backend also receives the handshake's head if it refuses. */
    private static void assertSameRequest(Door door, String route, String query, String host, String... fields)
            throws Exception {
        String path = door.path(route, "closed") + query;
        TestCaller.get(gateway.port(), path, with(fields));
        List<String> plain = seen();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path, with(fields));
            TestCaller.Answer refused = caller.answer();
            assertThat(refused.status()).as(refused.text()).isEqualTo(403);
            assertThat(refused.header("x-why")).isEqualTo("closed");
        }
        assertThat(seen())
                .contains(path, "host: " + host)
                .isEqualTo(Stream.concat(plain.stream(), Stream.of("sec-websocket-version: 13"))
                        .sorted()
                        .toList());
    }

    private static String[] with(String... fields) {
        return Stream.concat(Stream.of("X-Request-Id: kept"), Stream.of(fields)).toArray(String[]::new);
    }

    private static List<String> seen() throws InterruptedException {
        return Objects.requireNonNull(
                SEEN.poll(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS), "no request arrived");
    }

    /** Sends a body of unknown length with a trailer; returns the answer's body and trailers. */
    private static Map<String, String> postByHttp2(String path, String checksum) {
        Map<String, String> answer = new TreeMap<>();
        HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .headers(headers -> headers.set("te", "trailers"))
                .doOnRequest((request, connection) -> TrailingFields.await(connection.channel())
                        .set(new DefaultHttpHeaders().set("x-checksum", checksum)))
                .post()
                .uri("http://127.0.0.1:" + gateway.port() + path)
                .send(ByteBufFlux.fromString(Flux.just("ab", "c")))
                .response((head, body) -> body.aggregate()
                        .asString()
                        .doOnNext(text -> answer.put("body", text))
                        .then(head.trailerHeaders())
                        .doOnNext(trailers -> trailers.forEach(field -> answer.put(field.getKey(), field.getValue()))))
                .blockLast(TestGateway.PATIENCE);
        return answer;
    }
}
