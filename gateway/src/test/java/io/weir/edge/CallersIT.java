package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.engine.Engine;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.core.Ordered;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import tools.jackson.databind.JsonNode;

/**
 * Callers that leave, in each phase of their exchange: each is recorded once with the right outcome, releases
 * everything, and does not count as a failure of the backend.
 */
@ExtendWith(Leaks.class)
class CallersIT extends GatewayTests {

    private static final String BACKEND = "orders";
    private static final String SINGLE = "single";
    private static final String SILENT = "silent";

    private static final int PART = 100;
    private static final int READ_AHEAD = 65_536;

    private static final ThreadSwitchingFilter THREAD_SWITCHING_FILTER = new ThreadSwitchingFilter();

    private static UnwillingPort silent;

    /** Holds some requests back; the test passes them on, on its own thread. */
    private static final class ThreadSwitchingFilter implements GlobalFilter, Ordered {

        private final BlockingQueue<Mono<Void>> heldRequests = new LinkedBlockingQueue<>();

        @Override
        public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
            Mono<Void> rest = chain.filter(exchange);
            if (!exchange.getRequest().getURI().getPath().endsWith("/elsewhere")) {
                return rest;
            }
            heldRequests.add(rest);
            return Mono.never();
        }

        @Override
        public int getOrder() {
            return 0;
        }
    }

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        silent = UnwillingPort.silent();
        String patient = "circuit-breaker: { stall-duration: 20s }";
        // Short, because tests wait until the backend has no connection.
        String closing = "connection: { max-idle: 200ms }";
        gateway = TestGateway.setup()
                .weir("edge: { body-idle-timeout: 1m, read-idle-timeout: 1m }")
                .weir("allow-unprotected-routes: true")
                .backend(BACKEND, backend.uri(), "deadline: 30s", patient, closing)
                .backend(
                        SINGLE,
                        backend.uri(),
                        "deadline: 30s",
                        patient,
                        closing,
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 4, max-wait-duration: 20s }")
                .backend(SILENT, silent.uri(), "deadline: 30s", patient, "connection: { connect-timeout: 20s }")
                .route(BACKEND, BACKEND)
                .route(SINGLE, SINGLE)
                .route(SILENT, SILENT)
                .line("  - { id: open, uri: \"" + backend.uri() + "\", predicates: [\"Path=/open/**\"] }")
                .bean(ThreadSwitchingFilter.class, THREAD_SWITCHING_FILTER)
                .start();
    }

    @AfterAll
    static void stopOthers() {
        silent.close();
    }

    // ---------------------------------------------------------------- callers that leave

    /** How a caller leaves. */
    enum Leaving {
        RESETS,
        CLOSES,
        CANCELS_ITS_STREAM;

        /**
         * Sends a request, except for the last byte of its body, and stays connected until the caller leaves.
         *
         * @param declaredBytes the size of the body; 0: none
         */
        LeavingCaller start(String path, int declaredBytes) throws IOException {
            int sentBytes = declaredBytes - 1;
            if (this == CANCELS_ITS_STREAM) {
                Flux<ByteBuf> part =
                        Flux.concat(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(new byte[sentBytes])), Mono.never());
                CompletableFuture<Integer> received = new CompletableFuture<>();
                Disposable call = HttpClient.create()
                        .protocol(HttpProtocol.H2C)
                        .headers(head -> {
                            if (declaredBytes > 0) {
                                head.set("content-length", declaredBytes);
                            }
                        })
                        .request(declaredBytes == 0 ? HttpMethod.GET : HttpMethod.POST)
                        .uri("http://127.0.0.1:" + gateway.port() + path)
                        .send((request, out) -> declaredBytes == 0 ? out : out.send(part, buffer -> true))
                        .response((head, body) -> body.doOnNext(buffer -> received.complete(buffer.readableBytes())))
                        .subscribe(buffer -> {}, failure -> {});
                return new LeavingCaller(call::dispose, received);
            }
            TestCaller caller = TestCaller.to(gateway.port());
            caller.send(
                    declaredBytes == 0
                            ? TestCaller.head("GET", path)
                            : TestCaller.head("POST", path, "Content-Length: " + declaredBytes));
            if (declaredBytes > 0) {
                caller.send(new byte[sentBytes]);
            }
            CompletableFuture<Integer> received = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                try {
                    caller.readHead();
                    received.complete(caller.chunk().length());
                } catch (IOException e) {
                    received.completeExceptionally(e);
                }
            });
            return new LeavingCaller(
                    () -> {
                        if (this == RESETS) {
                            caller.reset();
                        } else {
                            caller.close();
                        }
                    },
                    received);
        }
    }

    private interface LeaveAction {

        void leave() throws IOException;
    }

    /** A caller that leaves, and the number of bytes of its first part of the response body. */
    private record LeavingCaller(LeaveAction action, CompletableFuture<Integer> received) {}

    static Stream<Arguments> leavingCallers() {
        return through(Tier.doors());
    }

    /** The doors learn in different ways that a caller leaves its call. */
    static Stream<Arguments> callersThatLeaveTheirCall() {
        return through(List.of(Door.values()));
    }

    private static Stream<Arguments> through(List<Door> doors) {
        return Arrays.stream(Leaving.values())
                .flatMap(leaving -> doors.stream().map(door -> Arguments.of(leaving, door)));
    }

    private static JsonNode assertRecordedAsClientClosed(Door door, String route, String path) {
        JsonNode line = gateway.assertTold(door, route, path, 499, "client-closed");
        gateway.assertNothingHeld();
        gateway.assertFed(route, 0, 0, 0);
        assertThat(gateway.lines(path)).as("lines of the request").hasSize(1);
        return line;
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("leavingCallers")
    void leavesInTheQueue(Leaving leaving, Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path(SINGLE, "first"));
        HeldCalls.Held held = calls.next();
        String path = door.path(SINGLE, "queued-" + leaving);
        LeavingCaller leavingCaller = leaving.start(path, 0);
        await().until(() -> gateway.backend(SINGLE).bulkhead().queued() == 1);

        leavingCaller.action().leave();

        JsonNode line = gateway.assertTold(door, SINGLE, path, 499, "client-closed");
        assertThat(line.path("attempts").asInt()).isZero();
        await().until(() -> gateway.backend(SINGLE).bulkhead().queued() == 0);
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
        gateway.assertNothingHeld();
        assertThat(calls.calls()).as("requests at the backend").isEqualTo(1);
        gateway.assertFed(SINGLE, 1, 0, 0);
        assertThat(gateway.lines(path)).as("lines of the request").hasSize(1);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("leavingCallers")
    void leavesWhileTheGatewayConnects(Leaving leaving, Door door) throws Exception {
        String path = door.path(SILENT, "connecting-" + leaving);
        LeavingCaller leavingCaller = leaving.start(path, 0);
        await().until(() -> gateway.backend(SILENT).bulkhead().inUse() == 1);

        leavingCaller.action().leave();

        assertThat(assertRecordedAsClientClosed(door, SILENT, path)
                        .path("attempts")
                        .asInt())
                .isEqualTo(1);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("leavingCallers")
    void leavesWhileItsBodyIsReadAhead(Leaving leaving, Door door) throws Exception {
        String path = door.path(BACKEND, "ahead-" + leaving);
        LeavingCaller leavingCaller = leaving.start(path, PART);
        Engine engine = gateway.bean(Engine.class);
        await().until(() -> engine.readAheadBytes() == PART - 1);

        leavingCaller.action().leave();

        assertThat(assertRecordedAsClientClosed(door, BACKEND, path)
                        .path("attempts")
                        .asInt())
                .isZero();
        await().until(() -> engine.readAheadBytes() == 0);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("leavingCallers")
    void leavesDuringTheRequestBody(Leaving leaving, Door door) throws Exception {
        CompletableFuture<Void> began = new CompletableFuture<>();
        backend.behave((request, conversation) -> {
            conversation.in().skipNBytes(PART);
            began.complete(null);
            conversation.drain(request);
        });
        String path = door.path(BACKEND, "sending-" + leaving);
        LeavingCaller leavingCaller = leaving.start(path, 2 * READ_AHEAD);
        began.join();

        leavingCaller.action().leave();

        assertRecordedAsClientClosed(door, BACKEND, path);
        // The backend must not take half a request for a complete one.
        await().until(() -> backend.connections() == 0);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("callersThatLeaveTheirCall")
    void leavesBeforeTheResponse(Leaving leaving, Door door) throws Exception {
        CompletableFuture<Void> began = new CompletableFuture<>();
        backend.behave((request, conversation) -> {
            began.complete(null);
            conversation.in().transferTo(OutputStream.nullOutputStream());
        });
        String path = door.path(BACKEND, "waiting-" + leaving);
        LeavingCaller leavingCaller = leaving.start(path, 0);
        began.join();

        leavingCaller.action().leave();

        assertRecordedAsClientClosed(door, BACKEND, path);
        await().until(() -> backend.connections() == 0);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("callersThatLeaveTheirCall")
    void leavesDuringTheResponse(Leaving leaving, Door door) throws Exception {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
            conversation.in().transferTo(OutputStream.nullOutputStream());
        });
        String path = door.path(BACKEND, "answering-" + leaving);
        LeavingCaller leavingCaller = leaving.start(path, 0);
        assertThat(leavingCaller.received().join()).isEqualTo(5);

        leavingCaller.action().leave();

        assertThat(assertRecordedAsClientClosed(door, BACKEND, path)
                        .path("bytes")
                        .asInt())
                .isEqualTo(5);
        await().until(() -> backend.connections() == 0);
    }

    /** On an unprotected route; a slow filter behaves the same. */
    @Test
    void isRecordedWithoutAnExchange() throws Exception {
        CompletableFuture<Void> began = new CompletableFuture<>();
        backend.behave((request, conversation) -> {
            began.complete(null);
            conversation.in().transferTo(OutputStream.nullOutputStream());
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", "/open/1"));
            began.join();
            caller.reset();
        }

        JsonNode line = gateway.logged("/open/1");
        assertThat(line.path("outcome").asString()).isEqualTo("client-closed");
        assertThat(line.path("status").asInt()).isEqualTo(499);
    }

    @Test
    void isRecordedOnceIfAFilterPassesTheRequestOnLater() throws Exception {
        String path = Door.GENERAL.path(BACKEND, "elsewhere");
        Mono<Void> held;
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            held = Objects.requireNonNull(
                    THREAD_SWITCHING_FILTER.heldRequests.poll(TestGateway.PATIENCE.toSeconds(), TimeUnit.SECONDS));
            caller.reset();
        }
        JsonNode line = gateway.logged(path);
        assertThat(line.path("outcome").asString()).isEqualTo("client-closed");

        // Would wait for the backend's response, if the request were still alive.
        held.block(TestGateway.PATIENCE);

        assertThat(calls.calls()).as("requests at the backend").isZero();
        gateway.assertNothingHeld();
        assertThat(gateway.lines(path)).as("lines of the request").hasSize(1);
    }
}
