package io.weir.authentication;

import static io.weir.testing.Patience.PATIENCE;
import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.nimbusds.jose.jwk.RSAKey;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.metrics.GatewayMeter;
import io.weir.metrics.Meters;
import io.weir.outcome.Reason;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;

/** Routes that require a token, through both doors: HTTP/1.1, HTTP/2, gRPC and WebSocket. */
@ExtendWith(Leaks.class)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class AuthenticationIT extends OneBackendTests {

    /** The heads that the backend has received. */
    private static final LinkedBlockingQueue<TestBackend.Request> received = new LinkedBlockingQueue<>();

    private static final AtomicInteger fetches = new AtomicInteger();

    /** The document of the issuer; null: it is down. */
    private static volatile @Nullable String keys = TestIssuer.document(TestIssuer.FIRST);

    private static HttpServer issuer;

    @BeforeAll
    static void start() throws IOException {
        issuer = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        issuer.createContext("/keys", exchange -> {
            fetches.incrementAndGet();
            String document = keys;
            byte[] body = (document == null ? "" : document).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(document == null ? 503 : 200, body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        issuer.start();
        backend = TestBackend.start((request, conversation) -> {
            received.add(request);
            if (request.header("upgrade") != null) {
                TestWebSocket socket = TestWebSocket.accept(request, conversation);
                socket.next();
                socket.close(1000, "bye");
            } else {
                conversation.drain(request);
                conversation.answer(200, String.join("|", conversation.trailers()));
            }
        });
        String uri = "http://127.0.0.1:" + issuer.getAddress().getPort() + "/keys";
        gateway = TestGateway.setup()
                .weir("authentication: { identity-header: X-Identity, issuers: { corp: { issuer: \"" + TestIssuer.ISS
                        + "\", jwk-set-uri: \"" + uri
                        + "\", audiences: [weir], unknown-key-interval: 1s }, silent: { issuer: \"https://silent.example\","
                        + " jwk-set-uri: \"http://127.0.0.1:1/keys\" } } }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("protected", "orders", "authentication: { issuers: [corp] }")
                .route("scoped", "orders", "authentication: { issuers: [corp], scopes: [orders.read] }")
                .route("silent", "orders", "authentication: { issuers: [silent] }")
                .route(
                        "quota",
                        "orders",
                        "authentication: { issuers: [ corp ] }",
                        "rate-limit: { key: \"claim:sub\", permits: 1, period: 1h }")
                .route("open", "orders")
                .filtered(
                        "filtered",
                        "orders",
                        "\"SetRequestHeader=X-Identity, of-a-filter\"",
                        "authentication: { issuers: [corp] }")
                .start();
        await().until(() -> gauge(GatewayMeter.ISSUER_KEYS, "corp") == 1);
    }

    @AfterEach
    @Override
    protected void nothingIsHeld() throws IOException {
        super.nothingIsHeld();
        assertThat(gateway.backend("orders")
                        .health()
                        .resilience4j()
                        .getMetrics()
                        .getNumberOfFailedCalls())
                .isZero();
        received.clear();
    }

    @AfterAll
    static void stopIssuer() {
        issuer.stop(0);
    }

    private static double gauge(Meters meter, String name) {
        return gateway.bean(MeterRegistry.class)
                .get(meter.definition().meterName())
                .tag("issuer", name)
                .gauge()
                .value();
    }

    private static String bearer(String token) {
        return "Authorization: Bearer " + token;
    }

    private static String alice() {
        return bearer(TestIssuer.token(TestIssuer.FIRST, Instant.now()));
    }

    @Door.Both
    void passesTheVerifiedIdentityOn(Door door) throws Exception {
        assertThat(get(
                                door,
                                "protected",
                                "1",
                                alice(),
                                "X-Identity: mallory",
                                "x_identity: mallory",
                                "X_IDENTITY: root")
                        .status())
                .isEqualTo(200);

        TestBackend.Request seen = received.take();
        assertThat(seen.head()
                        .lines()
                        .filter(line -> line.toLowerCase(Locale.ROOT).matches("x.identity:.*")))
                .singleElement()
                .asString()
                .isEqualToIgnoringCase("x-identity: alice");
        assertThat(seen.header("authorization")).startsWith("Bearer ");
        assertThat(gateway.logged(door.path("protected", "1")).path("identity").asString())
                .isEqualTo("alice");
    }

    @Door.Any
    void writesTheIdentityAfterTheFilters(Door door) throws Exception {
        assertThat(get(door, "filtered", "1", alice()).status()).isEqualTo(200);
        assertThat(received.take().header("x-identity")).isEqualTo("alice");
    }

    @Door.Both
    void removesForgedIdentitiesOnRoutesWithoutAuthentication(Door door) throws Exception {
        assertThat(get(door, "open", "1", "X-Identity: mallory", "X_Identity: mallory", "Connection: X-Identity")
                        .status())
                .isEqualTo(200);
        assertThat(received.take().head()).doesNotContainIgnoringCase("mallory");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(
                    TestCaller.head("POST", door.path("open", "2"), "Transfer-Encoding: chunked", "Trailer: X-Identity")
                            + "1\r\na\r\n0\r\nX_Identity: mallory\r\nX-Sum: 1\r\n\r\n");
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(200);
            assertThat(answer.text()).as("trailers at the backend").isEqualToIgnoringCase("X-Sum: 1");
        }
        assertThat(received.take().head()).doesNotContainIgnoringCase("mallory");
    }

    @Door.Any
    void refusesRequestsWithoutAValidToken(Door door) throws IOException {
        TestCaller.Answer missing = get(door, "protected", "2", "X-Identity: mallory");
        TestCaller.Answer forged =
                get(door, "protected", "3", bearer(TestIssuer.signedWithPublicKeyAsSecret(Instant.now())));
        TestCaller.Answer expired = get(
                door,
                "protected",
                "4",
                bearer(TestIssuer.token(TestIssuer.FIRST, Instant.now().minus(Duration.ofHours(2)))));

        assertRefused(gateway, door, "protected", door.path("protected", "2"), missing, Reason.UNAUTHORIZED);
        assertThat(missing.header("www-authenticate")).isEqualTo("Bearer");
        assertRefused(gateway, door, "protected", door.path("protected", "3"), forged, Reason.UNAUTHORIZED);
        assertThat(forged.header("www-authenticate")).startsWith("Bearer error=\"invalid_token\"");
        assertRefused(gateway, door, "protected", door.path("protected", "4"), expired, Reason.UNAUTHORIZED);
        assertThat(expired.header("www-authenticate")).contains("Jwt expired at");
        assertThat(received).isEmpty();
    }

    @Door.Any
    void refusesTokensWithoutTheScope(Door door) throws Exception {
        TestCaller.Answer refused = get(door, "scoped", "1", alice());
        String reader = bearer(TestIssuer.token(
                TestIssuer.FIRST, Instant.now(), claims -> claims.claim("scope", "openid orders.read")));

        assertRefused(gateway, door, "scoped", door.path("scoped", "1"), refused, Reason.FORBIDDEN);
        assertThat(refused.header("www-authenticate"))
                .isEqualTo("Bearer error=\"insufficient_scope\", scope=\"orders.read\"");
        assertThat(get(door, "scoped", "2", reader).status()).isEqualTo(200);
        received.take();
    }

    @Door.Any
    void givesEachCallerAQuotaByAClaimOfItsToken(Door door) throws Exception {
        String bob = bearer(TestIssuer.token(TestIssuer.FIRST, Instant.now(), claims -> claims.subject("bob")));

        assertThat(get(door, "quota", "1").status()).as("uses no quota").isEqualTo(401);
        assertThat(get(door, "quota", "2", alice()).header("ratelimit")).startsWith("\"default\";r=0;");
        TestCaller.Answer refused = get(door, "quota", "3", alice());
        assertThat(get(door, "quota", "4", bob).status()).isEqualTo(200);

        assertRefused(gateway, door, "quota", door.path("quota", "3"), refused, Reason.RATE_LIMITED);
    }

    @Door.Any
    void refusesBeforeTheBodyIsSent(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path("protected", "5"), "Content-Length: 1000"));
            assertRefused(caller.answer(), Reason.UNAUTHORIZED);
        }
    }

    @Door.Any
    void checksHandshakes(Door door) throws Exception {
        try (TestCaller caller = TestCaller.to(gateway.port());
                TestCaller allowed = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path("protected", "6"));
            assertRefused(caller.answer(), Reason.UNAUTHORIZED);

            TestWebSocket socket = TestWebSocket.open(allowed, door.path("protected", "7"), alice());
            socket.close(1000, "bye");
            assertThat(socket.next()).isEqualTo("close 1000 bye");
            assertThat(received.take().header("x-identity")).isEqualTo("alice");
        }
    }

    @Door.Any
    void answersGrpcCallersWithTheirStatus(Door door) {
        assertThat(grpc(door, "protected", null).get("grpc-status")).isEqualTo("16");
        assertThat(grpc(door, "protected", null).get("grpc-message")).isEqualTo("unauthorized");
        String token = TestIssuer.token(TestIssuer.FIRST, Instant.now());
        assertThat(grpc(door, "scoped", token).get("grpc-status")).isEqualTo("7");
    }

    private static HttpHeaders grpc(Door door, String route, @Nullable String token) {
        return Objects.requireNonNull(HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .baseUrl("http://127.0.0.1:" + gateway.port())
                .headers(head -> {
                    head.set("content-type", "application/grpc").set("te", "trailers");
                    if (token != null) {
                        head.set("authorization", "Bearer " + token);
                    }
                })
                .get()
                .uri(door.path(route, "8"))
                .responseSingle((response, body) -> body.then().thenReturn(response.responseHeaders()))
                .block(PATIENCE));
    }

    @Door.Any
    void refusesWithoutBlameIfNoKeyWasEverKnown(Door door) throws IOException {
        String token = bearer(
                TestIssuer.token(TestIssuer.FIRST, Instant.now(), claims -> claims.issuer("https://silent.example")));

        TestCaller.Answer refused = get(door, "silent", "1", token);

        assertRefused(gateway, door, "silent", door.path("silent", "1"), refused, Reason.UNAUTHORIZED);
        assertThat(refused.header("www-authenticate")).isEqualTo("Bearer");
        assertThat(gauge(GatewayMeter.ISSUER_FAILING, "silent")).isPositive();
    }

    @Door.Any
    @Order(Integer.MAX_VALUE - 1)
    void keepsTheKeysInAReloadWhileTheIssuerIsDown(Door door) throws IOException {
        String before = Files.readString(gateway.file());
        keys = null;

        reload(before.replace("audiences: [weir]", "audiences: [weir, more], refresh-interval: 1m"));
        assertThat(get(door, "protected", "9", alice()).status()).isEqualTo(200);
        reload(before.replace("authentication: { issuers: [corp] }", "mode: request"));
        assertThat(get(door, "protected", "10").status()).isEqualTo(200);
        reload(before);

        assertThat(get(door, "protected", "11").status()).isEqualTo(401);
        assertThat(get(door, "protected", "12", alice()).status()).isEqualTo(200);
        keys = TestIssuer.document(TestIssuer.FIRST);
    }

    private static void reload(String yaml) {
        gateway.rewrite(yaml);
        ConfigurationChange change = gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
        assertThat(change.problems()).isEmpty();
    }

    /** The last one: it changes the issuer's keys. */
    @Door.Any
    @Order(Integer.MAX_VALUE)
    void letsATokenOfANewKeyWaitForTheKeysOnce(Door door) throws Exception {
        keys = TestIssuer.document(TestIssuer.FIRST, TestIssuer.SECOND);
        String token = bearer(TestIssuer.token(TestIssuer.SECOND, Instant.now()));
        String invented = bearer(TestIssuer.token(
                new RSAKey.Builder(TestIssuer.SECOND).keyID("invented").build(), Instant.now()));

        await().untilAsserted(() ->
                assertThat(get(door, "protected", "13", token).status()).isEqualTo(200));
        int before = fetches.get();
        long begun = System.nanoTime();
        for (int i = 0; i < 50; i++) {
            assertThat(get(door, "protected", "14", invented).status()).isEqualTo(401);
        }
        long seconds = Duration.ofNanos(System.nanoTime() - begun).toSeconds();

        assertThat(fetches.get() - before).isLessThanOrEqualTo((int) seconds + 2);
        assertThat(get(door, "protected", "15", token).status()).isEqualTo(200);
    }
}
