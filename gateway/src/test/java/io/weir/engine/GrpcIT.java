package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientResponse;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * gRPC calls: HTTP/2 on both sides, with the status in the trailers or, without messages, in the head.
 *
 * <p>The test does not use gRPC's own library: Spring Cloud Gateway behaves differently with it on the class
 * path.
 */
@ExtendWith(Leaks.class)
class GrpcIT {

    private static final String BACKEND = "orders";

    /** Calls that the backend never answers. */
    private static final AtomicInteger HANGING = new AtomicInteger();

    /** Calls of these that were cancelled. */
    private static final AtomicInteger CANCELLED = new AtomicInteger();

    private static TestServer backend;
    private static TestGateway gateway;
    private static HttpClient caller;

    @BeforeAll
    static void start() {
        backend =
                TestServer.start(HttpServer.create().protocol(HttpProtocol.H2C).handle(GrpcIT::serve));
        gateway = TestGateway.setup()
                .backend(
                        BACKEND,
                        "http://127.0.0.1:" + backend.port(),
                        "protocol: h2",
                        "deadline: 20s",
                        "connection: { connect-timeout: 20s }",
                        "circuit-breaker: { minimum-number-of-calls: 20, slow-call-duration-threshold: 10s }")
                .route(BACKEND, BACKEND)
                .route("brief", BACKEND, "deadline: 1500ms")
                .start();
        caller = HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .baseUrl("http://127.0.0.1:" + gateway.port())
                .headers(head -> head.set("content-type", "application/grpc").set("te", "trailers"));
    }

    private static Publisher<Void> serve(HttpServerRequest request, HttpServerResponse response) {
        response.header("content-type", "application/grpc");
        String method = request.uri().substring(request.uri().lastIndexOf('/') + 1);
        return switch (method) {
            case "Talk" ->
                response.trailerHeaders(trailers -> trailers.set("grpc-status", "0"))
                        // Each message is answered at once.
                        .send(messages(request.receive()).map(text -> message("heard " + text)), buffer -> true);
            case "Break" ->
                response.trailerHeaders(
                                trailers -> trailers.set("grpc-status", "13").set("grpc-message", "it says"))
                        .send(Flux.just(message("first"), message("second")));
            case "Refuse" ->
                response.header("grpc-status", "14")
                        .header("grpc-message", "it says")
                        .send();
            case "Unknown" -> response.header("grpc-status", "5").send();
            case "Budget" ->
                response.trailerHeaders(trailers -> trailers.set("grpc-status", "0"))
                        .send(Flux.just(message(request.requestHeaders().get("grpc-timeout", "none")), message("")));
            default -> {
                HANGING.incrementAndGet();
                yield request.receive().then(Mono.<Void>never()).doOnCancel(CANCELLED::incrementAndGet);
            }
        };
    }

    @BeforeEach
    void reset() {
        gateway.calm();
        HANGING.set(0);
        CANCELLED.set(0);
    }

    @AfterEach
    void assertNothingHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    // ---------------------------------------------------------------- messages

    /** A message: the compression flag, the length, and the content. */
    private static ByteBuf message(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return Unpooled.buffer().writeByte(0).writeInt(bytes.length).writeBytes(bytes);
    }

    /** The messages of a body, however its bytes are split into buffers. */
    private static Flux<String> messages(Flux<ByteBuf> bytes) {
        return Flux.defer(() -> {
            ByteBuf soFar = Unpooled.buffer();
            return bytes.concatMapIterable(buffer -> {
                soFar.writeBytes(buffer);
                List<String> complete = new ArrayList<>();
                while (soFar.readableBytes() >= 5
                        && soFar.readableBytes() >= 5 + soFar.getInt(soFar.readerIndex() + 1)) {
                    soFar.skipBytes(1);
                    complete.add(
                            new String(ByteBufUtil.getBytes(soFar.readSlice(soFar.readInt())), StandardCharsets.UTF_8));
                }
                return complete;
            });
        });
    }

    /** The result of a call. */
    private static final class CallResult {

        private final Map<String, String> head = new TreeMap<>();
        private final Map<String, String> trailers = new TreeMap<>();
        private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();

        private static void put(Map<String, String> into, HttpHeaders fields) {
            fields.forEach(field -> into.put(field.getKey(), field.getValue()));
        }

        private Publisher<Void> take(HttpClientResponse response, Flux<ByteBuf> body) {
            put(head, response.responseHeaders());
            head.put(":status", response.status().codeAsText().toString());
            return messages(body)
                    .doOnNext(messages::add)
                    .then(response.trailerHeaders())
                    .doOnNext(fields -> put(trailers, fields))
                    .then();
        }

        @Nullable
        String next() throws InterruptedException {
            return messages.poll(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    private static CallResult call(String path) {
        CallResult result = new CallResult();
        // Without a Content-Length, as in gRPC.
        caller.post()
                .uri(path)
                .send(Flux.just(message("please"), message("now")))
                .response((head, body) -> result.take(head, body))
                .blockLast(TestGateway.PATIENCE);
        return result;
    }

    // ---------------------------------------------------------------- calls

    @Door.Each
    void passesMessagesInBothDirectionsInTurns(Door door) throws Exception {
        Sinks.Many<ByteBuf> says = Sinks.many().unicast().onBackpressureBuffer();
        CallResult result = new CallResult();
        Mono<Void> over = caller.post()
                .uri(door.path(BACKEND, "Talk"))
                .send((request, out) -> out.send(says.asFlux(), buffer -> true))
                .response((head, body) -> result.take(head, body))
                .then()
                .cache();
        Disposable call = over.subscribe();
        for (int i = 0; i < 5; i++) {
            String text = "message " + i + "x".repeat(i * 20_000);
            says.tryEmitNext(message(text)).orThrow();
            // The answer arrives before the next message is sent.
            assertThat(result.next()).isEqualTo("heard " + text);
        }
        says.tryEmitComplete().orThrow();
        over.block(TestGateway.PATIENCE);
        call.dispose();

        assertThat(result.head).containsEntry(":status", "200").containsEntry("content-type", "application/grpc");
        assertThat(result.trailers).containsEntry("grpc-status", "0");
        gateway.assertTold(door, BACKEND, door.path(BACKEND, "Talk"), 200, "2xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void passesAFailureInTheTrailersOnAndReportsItToTheBreaker(Door door) {
        CallResult result = call(door.path(BACKEND, "Break"));

        assertThat(result.messages).containsExactly("first", "second");
        assertThat(result.trailers).containsEntry("grpc-status", "13").containsEntry("grpc-message", "it says");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void passesAFailureInTheHeadOnAndReportsItToTheBreaker(Door door) {
        CallResult result = call(door.path(BACKEND, "Refuse"));

        assertThat(result.messages).isEmpty();
        assertThat(result.head).containsEntry("grpc-status", "14").containsEntry("grpc-message", "it says");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void doesNotReportAnyOtherStatusAsAFailure(Door door) {
        assertThat(call(door.path(BACKEND, "Unknown")).head).containsEntry("grpc-status", "5");

        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void sendsTheRemainingTimeAsGrpcTimeout(Door door) throws Exception {
        CallResult result = new CallResult();
        caller.headers(head -> head.set("grpc-timeout", "5S"))
                .post()
                .uri(door.path(BACKEND, "Budget"))
                .send(Flux.just(message("please"), message("now")))
                .response((head, body) -> result.take(head, body))
                .blockLast(TestGateway.PATIENCE);

        String left = Objects.requireNonNull(result.next(), "an answer");
        assertThat(left).matches("[1-9][0-9]{0,7}[munSMH]");
        long digits = Long.parseLong(left.substring(0, left.length() - 1));
        long micros =
                switch (left.charAt(left.length() - 1)) {
                    case 'm' -> digits * 1_000;
                    case 'u' -> digits;
                    case 'n' -> digits / 1_000;
                    default -> digits * 1_000_000;
                };
        assertThat(micros).isBetween(1L, 5_000_000L);
    }

    // ---------------------------------------------------------------- the gateway's own answers

    @Door.Each
    void refusesWithAGrpcStatusAfterTheDeadline(Door door) {
        String path = door.path("brief", "Hang");

        CallResult result = call(path);

        assertRefused(result, "4", "deadline-exceeded");
        await().until(() -> CANCELLED.get() == 1);
        gateway.assertTold(door, "brief", path, 504, "deadline-exceeded");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void refusesWithAGrpcStatusWhileTheBreakerIsOpen(Door door) {
        gateway.backend(BACKEND).health().resilience4j().transitionToForcedOpenState();

        assertRefused(call(door.path(BACKEND, "Talk2")), "14", "circuit-open");
        assertThat(HANGING).hasValue(0);
    }

    private static void assertRefused(CallResult result, String status, String word) {
        assertThat(result.head)
                .containsEntry(":status", "200")
                .containsEntry("content-type", "application/grpc")
                .containsEntry("grpc-status", status)
                .containsEntry("grpc-message", word)
                .hasEntrySatisfying("proxy-status", said -> assertThat(said).contains(word));
        assertThat(result.messages).isEmpty();
    }

    // ---------------------------------------------------------------- callers that leave

    @Door.Each
    void cancelsTheBackendsCallIfTheCallerCancels(Door door) {
        String path = door.path(BACKEND, "Hang");
        Disposable call = caller.post()
                .uri(path)
                .send(Flux.just(message("please"), message("now")))
                .response()
                .subscribe();
        await().until(() -> HANGING.get() == 1);

        call.dispose();

        await().until(() -> CANCELLED.get() == 1);
        gateway.assertTold(door, BACKEND, path, 499, "client-closed");
        gateway.assertFed(BACKEND, 0, 0, 0);
    }
}
