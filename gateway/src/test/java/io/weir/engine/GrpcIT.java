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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientResponse;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * Calls as gRPC makes them: over HTTP/2 on both sides, with their outcome behind the messages or, without messages, in the head.
 *
 * <p>Not by gRPC's own library: with it on the class path, Spring Cloud Gateway is another one.
 */
@ExtendWith(Leaks.class)
@Timeout(60)
class GrpcIT {

    private static final String BACKEND = "orders";

    /** Calls that the backend keeps waiting, and those of them that have been cancelled. */
    private static final AtomicInteger HANGING = new AtomicInteger();

    private static final AtomicInteger CANCELLED = new AtomicInteger();

    private static DisposableServer backend;
    private static TestGateway gateway;
    private static HttpClient caller;

    @BeforeAll
    static void start() {
        backend = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .protocol(HttpProtocol.H2C)
                .handle(GrpcIT::serve)
                .bindNow();
        gateway = TestGateway.setup()
                .backend(
                        BACKEND,
                        "http://127.0.0.1:" + backend.port(),
                        "protocol: h2",
                        "deadline: 20s",
                        "connection: { connect-timeout: 5s }",
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
                        // Each message is answered as it comes.
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
    void calm() {
        gateway.calm();
        HANGING.set(0);
        CANCELLED.set(0);
    }

    @AfterEach
    void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        // Before the gateway, whose end is that of the event loops, which are its too: one that is ending may never
        // close it.
        backend.disposeNow(TestGateway.PATIENCE);
        gateway.close();
    }

    // ---------------------------------------------------------------- messages

    /** Not compressed, so long, and so. */
    private static ByteBuf message(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return Unpooled.buffer().writeByte(0).writeInt(bytes.length).writeBytes(bytes);
    }

    /** Messages, however they are cut. */
    private static Flux<String> messages(Flux<ByteBuf> bytes) {
        return Flux.defer(() -> {
            ByteBuf soFar = Unpooled.buffer();
            return bytes.concatMapIterable(buffer -> {
                soFar.writeBytes(buffer);
                List<String> whole = new ArrayList<>();
                while (soFar.readableBytes() >= 5
                        && soFar.readableBytes() >= 5 + soFar.getInt(soFar.readerIndex() + 1)) {
                    soFar.skipBytes(1);
                    whole.add(
                            new String(ByteBufUtil.getBytes(soFar.readSlice(soFar.readInt())), StandardCharsets.UTF_8));
                }
                return whole;
            });
        });
    }

    /** What came of a call. */
    private static final class Outcome {

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

    private static Outcome call(String path) {
        Outcome outcome = new Outcome();
        // Its length is not known, as it is not with gRPC.
        caller.post()
                .uri(path)
                .send(Flux.just(message("please"), message("now")))
                .response((head, body) -> outcome.take(head, body))
                .blockLast(TestGateway.PATIENCE);
        return outcome;
    }

    // ---------------------------------------------------------------- calls

    @Door.Each
    void letsBothSidesTalkInTurns(Door door) throws Exception {
        Sinks.Many<ByteBuf> says = Sinks.many().unicast().onBackpressureBuffer();
        Outcome outcome = new Outcome();
        Mono<Void> over = caller.post()
                .uri(door.path(BACKEND, "Talk"))
                .send((request, out) -> out.send(says.asFlux(), buffer -> true))
                .response((head, body) -> outcome.take(head, body))
                .then()
                .cache();
        Disposable call = over.subscribe();
        for (int i = 0; i < 5; i++) {
            String text = "message " + i + "x".repeat(i * 20_000);
            says.tryEmitNext(message(text)).orThrow();
            // It is answered before the next one is sent.
            assertThat(outcome.next()).isEqualTo("heard " + text);
        }
        says.tryEmitComplete().orThrow();
        over.block(TestGateway.PATIENCE);
        call.dispose();

        assertThat(outcome.head).containsEntry(":status", "200").containsEntry("content-type", "application/grpc");
        assertThat(outcome.trailers).containsEntry("grpc-status", "0");
        gateway.assertTold(door, BACKEND, door.path(BACKEND, "Talk"), 200, "2xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void passesAFailureBehindMessagesBackAndTellsTheBreakerOfIt(Door door) {
        Outcome outcome = call(door.path(BACKEND, "Break"));

        assertThat(outcome.messages).containsExactly("first", "second");
        assertThat(outcome.trailers).containsEntry("grpc-status", "13").containsEntry("grpc-message", "it says");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void passesAFailureWithoutMessagesBackAndTellsTheBreakerOfIt(Door door) {
        Outcome outcome = call(door.path(BACKEND, "Refuse"));

        assertThat(outcome.messages).isEmpty();
        assertThat(outcome.head).containsEntry("grpc-status", "14").containsEntry("grpc-message", "it says");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void holdsNoOtherStatusAgainstTheBackend(Door door) {
        assertThat(call(door.path(BACKEND, "Unknown")).head).containsEntry("grpc-status", "5");

        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void tellsTheBackendInItsDialectWhatIsLeftOfTheBudget(Door door) throws Exception {
        Outcome outcome = new Outcome();
        caller.headers(head -> head.set("grpc-timeout", "5S"))
                .post()
                .uri(door.path(BACKEND, "Budget"))
                .send(Flux.just(message("please"), message("now")))
                .response((head, body) -> outcome.take(head, body))
                .blockLast(TestGateway.PATIENCE);

        String left = Objects.requireNonNull(outcome.next(), "an answer");
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

    // ---------------------------------------------------------------- what the gateway says itself

    @Door.Each
    void saysInGrpcsWordsThatTheDeadlineHasPassed(Door door) {
        String path = door.path("brief", "Hang");

        Outcome outcome = call(path);

        assertRefused(outcome, "4", "deadline-exceeded");
        await().until(() -> CANCELLED.get() == 1);
        gateway.assertTold(door, "brief", path, 504, "deadline-exceeded");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void saysInGrpcsWordsThatTheBreakerIsOpen(Door door) {
        gateway.backend(BACKEND).breaker().resilience4j().transitionToForcedOpenState();

        assertRefused(call(door.path(BACKEND, "Talk2")), "14", "circuit-open");
        assertThat(HANGING).hasValue(0);
    }

    private static void assertRefused(Outcome outcome, String status, String word) {
        assertThat(outcome.head)
                .containsEntry(":status", "200")
                .containsEntry("content-type", "application/grpc")
                .containsEntry("grpc-status", status)
                .containsEntry("grpc-message", word)
                .hasEntrySatisfying("proxy-status", said -> assertThat(said).contains(word));
        assertThat(outcome.messages).isEmpty();
    }

    // ---------------------------------------------------------------- callers who leave

    @Door.Each
    void cancelsTheCallOfACallerWhoCancels(Door door) {
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
