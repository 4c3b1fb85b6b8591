package io.weir.config;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.weir.authentication.TestIssuer;
import io.weir.lastgood.LastGoodStore;
import io.weir.outcome.Reason;
import io.weir.testing.FreePort;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import io.weir.testing.TestTls;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/** Each recipe starts as it stands, with the addresses of test backends, and does what its text says. */
@Tag("full")
class RecipesIT {

    private static final Path PAGE = Path.of("../config/recipes.md");
    private static final Pattern RECIPE = Pattern.compile("(?ms)^## ([^\\n]+)$(?:(?!^## ).)*?^```yaml\\n(.*?)^```$");
    private static final Pattern ADDRESS = Pattern.compile("http://([A-Za-z0-9.-]+):(\\d+)");
    /** The port of the backends that speak gRPC. */
    private static final String GRPC = "50051";

    private static final int MANY = 400;

    /** What a recipe does; its gateway runs. */
    private interface Check {

        void run(RecipesIT test) throws Exception;
    }

    private static final Map<String, Check> CHECKS = Map.ofEntries(
            Map.entry("One service", test -> test.isAnswered("/any")),
            Map.entry("Several instances with health checks", RecipesIT::severalInstances),
            Map.entry("Canary", RecipesIT::canary),
            Map.entry("WebSockets and server-sent events", RecipesIT::streams),
            Map.entry("gRPC", RecipesIT::grpc),
            Map.entry("Large files", RecipesIT::largeFiles),
            Map.entry("Answers while the backend is down", RecipesIT::answersWhileDown),
            Map.entry("Maintenance", RecipesIT::maintenance),
            Map.entry(
                    "Rate limit per user", test -> test.quotaOfEach("/api/1", "X-Api-Key: first", "X-Api-Key: other")),
            Map.entry(
                    "Behind a load balancer",
                    test -> test.quotaOfEach("/1", "X-Forwarded-For: 203.0.113.1", "X-Forwarded-For: 203.0.113.2")),
            Map.entry("An API for tokens of an identity provider", RecipesIT::tokens),
            Map.entry("Authorization by another service", RecipesIT::authorization),
            Map.entry("TLS", RecipesIT::tls),
            Map.entry("Helm, with TLS from a secret", RecipesIT::tls));

    private final Map<String, TestBackend> backends = new LinkedHashMap<>();
    /** The targets that each backend has got. */
    private final Map<String, Set<String>> targets = new ConcurrentHashMap<>();

    /** What the gRPC server was asked. */
    private final Set<String> called = ConcurrentHashMap.newKeySet();

    private final Sinks.One<Boolean> isWatched = Sinks.one();
    private final TestServer grpcServer =
            TestServer.start(HttpServer.create().protocol(HttpProtocol.H2C).handle(this::serveGrpc));

    private final int redirectPort = FreePort.next();

    @TempDir
    private Path certificates;

    @SuppressWarnings("NullAway.Init") // Set by the test.
    private TestGateway gateway;

    private static Map<String, String> recipes() throws IOException {
        Map<String, String> recipes = new LinkedHashMap<>();
        Matcher matcher = RECIPE.matcher(Files.readString(PAGE));
        while (matcher.find()) {
            recipes.put(matcher.group(1), matcher.group(2));
        }
        return recipes;
    }

    private static Stream<String> names() throws IOException {
        return recipes().keySet().stream();
    }

    @AfterEach
    void stop() {
        if (gateway != null) {
            gateway.close();
        }
        backends.values().forEach(TestBackend::close);
        grpcServer.close();
    }

    @Test
    void eachRecipeIsCheckedAndInTheContents() throws IOException {
        assertThat(recipes().keySet()).containsExactlyInAnyOrderElementsOf(CHECKS.keySet());
        String page = Files.readString(PAGE);
        assertThat(recipes().keySet())
                .allSatisfy(name -> assertThat(page)
                        .contains("](#"
                                + name.toLowerCase(Locale.ROOT).replace(",", "").replace(' ', '-') + ")"));
    }

    @ParameterizedTest
    @MethodSource("names")
    void worksAsItStands(String name) throws Exception {
        String yaml = ADDRESS.matcher(recipes().get(name))
                .replaceAll(found -> found.group(2).equals(GRPC)
                        ? "http://127.0.0.1:" + grpcServer.port()
                        : backend(found.group(1)).uri())
                .replace("/etc/weir-tls", TestTls.write(certificates).toString())
                .replaceFirst("redirect-port: \\d+", "redirect-port: " + redirectPort)
                .replace(" 0.0.0.0", " 127.0.0.1");
        gateway = TestGateway.start(yaml);

        Objects.requireNonNull(CHECKS.get(name)).run(this);
    }

    private TestBackend backend(String host) {
        return backends.computeIfAbsent(
                host, any -> host.equals("id") ? identityProvider() : TestBackend.start(recording(host)));
    }

    private TestBackend.Behaviour recording(String host) {
        Set<String> seen = targets.computeIfAbsent(host, any -> ConcurrentHashMap.newKeySet());
        return (request, conversation) -> {
            seen.add(request.target());
            TestBackend.ECHO.serve(request, conversation);
        };
    }

    private static TestBackend identityProvider() {
        TestBackend provider = TestBackend.healthy();
        provider.behave((request, conversation) -> conversation.answer(
                200,
                request.target().equals("/keys")
                        ? TestIssuer.document(TestIssuer.FIRST)
                        : "{\"issuer\":\"" + provider.uri() + "\",\"jwks_uri\":\"" + provider.uri() + "/keys\"}"));
        return provider;
    }

    private Set<String> seenBy(String host) {
        return Objects.requireNonNull(targets.get(host));
    }

    private TestCaller.Answer get(String target, String... fields) throws IOException {
        return TestCaller.get(gateway.port(), target, fields);
    }

    private void isAnswered(String target, String... fields) throws IOException {
        TestCaller.Answer answer = get(target, fields);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }

    // ---------------------------------------------------------------- the recipes

    private void severalInstances() throws IOException {
        await().atMost(TestGateway.PATIENCE)
                .until(() -> targets.values().stream().allMatch(seen -> seen.contains("/health")));
        for (int i = 0; i < 20; i++) {
            isAnswered("/orders/" + i);
        }
        assertThat(seenBy("10.0.0.1")).hasSizeGreaterThan(1);
        assertThat(seenBy("10.0.0.2")).hasSizeGreaterThan(1);
        assertThat(seenBy("10.0.9.1")).containsExactly("/health");
    }

    private void canary() throws IOException {
        for (int i = 0; i < MANY; i++) {
            isAnswered("/" + i);
        }
        // None of 400 calls would take the next version once in a thousand million runs.
        assertThat(seenBy("shop-next")).isNotEmpty();
        assertThat(seenBy("shop")).hasSizeGreaterThan(seenBy("shop-next").size());
        for (int i = 0; i < 20; i++) {
            isAnswered("/sticky/" + i, "Cookie: SESSION=alice");
        }
        assertThat(targets.values().stream()
                        .map(seen -> seen.stream()
                                .filter(target -> target.startsWith("/sticky/"))
                                .count())
                        .collect(Collectors.toSet()))
                .containsExactlyInAnyOrder(0L, 20L);
    }

    private void streams() throws IOException {
        CountDownLatch isRead = new CountDownLatch(1);
        backend("feed").behave((request, conversation) -> {
            if (request.target().endsWith("socket")) {
                TestWebSocket.accept(request, conversation).send("hello");
                isRead.await();
                return;
            }
            conversation.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "7\r\ndata: 1\r\n");
            isRead.await();
            conversation.write("0\r\n\r\n");
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", "/feed/events"));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("data: 1");
            try (TestCaller other = TestCaller.to(gateway.port())) {
                assertThat(TestWebSocket.open(other, "/feed/socket").next()).isEqualTo("text 5");
            }
            isRead.countDown();
            assertThat(caller.chunk()).isEmpty();
        }
    }

    /** Answers one message; a watch ends later. */
    private Publisher<Void> serveGrpc(HttpServerRequest request, HttpServerResponse response) {
        called.add(request.uri());
        Flux<ByteBuf> message = Flux.just(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 0, 2, 8, 1}));
        boolean watches = request.uri().endsWith("/Watch");
        return response.header("content-type", "application/grpc")
                .header("trailer", "grpc-status")
                .trailerHeaders(trailers -> trailers.set("grpc-status", "0"))
                .send(watches ? message.concatWith(isWatched.asMono().then(Mono.empty())) : message, any -> true);
    }

    private void grpc() {
        await().atMost(TestGateway.PATIENCE).until(() -> called.contains("/grpc.health.v1.Health/Check"));
        HttpClient caller = HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .baseUrl("http://127.0.0.1:" + gateway.port())
                .headers(head -> head.set("content-type", "application/grpc").set("te", "trailers"));
        Mono<String> watch = trailingStatus(caller, "/shop.Orders/Watch").cache();
        Disposable watching = watch.subscribe();
        await().atMost(TestGateway.PATIENCE)
                .until(() -> gateway.backend("shop").streams().inUse() == 1);
        assertThat(gateway.backend("shop").bulkhead().inUse()).isZero();

        assertThat(trailingStatus(caller, "/shop.Orders/Place").block(TestGateway.PATIENCE))
                .isEqualTo("0");

        isWatched.tryEmitValue(true).orThrow();
        assertThat(watch.block(TestGateway.PATIENCE)).isEqualTo("0");
        watching.dispose();
        assertThat(called).contains("/shop.Orders/Place", "/shop.Orders/Watch");
    }

    private static Mono<String> trailingStatus(HttpClient caller, String path) {
        return caller.post()
                .uri(path)
                .send(Flux.just(Unpooled.wrappedBuffer(new byte[5])))
                .response((answer, body) -> body.then(answer.trailerHeaders()))
                .map(trailers -> trailers.get("grpc-status"))
                .single();
    }

    private void authorization() throws Exception {
        backend("auth")
                .behave((request, conversation) -> conversation.write(
                        request.target().equals("/check") && "Basic good".equals(request.header("Authorization"))
                                ? "HTTP/1.1 204 No Content\r\nX-User: alice\r\n\r\n"
                                : "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"));
        backend("api").behave(TestBackend.ECHO);

        TestCaller.Answer denied = get("/api/1", "X-User: mallory");
        assertThat(denied.status()).isEqualTo(401);
        assertThat(denied.header("www-authenticate")).isEqualTo("Basic");

        isAnswered("/api/2", "Authorization: Basic good", "X-User: mallory");
        assertThat(backend("api").next().header("x-user")).isEqualTo("alice");
        assertThat(backend("api").requests()).isEqualTo(1);
    }

    private void tls() throws IOException {
        for (String protocol : List.of("http/1.1", "h2")) {
            TestTls.connect(gateway.port(), protocol).close();
        }
        try (TestCaller caller = TestCaller.over(TestTls.connect(gateway.port(), "http/1.1"))) {
            assertThat(caller.request("GET", "/secure").status()).isEqualTo(200);
        }

        TestCaller.Answer redirect = TestCaller.get(redirectPort, "/plain");

        assertThat(redirect.status()).isEqualTo(308);
        assertThat(redirect.header("location")).startsWith("https://").endsWith("/plain");
        assertThat(seenBy("app")).containsExactly("/secure");
    }

    private void largeFiles() throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", "/files/up", "Content-Length: 1000000"));
            caller.send(new byte[1_000_000]);
            assertThat(caller.answer().status()).isEqualTo(200);
        }
        isAnswered("/files/down");
        assertThat(gateway.logged("/files/up").path("backend").asString()).isEqualTo("uploads");
        assertThat(gateway.logged("/files/down").path("backend").asString()).isEqualTo("files");
    }

    private void answersWhileDown() throws IOException {
        isAnswered("/catalog/known");
        await().atMost(TestGateway.PATIENCE)
                .until(() -> gateway.bean(LastGoodStore.class).entries() == 1);
        backend("catalog").behave((request, conversation) -> conversation.reset());

        TestCaller.Answer known = get("/catalog/known");
        assertThat(known.status()).isEqualTo(200);
        assertThat(known.header("cache-status")).contains("fwd=stale");
        assertThat(get("/catalog/unknown").text()).isEqualTo("[]");
        assertThat(get("/nowhere", "Accept: text/html").text()).contains("<title>404</title>");
    }

    private void maintenance() throws IOException {
        TestCaller.Answer answer = get("/any");

        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.header("retry-after")).isEqualTo("3600");
        assertThat(answer.text()).contains("We are back at six");
        assertThat(seenBy("shop")).isEmpty();
    }

    /** One caller uses up its quota, and the other one has its own. */
    private void quotaOfEach(String target, String first, String other) throws IOException {
        TestCaller.Answer refused = null;
        for (int i = 0; i < 2 * MANY && refused == null; i++) {
            TestCaller.Answer answer = get(target, first);
            refused = answer.status() == 200 ? null : answer;
        }
        assertThat(refused).as("a request over the quota").isNotNull();
        assertRefused(refused, Reason.RATE_LIMITED);
        isAnswered(target, other);
    }

    private void tokens() throws Exception {
        String issuer = backend("id").uri();
        backend("api").behave(TestBackend.ECHO);
        assertRefused(get("/api/1"), Reason.UNAUTHORIZED);

        String token = TestIssuer.token(
                TestIssuer.FIRST,
                Instant.now(),
                claims -> claims.issuer(issuer).audience(List.of("api")).claim("scope", "read"));
        // On a busy machine, the first fetch of the keys may take too long.
        await().atMost(TestGateway.PATIENCE)
                .until(() -> get("/api/2", "Authorization: Bearer " + token, "X-User: mallory")
                                .status()
                        == 200);

        assertThat(backend("api").next().header("x-user")).isEqualTo("alice");
    }
}
