package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.RawHttp2Client;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import io.weir.testing.TestTls;
import io.weir.testing.Tier;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * gRPC's answers frame by frame, with and without TLS. A gRPC library reads the status of a call without
 * messages only from a head that ends its stream, and the status of any other call only from trailers.
 */
@ExtendWith(Leaks.class)
class GrpcFramesIT {

    private static final String BACKEND = "orders";
    private static final String STREAM = "stream";
    private static final String BRIEF = "brief";
    private static final String MESSAGE = "first";
    private static final int MESSAGE_BYTES = 5 + MESSAGE.length();

    private static TestServer backend;
    private static TestGateway clear;
    private static TestGateway tls;
    private static volatile Sinks.Empty<Void> loss = Sinks.empty();

    @BeforeAll
    static void start() {
        backend =
                TestServer.start(HttpServer.create().protocol(HttpProtocol.H2C).handle(GrpcFramesIT::serve));
        clear = setup().start();
        tls = setup().line(TestTls.serverLines()).start();
    }

    private static TestGateway.Setup setup() {
        return TestGateway.setup()
                .backend(BACKEND, "http://127.0.0.1:" + backend.port(), "protocol: h2", "deadline: 20s")
                .route(BACKEND, BACKEND)
                .route(STREAM, BACKEND, "mode: stream")
                .route(BRIEF, BACKEND, "deadline: 1s");
    }

    private static Publisher<Void> serve(HttpServerRequest request, HttpServerResponse response) {
        return request.receive().then(Mono.defer(() -> Mono.from(answer(request, response))));
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The callers see the frames, or the end of the connection.
    private static Publisher<Void> answer(HttpServerRequest request, HttpServerResponse response) {
        response.header("content-type", "application/grpc");
        String method = request.uri().substring(request.uri().lastIndexOf('/') + 1);
        return switch (method) {
            case "Abort" -> {
                // As gRPC's servers write it. Reactor Netty would add a length, or an empty body in a second
                // frame.
                Http2Headers head = new DefaultHttp2Headers()
                        .status("200")
                        .add("content-type", "application/grpc")
                        .add("grpc-status", "10")
                        .add("grpc-message", "it says");
                request.withConnection(
                        connection -> connection.channel().writeAndFlush(new DefaultHttp2HeadersFrame(head, true)));
                yield Mono.never();
            }
            case "StallWithLength" ->
                // Not gRPC's servers, but general ones that know the length of a small answer.
                response.header("content-length", String.valueOf(2 * MESSAGE_BYTES))
                        .send(Flux.concat(message(), Mono.never()), buffer -> true);
            case "Stall" -> response.send(Flux.concat(message(), Mono.never()), buffer -> true);
            case "Lose" -> {
                request.withConnection(connection -> loss.asMono()
                        .subscribe(
                                null, null, () -> connection.channel().parent().close()));
                yield response.send(Flux.concat(message(), Mono.never()), buffer -> true);
            }
            default -> throw new IllegalArgumentException(method);
        };
    }

    private static Mono<ByteBuf> message() {
        byte[] text = MESSAGE.getBytes(StandardCharsets.UTF_8);
        return Mono.fromSupplier(
                () -> Unpooled.buffer().writeByte(0).writeInt(text.length).writeBytes(text));
    }

    @BeforeEach
    void calm() {
        clear.calm();
        tls.calm();
    }

    @AfterEach
    void assertNothingHeld() {
        clear.assertNothingHeld();
        tls.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        clear.close();
        tls.close();
        backend.close();
    }

    static Stream<Arguments> connectionsAndDoors() {
        return Stream.of(false, true).flatMap(isTls -> Tier.doors().stream().map(door -> Arguments.of(isTls, door)));
    }

    private static TestGateway gateway(boolean isTls) {
        return isTls ? tls : clear;
    }

    /** Sends a request with one message on stream 1. */
    private static RawHttp2Client call(boolean isTls, String path) throws IOException {
        int port = gateway(isTls).port();
        RawHttp2Client caller = isTls ? RawHttp2Client.overTls(port) : RawHttp2Client.to(port);
        Http2Headers head = RawHttp2Client.post(path);
        head.authority("weir.example").set("content-type", "application/grpc").set("te", "trailers");
        caller.headers(1, head, false);
        caller.data(1, 5, true);
        return caller;
    }

    @ParameterizedTest(name = "TLS: {0}, {1}")
    @MethodSource("connectionsAndDoors")
    void passesACallWithoutMessagesOnAsOneFrame(boolean isTls, Door door) throws Exception {
        for (String route : new String[] {BACKEND, STREAM}) {
            String path = door.path(route, "Abort");
            try (RawHttp2Client caller = call(isTls, path)) {
                assertThat(caller.next()).isEqualTo("headers 1 200 end");
                assertThat(field(caller, "grpc-status")).isEqualTo("10");
                assertThat(field(caller, "grpc-message")).isEqualTo("it says");
                gateway(isTls).assertTold(door, route, path, 200, "2xx");
            }
        }
    }

    @ParameterizedTest(name = "TLS: {0}, {1}")
    @MethodSource("connectionsAndDoors")
    void endsACallWhoseDeadlinePassesAfterItsFirstMessageWithDeadlineExceeded(boolean isTls, Door door)
            throws Exception {
        String path = door.path(BRIEF, "Stall");
        try (RawHttp2Client caller = call(isTls, path)) {
            assertFails(caller, "4", "deadline-exceeded");
        }
        gateway(isTls).assertTold(door, BRIEF, path, 200, "deadline-exceeded");
    }

    @ParameterizedTest(name = "TLS: {0}, {1}")
    @MethodSource("connectionsAndDoors")
    void endsACallWhoseBackendBreaksOffWithUnavailable(boolean isTls, Door door) throws Exception {
        for (String route : new String[] {BACKEND, STREAM}) {
            loss = Sinks.empty();
            String path = door.path(route, "Lose");
            try (RawHttp2Client caller = call(isTls, path)) {
                assertThat(caller.next()).isEqualTo("headers 1 200");
                loss.tryEmitEmpty();
                assertThat(caller.next()).startsWith("data 1 ").endsWith(MESSAGE);
                assertThat(caller.next()).isEqualTo("headers 1 null end");
                assertThat(field(caller, "grpc-status")).isEqualTo("14");
            }
            gateway(isTls).assertTold(door, route, path, 200, "connection-lost");
        }
    }

    /** The answer would be shorter than announced, so no trailers can end it. */
    @ParameterizedTest(name = "TLS: {0}, {1}")
    @MethodSource("connectionsAndDoors")
    void resetsACallWhoseDeadlinePassesInAnAnswerWithALength(boolean isTls, Door door) throws Exception {
        String path = door.path(BRIEF, "StallWithLength");
        try (RawHttp2Client caller = call(isTls, path)) {
            assertThat(caller.next()).isEqualTo("headers 1 200");
            assertThat(caller.next()).startsWith("data 1 ").endsWith(MESSAGE);
            assertThat(caller.next()).startsWith("reset 1 ");
        }
        gateway(isTls).assertTold(door, BRIEF, path, 200, "deadline-exceeded");
    }

    private static void assertFails(RawHttp2Client caller, String status, String word) throws IOException {
        assertThat(caller.next()).isEqualTo("headers 1 200");
        assertThat(caller.next()).startsWith("data 1 ").endsWith(MESSAGE);
        assertThat(caller.next()).isEqualTo("headers 1 null end");
        assertThat(field(caller, "grpc-status")).isEqualTo(status);
        assertThat(field(caller, "grpc-message")).isEqualTo(word);
    }

    private static String field(RawHttp2Client caller, String name) {
        return Objects.requireNonNull(caller.lastHeaders().get(name), name).toString();
    }
}
