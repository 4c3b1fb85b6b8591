package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.engine.Engine;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Clients are addresses of the loopback network. Each test leaves no client counted. */
class ClientLimitsIT {

    private static final int CONNECTIONS = 5;
    private static final int REQUESTS = 3;
    private static final String GREEDY = "127.0.0.1";
    private static final String OTHER = "127.0.0.2";
    private static final String PROXY = "127.0.0.9";
    private static final String BACKEND = "orders";

    private static TestBackend backend;
    private static TestGateway gateway;

    private final HeldCalls calls = new HeldCalls();
    private final List<RawHttp1Client> open = new ArrayList<>();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("edge: { max-connections-per-client: " + CONNECTIONS + ", max-requests-per-client: " + REQUESTS
                        + ", head-timeout: 2s, trusted-proxies: [" + PROXY + "] }")
                .backend(BACKEND, backend.uri(), "deadline: 30s", "circuit-breaker: { stall-duration: 20s }")
                .backend("brief", backend.uri(), "deadline: 300ms")
                .route(BACKEND, BACKEND)
                .route("brief", "brief")
                .line("server.http2.enabled: true")
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @BeforeEach
    void holdCalls() {
        backend.behave(calls);
    }

    @AfterEach
    void leavesNoClientCounted() throws IOException {
        for (RawHttp1Client client : open) {
            client.close();
        }
        calls.release();
        await().until(() -> limits().clients() == 0);
        gateway.assertNothingHeld();
        gateway.calm();
    }

    private static ClientLimits limits() {
        return gateway.bean(ClientLimits.class);
    }

    private RawHttp1Client connect(String from) throws IOException {
        RawHttp1Client client = RawHttp1Client.from(from, gateway.port());
        open.add(client);
        return client;
    }

    private RawHttp2Client connectHttp2(String from) throws IOException {
        return new RawHttp2Client(connect(from));
    }

    /** Sends a request that the backend holds. */
    private RawHttp1Client hold(String from, String path, String fields) throws Exception {
        RawHttp1Client client = connect(from);
        client.send("GET " + path + " HTTP/1.1\r\nHost: weir.test\r\n" + fields + "\r\n");
        calls.next();
        return client;
    }

    // ---------------------------------------------------------------- connections

    @Test
    void closesTheConnectionOverTheLimitOfItsClientOnly() throws Exception {
        long before = limits().rejectedConnections();
        List<RawHttp1Client> greedy = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            greedy.add(connect(GREEDY));
            assertThat(greedy.getLast().get("/nowhere").status()).isEqualTo(404);
        }

        assertThat(connect(GREEDY).rest()).isEmpty();

        assertThat(limits().rejectedConnections()).isEqualTo(before + 1);
        assertThat(connect(OTHER).get("/nowhere").status()).isEqualTo(404);
        for (RawHttp1Client client : greedy) {
            assertThat(client.get("/nowhere").status()).isEqualTo(404);
        }
        greedy.getFirst().close();
        awaitRoomFor(GREEDY);
    }

    /** Connects until the gateway has noticed the end of another connection. */
    private void awaitRoomFor(String client) {
        await().until(() -> {
            try (RawHttp1Client next = RawHttp1Client.from(client, gateway.port())) {
                return next.get("/nowhere").status() == 404;
            } catch (IOException closed) {
                return false;
            }
        });
    }

    @Test
    void countsAConnectionUntilAnyEnd() throws Exception {
        RawHttp1Client reset = connect(GREEDY);
        assertThat(reset.get("/nowhere").status()).isEqualTo(404);
        reset.socket().setSoLinger(true, 0);
        reset.close();
        RawHttp1Client silent = connect(GREEDY);
        RawHttp1Client slow = connect(GREEDY);
        slow.send("GET /");
        RawHttp1Client malformed = connect(GREEDY);
        malformed.send("no request\r\n\r\n");
        RawHttp2Client flooding = connectHttp2(GREEDY);
        flooding.connection().send(new byte[] {0, 0, 1, 4, 0, 0, 0, 0, 0, 0});

        // The gateway ends them: by the head time-out, a refusal, GOAWAY.
        assertThat(silent.rest()).isEmpty();
        assertThat(slow.answer().status()).isEqualTo(408);
        slow.close();
        malformed.close();
        await().until(() -> {
            String event = flooding.next();
            return event.equals("closed");
        });
        await().until(() -> limits().clients() == 0);
    }

    @Test
    void doesNotLimitTheConnectionsOfATrustedProxy() throws Exception {
        for (int i = 0; i < CONNECTIONS + 2; i++) {
            assertThat(connect(PROXY).get("/nowhere").status()).isEqualTo(404);
        }
        assertThat(limits().clients()).isZero();
    }

    // ---------------------------------------------------------------- requests

    @Door.Any
    void refusesARequestOverTheLimitOfItsClientOnly(Door door) throws Exception {
        long before = limits().refusedRequests();
        List<RawHttp1Client> greedy = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            greedy.add(hold(GREEDY, door.path(BACKEND, "held"), ""));
        }

        RawHttp1Client over = connect(GREEDY);
        RawHttp1Client.Answer refused = over.get(door.path(BACKEND, "one-more"));

        assertThat(refused.status()).isEqualTo(Reason.RATE_LIMITED.status().code());
        assertThat(refused.body()).contains("urn:weir:" + Reason.RATE_LIMITED.word());
        assertThat(Integer.parseInt(String.valueOf(refused.field("retry-after"))))
                .isPositive();
        assertThat(limits().refusedRequests()).isEqualTo(before + 1);
        assertThat(gateway.logged(door.path(BACKEND, "one-more"))
                        .path("outcome")
                        .asString())
                .isEqualTo(Reason.RATE_LIMITED.word());
        hold(OTHER, door.path(BACKEND, "other"), "");

        calls.release();
        for (RawHttp1Client client : greedy) {
            assertThat(client.answer().status()).isEqualTo(200);
        }
        // The refused connection serves on, and its client has room again.
        assertThat(over.get(door.path(BACKEND, "again")).status()).isEqualTo(200);
        assertThat(greedy.getFirst().get(door.path(BACKEND, "again")).status()).isEqualTo(200);
    }

    @Door.Any
    void countsEachStreamOfAnHttp2Connection(Door door) throws Exception {
        RawHttp2Client greedy = connectHttp2(GREEDY);
        for (int i = 0; i < REQUESTS; i++) {
            greedy.headers(2 * i + 1, RawHttp2Client.get(door.path(BACKEND, "held")), true);
            calls.next();
        }

        greedy.headers(7, RawHttp2Client.get(door.path(BACKEND, "over")), true);
        assertThat(greedy.next()).isEqualTo("headers 7 429");
        hold(OTHER, door.path(BACKEND, "other"), "");

        greedy.reset(1);
        awaitInFlight(REQUESTS);
        greedy.headers(9, RawHttp2Client.get(door.path(BACKEND, "next")), true);
        calls.next();
        // The connection ends with its streams.
        greedy.connection().socket().setSoLinger(true, 0);
        greedy.connection().close();
    }

    /** Waits until the gateway has noticed the end of a request. */
    private static void awaitInFlight(int requests) {
        await().until(() -> gateway.bean(Engine.class).inFlight() == requests);
    }

    @Door.Any
    void countsARequestUntilItsDeadline(Door door) throws Exception {
        for (int round = 0; round < 2; round++) {
            RawHttp2Client greedy = connectHttp2(GREEDY);
            for (int i = 0; i < REQUESTS; i++) {
                greedy.headers(2 * i + 1, RawHttp2Client.get(door.path("brief", "held")), true);
            }
            List<String> events = new ArrayList<>();
            while (events.stream().filter(event -> event.startsWith("headers")).count() < REQUESTS) {
                events.add(greedy.next());
            }
            assertThat(events).contains("headers 1 504", "headers 3 504", "headers 5 504");
            gateway.calm();
        }
    }

    @Door.Any
    void countsTheAddressThatATrustedProxyForwards(Door door) throws Exception {
        String greedy = "X-Forwarded-For: 192.0.2.7\r\n";
        for (int i = 0; i < REQUESTS; i++) {
            hold(PROXY, door.path(BACKEND, "held"), greedy);
        }
        RawHttp1Client next = connect(PROXY);
        next.send("GET " + door.path(BACKEND, "over") + " HTTP/1.1\r\nHost: weir.test\r\n" + greedy + "\r\n");
        assertThat(next.answer().status()).isEqualTo(429);
        assertThat(limits().clients()).isEqualTo(1);

        RawHttp1Client other = hold(PROXY, door.path(BACKEND, "other"), "X-Forwarded-For: 192.0.2.8\r\n");
        RawHttp1Client own = hold(PROXY, door.path(BACKEND, "own"), "");
        assertThat(limits().clients()).isEqualTo(2);
        calls.release();
        assertThat(other.answer().status()).isEqualTo(200);
        assertThat(own.answer().status()).isEqualTo(200);
    }

    /** A caller that is no trusted proxy cannot choose the client that its requests count for. */
    @Test
    void ignoresForwardedAddressesOfOtherCallers() throws Exception {
        for (int i = 0; i < REQUESTS; i++) {
            hold(GREEDY, Door.COMPILED.path(BACKEND, "held"), "X-Forwarded-For: 192.0.2." + i + "\r\n");
        }
        RawHttp1Client next = connect(GREEDY);
        next.send("GET " + Door.COMPILED.path(BACKEND, "over")
                + " HTTP/1.1\r\nHost: weir.test\r\nX-Forwarded-For: 192.0.2.99\r\n\r\n");

        assertThat(next.answer().status()).isEqualTo(429);
    }

    @Door.Any
    void countsAWebSocketUntilItIsClosed(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            TestWebSocket.accept(request, conversation).next();
            conversation.close();
        });
        List<TestCaller> greedy = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            greedy.add(TestCaller.to(gateway.port()));
            TestWebSocket.open(greedy.getLast(), door.path(BACKEND, "socket"));
        }
        backend.behave(calls);

        assertThat(connect(GREEDY).get(door.path(BACKEND, "over")).status()).isEqualTo(429);
        for (TestCaller caller : greedy) {
            caller.reset();
        }
    }
}
