package io.weir.authorization;

import static io.weir.testing.Patience.PATIENCE;
import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.weir.outcome.Reason;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.Leaks;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import io.weir.testing.TestWebSocket;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import tools.jackson.databind.JsonNode;

/** Routes whose requests another backend authorizes, through both doors. */
@ExtendWith(Leaks.class)
class AuthorizeIT extends OneBackendTests {

    private static final int LARGE = 100_000;

    /** The heads that the backend has received. */
    private static final LinkedBlockingQueue<TestBackend.Request> received = new LinkedBlockingQueue<>();

    private static TestBackend authorizer;
    private static TestBackend hanging;
    private static TestHttp2Backend http2;
    private static UnwillingPort down;

    @BeforeAll
    static void start() {
        authorizer = TestBackend.start(AuthorizeIT::authorize);
        hanging = TestBackend.healthy();
        hanging.behave(hanging.hang());
        http2 = new TestHttp2Backend();
        down = UnwillingPort.refusing();
        backend = TestBackend.start((request, conversation) -> {
            received.add(request);
            if (request.header("upgrade") != null) {
                TestWebSocket socket = TestWebSocket.accept(request, conversation);
                socket.next();
                socket.close(1000, "bye");
            } else {
                long bytes = conversation.drain(request);
                conversation.answer(200, bytes + String.join("|", conversation.trailers()));
            }
        });
        gateway = TestGateway.setup()
                .backend("orders", backend.uri(), "deadline: 20s")
                .backend("auth", authorizer.uri(), "deadline: 10s")
                .backend(
                        "hanging",
                        hanging.uri(),
                        "deadline: 3s",
                        "bulkhead: { max-concurrent-calls: 20 }",
                        "circuit-breaker: { stall-duration: 200ms, stall-calls: 5 }",
                        "recovery: { probe: caller, probe-interval: 30s }")
                .backend("down", down.uri(), "deadline: 10s", "retry-budget: { share: 0, floor: 0 }")
                .route(
                        "protected",
                        "orders",
                        "authorize: { backend: auth, path: \"/verify?as=edge\", headers-out: [X-User] }")
                .route("unreachable", "orders", "authorize: { backend: down }")
                .route("passing", "orders", "authorize: { backend: down, headers-out: [X-User], on-failure: pass }")
                .backend("multiplexed", http2.uri(), "protocol: h2", "deadline: 10s")
                .route("multiplexed", "orders", "authorize: { backend: multiplexed, headers-out: [X-User] }")
                .route("hung", "orders", "authorize: { backend: hanging }")
                .route("answered", "orders", "authorize: { backend: auth }", "answer: { status: 200, body: its own }")
                .route(
                        "cached",
                        "orders",
                        "authorize: { backend: auth, headers-out: [X-User], cache: { key-headers: [authorization], max-age: 1h } }")
                .route("open", "orders")
                .filtered(
                        "filtered",
                        "orders",
                        "\"SetRequestHeader=X-User, of-a-filter\"",
                        "authorize: { backend: auth, headers-out: [X-User] }")
                .start();
    }

    /** Decides by the field {@code Authorization}. */
    private static void authorize(TestBackend.Request request, TestBackend.Conversation conversation)
            throws IOException {
        String credentials = request.header("authorization");
        switch (credentials == null ? "none" : credentials) {
            case "alice" ->
                conversation.write("HTTP/1.1 200 OK\r\nX-User: alice\r\nX-Other: o\r\nContent-Length: 2\r\n\r\nok");
            case "nobody" -> conversation.write("HTTP/1.1 204 No Content\r\n\r\n");
            case "chunked" ->
                conversation.write(
                        "HTTP/1.1 200 OK\r\nX-User: carol\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
            case "none" ->
                conversation.write("HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=\"shop\"\r\nContent-Length: 3\r\n"
                        + "\r\nwho");
            case "mallory" ->
                conversation.write(
                        "HTTP/1.1 403 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nnot\r\n4\r\n you\r\n0\r\n\r\n");
            case "login" ->
                conversation.write("HTTP/1.1 302 X\r\nLocation: https://login.example/\r\nSet-Cookie: a=1\r\n"
                        + "Set-Cookie: b=2\r\nContent-Length: 0\r\n\r\n");
            case "large" -> conversation.answer(403, "x".repeat(LARGE));
            default -> conversation.answer(500, "broken");
        }
    }

    @BeforeEach
    void calm() {
        authorizer.behave(AuthorizeIT::authorize);
        received.clear();
        gateway.calm();
    }

    @AfterAll
    static void stopOthers() {
        authorizer.close();
        hanging.close();
        http2.close();
        down.close();
    }

    /** A request is counted when its exchange has ended, after its answer. */
    private static void assertCounted(Door door, String route, String result) {
        await().atMost(PATIENCE).until(() -> counted(door, route, result) > 0);
    }

    private static double counted(Door door, String route, String result) {
        return gateway
                .bean(MeterRegistry.class)
                .find("weir.authorizations")
                .tags("route", door.id(route), "result", result)
                .counters()
                .stream()
                .mapToDouble(Counter::count)
                .sum();
    }

    // ---------------------------------------------------------------- allowed

    @Door.Both
    void asksTheAuthorizerAndPassesItsFieldsOn(Door door) throws Exception {
        String path = door.path("protected", "1");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head(
                            "POST",
                            path + "?id=1",
                            "Authorization: alice",
                            "Cookie: a=1",
                            "X-Secret: s",
                            "X-User: mallory",
                            "x_user: mallory",
                            "Transfer-Encoding: chunked")
                    + "4\r\nbody\r\n0\r\nX_USER: mallory\r\nX-Sum: 1\r\n\r\n");
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(200);
            assertThat(answer.text()).as("body and trailers at the backend").isEqualToIgnoringCase("4X-Sum: 1");
        }

        TestBackend.Request asked = authorizer.next();
        assertThat(asked.line()).isEqualTo("GET /verify?as=edge HTTP/1.1");
        assertThat(asked.header("host")).isEqualTo("127.0.0.1:" + authorizer.port());
        assertThat(asked.header("authorization")).isEqualTo("alice");
        assertThat(asked.header("cookie")).isEqualTo("a=1");
        assertThat(asked.header("x-forwarded-method")).isEqualTo("POST");
        assertThat(asked.header("x-forwarded-uri")).isEqualTo(path + "?id=1");
        assertThat(asked.header("x-forwarded-host")).isNotNull();
        assertThat(asked.header("x-forwarded-for")).isEqualTo("127.0.0.1");
        assertThat(asked.header("x-request-timeout")).isNotNull();
        assertThat(asked.head().toLowerCase(Locale.ROOT))
                .doesNotContain("x-secret", "x-user", "x_user", "transfer-encoding", "content-length");
        TestBackend.Request seen = received.take();
        assertThat(seen.head()
                        .lines()
                        .filter(line -> line.toLowerCase(Locale.ROOT).matches("x.user:.*")))
                .singleElement()
                .asString()
                .isEqualToIgnoringCase("x-user: alice");
        assertThat(seen.header("x-request-id")).isEqualTo(asked.header("x-request-id"));
        assertThat(seen.header("x-other")).isNull();
        JsonNode line = gateway.assertTold(door, "protected", path, 200, "2xx");
        assertThat(line.path("backend").asString()).isEqualTo("orders");
        assertCounted(door, "protected", "allowed");
    }

    @Door.Each
    void writesTheFieldsAfterTheFilters(Door door) throws Exception {
        assertThat(get(door, "filtered", "1", "Authorization: alice").status()).isEqualTo(200);
        assertThat(received.take().headers("x-user")).containsExactly("alice");

        assertThat(get(door, "filtered", "2", "Authorization: nobody").status()).isEqualTo(200);
        assertThat(received.take().header("x-user")).isNull();
    }

    @Door.Each
    void readsTheRestOfAnAnswerThatAllowsSoThatTheConnectionStays(Door door) throws Exception {
        assertThat(get(door, "protected", "2", "Authorization: chunked").status())
                .isEqualTo(200);
        await().atMost(PATIENCE).until(() -> gateway.backend("auth").bulkhead().inUse() == 0);
        int before = authorizer.accepted();

        assertThat(get(door, "protected", "3", "Authorization: chunked").status())
                .isEqualTo(200);

        assertThat(authorizer.accepted()).isLessThanOrEqualTo(before + 1);
        assertThat(received.take().header("x-user")).isEqualTo("carol");
    }

    @Door.Each
    void asksAnAuthorizerOverHttp2(Door door) throws Exception {
        http2.behave(stream -> stream.begin(
                "alice".contentEquals(stream.head().get("authorization", ""))
                        ? new DefaultHttp2Headers().status("200").set("x-user", "alice")
                        : new DefaultHttp2Headers().status("401").set("www-authenticate", "Basic"),
                true));

        assertThat(get(door, "multiplexed", "1", "Authorization: alice").status())
                .isEqualTo(200);
        assertThat(received.take().header("x-user")).isEqualTo("alice");
        TestCaller.Answer denied = get(door, "multiplexed", "2");
        assertThat(denied.status()).isEqualTo(401);
        assertThat(denied.header("www-authenticate")).isEqualTo("Basic");
    }

    @Door.Each
    void answersForTheRouteOnlyIfAllowed(Door door) throws Exception {
        assertThat(get(door, "answered", "1").status()).isEqualTo(401);
        assertThat(get(door, "answered", "2", "Authorization: alice").text()).isEqualTo("its own");
    }

    // ---------------------------------------------------------------- denied

    @Door.Both
    void passesADenialOn(Door door) throws Exception {
        String path = door.path("protected", "4");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            // The body is never sent.
            caller.send(TestCaller.head("POST", path, "Content-Length: 1000"));
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(401);
            assertThat(answer.header("www-authenticate")).isEqualTo("Basic realm=\"shop\"");
            assertThat(answer.text()).isEqualTo("who");
        }
        JsonNode line = gateway.assertTold(door, "protected", path, 401, "unauthorized");
        assertThat(line.path("backend").asString()).isEqualTo("auth");
        assertThat(line.path("detail").asString()).isEqualTo("the authorizer answered with status 401");
        assertCounted(door, "protected", "denied");
        assertThat(received).isEmpty();
    }

    @Door.Each
    void passesRedirectsAndBodiesOn(Door door) throws Exception {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer login = caller.request("GET", door.path("protected", "5"), "Authorization: login");
            assertThat(login.status()).isEqualTo(302);
            assertThat(login.header("location")).isEqualTo("https://login.example/");
            assertThat(login.header("set-cookie")).isNotNull();

            TestCaller.Answer chunked = caller.request("GET", door.path("protected", "6"), "Authorization: mallory");
            assertThat(chunked.status()).isEqualTo(403);
            assertThat(chunked.text()).isEqualTo("not you");

            caller.send(TestCaller.head("HEAD", door.path("protected", "7"), "Authorization: mallory"));
            assertThat(caller.answer(true).status()).isEqualTo(403);

            TestCaller.Answer large = caller.request("GET", door.path("protected", "8"), "Authorization: large");
            assertThat(large.status()).isEqualTo(403);
            assertThat(large.body()).isEmpty();
        }
        gateway.assertTold(door, "protected", door.path("protected", "5"), 302, "3xx");
        gateway.assertTold(door, "protected", door.path("protected", "6"), 403, "forbidden");
        assertThat(received).isEmpty();
    }

    @Door.Each
    void checksHandshakes(Door door) throws Exception {
        try (TestCaller caller = TestCaller.to(gateway.port());
                TestCaller allowed = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path("protected", "9"));
            assertThat(caller.answer().status()).isEqualTo(401);

            TestWebSocket socket = TestWebSocket.open(allowed, door.path("protected", "10"), "Authorization: alice");
            socket.close(1000, "bye");
            assertThat(socket.next()).isEqualTo("close 1000 bye");
            assertThat(received.take().header("x-user")).isEqualTo("alice");
        }
    }

    @Door.Each
    void answersGrpcCallersOverHttp2WithTheirStatus(Door door) {
        assertThat(grpc(door, null).get("grpc-status")).isEqualTo("16");
        assertThat(grpc(door, "login").get("grpc-status")).isEqualTo("16");
        assertThat(grpc(door, "mallory").get("grpc-status")).isEqualTo("7");
        assertThat(grpc(door, "broken").get("grpc-status")).isEqualTo("14");
        assertThat(grpc(door, "alice").get("grpc-status"))
                .as("the backend's answer")
                .isNull();
    }

    private static HttpHeaders grpc(Door door, @Nullable String credentials) {
        return Objects.requireNonNull(HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .baseUrl("http://127.0.0.1:" + gateway.port())
                .headers(head -> {
                    head.set("content-type", "application/grpc").set("te", "trailers");
                    if (credentials != null) {
                        head.set("authorization", credentials);
                    }
                })
                .get()
                .uri(door.path("protected", "11"))
                .responseSingle((response, body) -> body.then().thenReturn(response.responseHeaders()))
                .block(PATIENCE));
    }

    // ---------------------------------------------------------------- failed

    @Door.Both
    void refusesWhileTheAuthorizerFails(Door door) throws Exception {
        String path = door.path("protected", "12");
        TestCaller.Answer failed = TestCaller.get(gateway.port(), path, "Authorization: broken");
        JsonNode line = assertRefused(gateway, door, "protected", path, failed, Reason.AUTHORIZER_FAILED);
        assertThat(line.path("backend").asString()).isEqualTo("auth");
        assertThat(line.path("detail").asString()).isEqualTo("the authorizer answered with status 500");
        assertCounted(door, "protected", "failed");

        String unreachable = door.path("unreachable", "1");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), unreachable);
        JsonNode other = assertRefused(gateway, door, "unreachable", unreachable, refused, Reason.CONNECT_FAILED);
        assertThat(other.path("backend").asString()).isEqualTo("down");
        assertThat(received).isEmpty();
        gateway.assertFed("orders", 0, 0, 0);
    }

    @Door.Both
    void goesOnWithoutFieldsIfTheRoutePasses(Door door) throws Exception {
        String path = door.path("passing", "1");
        assertThat(TestCaller.get(gateway.port(), path, "X-User: mallory").status())
                .isEqualTo(200);

        assertThat(received.take().header("x-user")).isNull();
        JsonNode line = gateway.assertTold(door, "passing", path, 200, "2xx");
        assertThat(line.path("detail").asString()).startsWith("passed without authorization: the authorizer: ");
        assertCounted(door, "passing", "passed");
    }

    @Door.Each
    void refusesAtOnceOnceTheBreakerOfAHangingAuthorizerIsOpenAndHoldsNothingOfTheBackend(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> waiting = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            waiting.add(TestCaller.ask(gateway.port(), door.path("hung", "waits" + i)));
        }
        await().atMost(PATIENCE)
                .until(() -> gateway.backend("hanging").bulkhead().inUse() >= 5);
        assertThat(gateway.backend("orders").bulkhead().inUse()).isZero();
        assertThat(get(door, "open", "1").status()).isEqualTo(200);

        await().atMost(PATIENCE).until(() -> gateway.backend("hanging").health().state() == State.OPEN);
        int asked = hanging.requests();
        String path = door.path("hung", "at-once");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        JsonNode line = assertRefused(gateway, door, "hung", path, refused, Reason.CIRCUIT_OPEN);
        assertThat(line.path("backend").asString()).isEqualTo("hanging");
        assertThat(hanging.requests()).isEqualTo(asked);
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
        // The calls under way are answered late, by their deadline.
        hanging.behave(TestBackend.ECHO);
        waiting.forEach(one -> assertThat(one.join().status()).isEqualTo(504));
        hanging.behave(hanging.hang());
    }

    // ---------------------------------------------------------------- cached

    @Door.Each
    void asksOncePerCallerAndRequestUntilAReload(Door door) throws Exception {
        String path = door.path("cached", "1");
        assertThat(TestCaller.get(gateway.port(), path, "Authorization: alice").status())
                .isEqualTo(200);
        assertThat(TestCaller.get(gateway.port(), path, "Authorization: mallory")
                        .text())
                .isEqualTo("not you");
        // Another thread puts the answers in place.
        await().atMost(PATIENCE).untilAsserted(() -> {
            int before = authorizer.requests();
            received.clear();
            assertThat(TestCaller.get(gateway.port(), path, "Authorization: alice")
                            .status())
                    .isEqualTo(200);
            assertThat(TestCaller.get(gateway.port(), path, "Authorization: mallory")
                            .text())
                    .isEqualTo("not you");
            assertThat(authorizer.requests()).isEqualTo(before);
        });
        assertThat(received.take().header("x-user")).isEqualTo("alice");
        assertCounted(door, "cached", "allowed-cached");
        assertCounted(door, "cached", "denied-cached");

        int before = authorizer.requests();
        assertThat(get(door, "cached", "2", "Authorization: alice").status())
                .as("another path")
                .isEqualTo(200);
        assertThat(TestCaller.get(gateway.port(), path).status()).as("no key").isEqualTo(401);
        assertThat(TestCaller.get(gateway.port(), path).status()).as("no key").isEqualTo(401);
        assertThat(authorizer.requests()).isEqualTo(before + 3);

        reload(Files.readString(gateway.file()).replace("max-age: 1h", "max-age: 59m"));
        assertThat(TestCaller.get(gateway.port(), path, "Authorization: alice").status())
                .isEqualTo(200);
        assertThat(authorizer.requests()).isEqualTo(before + 4);
        reload(Files.readString(gateway.file()).replace("max-age: 59m", "max-age: 1h"));
    }

    // ---------------------------------------------------------------- events during the call

    @Door.Each
    void endsTheCallOfACallerThatLeaves(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        authorizer.behave(calls);
        String path = door.path("protected", "13");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            calls.next();
            assertThat(gateway.backend("auth").bulkhead().inUse()).isEqualTo(1);
        }

        await().atMost(PATIENCE).until(() -> gateway.backend("auth").bulkhead().inUse() == 0);
        gateway.assertTold(door, "protected", path, 499, "client-closed");
        calls.release();
        assertThat(received).isEmpty();
    }

    @Door.Each
    void keepsItsAuthorizerDuringAReload(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        authorizer.behave(calls);
        CompletableFuture<TestCaller.Answer> answer =
                TestCaller.ask(gateway.port(), door.path("protected", "14"), "X-User: mallory");
        HeldCalls.Held held = calls.next();
        String before = Files.readString(gateway.file());

        reload(before.replace(
                "authorize: { backend: auth, path: \"/verify?as=edge\", headers-out: [X-User] }", "mode: request"));
        assertThat(get(door, "protected", "15", "X-User: bob").status())
                .as("without")
                .isEqualTo(200);
        assertThat(received.take().header("x-user")).isEqualTo("bob");
        held.answer();

        assertThat(answer.join().status()).isEqualTo(200);
        assertThat(received.take().header("x-user")).isNull();
        calls.release();
        reload(before);
    }

    private static void reload(String yaml) {
        gateway.rewrite(yaml);
        ConfigurationChange change = gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
        assertThat(change.problems()).isEmpty();
    }
}
