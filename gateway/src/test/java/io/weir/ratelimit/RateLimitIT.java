package io.weir.ratelimit;

import static io.weir.testing.Patience.PATIENCE;
import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.metrics.BackendMeter;
import io.weir.metrics.RouteMeter;
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
import java.nio.file.Files;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;

/** Rate limits of routes: both doors, HTTP/1.1, HTTP/2, gRPC and WebSocket. */
@ExtendWith(Leaks.class)
class RateLimitIT extends OneBackendTests {

    private static final AtomicInteger received = new AtomicInteger();

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) -> {
            received.incrementAndGet();
            if (request.header("upgrade") != null) {
                // The caller ends the connection.
                TestWebSocket.accept(request, conversation).next();
            } else {
                conversation.write("HTTP/1.1 200 OK\r\nRateLimit: \"daily\";r=7\r\nContent-Length: 2\r\n\r\nok");
            }
        });
        gateway = TestGateway.setup()
                .weir("edge: { trusted-proxies: [127.0.0.1] }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("address", "orders", "rate-limit: { permits: 3, period: 1h, burst: 2 }")
                .route("key", "orders", "rate-limit: { key: \"header:X-Api-Key\", permits: 1, period: 1h }")
                .route("h2", "orders", "rate-limit: { key: route, permits: 1, period: 1h }")
                .route("grpc", "orders", "rate-limit: { key: route, permits: 1, period: 1h }")
                .route("upload", "orders", "rate-limit: { key: route, permits: 1, period: 1h }")
                .route("socket", "orders", "rate-limit: { key: route, permits: 1, period: 1h }")
                .route("stays", "orders", "rate-limit: { key: route, permits: 1, period: 1h }")
                .route("changes", "orders", "rate-limit: { key: route, permits: 1, period: 2h }")
                .route(
                        "instead",
                        "orders",
                        "rate-limit: { key: route, permits: 1, period: 1h }",
                        "fallback: { status: 203, body: instead, reasons: [rate-limited] }")
                .route("tried", "orders", "rate-limit: { key: route, permits: 1, period: 1h, enforce: false }")
                .route("open", "orders")
                .start();
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
    }

    @Door.Both
    void refusesAnAddressOverItsQuotaAndNoOther(Door door) throws IOException {
        int before = received.get();

        TestCaller.Answer first = get(door, "address", "1", "X-Forwarded-For: 192.0.2.1");
        TestCaller.Answer second = get(door, "address", "2", "X-Forwarded-For: 192.0.2.1");
        TestCaller.Answer refused = get(door, "address", "3", "X-Forwarded-For: 192.0.2.1");
        TestCaller.Answer other = get(door, "address", "4", "X-Forwarded-For: 192.0.2.2");
        // The address that the trusted proxy has added counts, not the one that the caller claims.
        TestCaller.Answer disguised = get(door, "address", "5", "X-Forwarded-For: 198.51.100.9, 192.0.2.1");

        assertThat(first.status()).isEqualTo(200);
        assertThat(first.header("ratelimit-policy")).isEqualTo("\"default\";q=3;w=3600");
        assertThat(first.header("ratelimit")).isEqualTo("\"daily\";r=7, \"default\";r=1;t=1200");
        assertThat(second.header("ratelimit")).matches("\"daily\";r=7, \"default\";r=0;t=1[12]\\d\\d");
        assertThat(other.status()).isEqualTo(200);
        assertRefused(gateway, door, "address", door.path("address", "3"), refused, Reason.RATE_LIMITED);
        assertRefused(gateway, door, "address", door.path("address", "5"), disguised, Reason.RATE_LIMITED);
        assertThat(refused.header("ratelimit-policy")).isEqualTo("\"default\";q=3;w=3600");
        assertThat(refused.header("ratelimit")).matches("\"default\";r=0;t=1[12]\\d\\d");
        int nextPermit = Integer.parseInt(
                Objects.requireNonNull(refused.header("ratelimit")).replaceAll(".*t=", ""));
        assertThat(Integer.parseInt(Objects.requireNonNull(refused.header("retry-after"))))
                .isBetween(nextPermit, nextPermit + 15);
        assertThat(received.get() - before).isEqualTo(3);
        assertThat(gateway.bean(MeterRegistry.class)
                        .get(RouteMeter.RATE_LIMIT_KEYS.definition().meterName())
                        .tag("route", door.id("address"))
                        .gauge()
                        .value())
                .isEqualTo(2);
    }

    @Door.Any
    void countsEachValueOfAHeaderField(Door door) throws IOException {
        assertThat(get(door, "key", "1", "X-Api-Key: a").status()).isEqualTo(200);
        assertThat(get(door, "key", "2", "X-Api-Key: a").status()).isEqualTo(429);
        assertThat(get(door, "key", "3", "X-Api-Key: b").status()).isEqualTo(200);
        assertThat(get(door, "key", "4").status()).isEqualTo(200);
        assertThat(get(door, "key", "5").status()).isEqualTo(429);
        assertThat(get(door, "key", "6", "X-Api-Key: c", "X-Api-Key: d").status())
                .isEqualTo(429);
    }

    @Door.Any
    void limitsHttp2(Door door) {
        HttpClient caller =
                HttpClient.create().protocol(HttpProtocol.H2C).baseUrl("http://127.0.0.1:" + gateway.port());

        HttpHeaders served = head(caller, door.path("h2", "1"));
        HttpHeaders refused = head(caller, door.path("h2", "2"));

        assertThat(served.get(":status", "200")).isEqualTo("200");
        assertThat(served.getAll("ratelimit")).containsExactly("\"daily\";r=7", "\"default\";r=0;t=3600");
        assertThat(refused.get("content-type")).isEqualTo("application/problem+json");
        assertThat(refused.get("proxy-status")).isEqualTo("weir; error=http_request_denied; details=\"rate-limited\"");
        assertThat(refused.get("ratelimit")).startsWith("\"default\";r=0;t=3");
        gateway.assertTold(door, "h2", door.path("h2", "2"), 429, "rate-limited");
    }

    @Door.Any
    void answersGrpcCallersWithResourceExhausted(Door door) {
        HttpClient caller = HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .baseUrl("http://127.0.0.1:" + gateway.port())
                .headers(head -> head.set("content-type", "application/grpc").set("te", "trailers"));
        head(caller, door.path("grpc", "1"));

        HttpHeaders refused = head(caller, door.path("grpc", "2"));

        assertThat(refused.get("grpc-status")).isEqualTo("8");
        assertThat(refused.get("grpc-message")).isEqualTo("rate-limited");
        assertThat(refused.get("ratelimit")).startsWith("\"default\";r=0;t=3");
        assertThat(refused.get("retry-after")).isNotNull();
    }

    private static HttpHeaders head(HttpClient caller, String path) {
        return Objects.requireNonNull(caller.get()
                .uri(path)
                .responseSingle((response, body) -> body.then().thenReturn(response.responseHeaders()))
                .block(PATIENCE));
    }

    @Door.Any
    void refusesBeforeTheBodyIsSent(Door door) throws IOException {
        get(door, "upload", "1");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path("upload", "2"), "Content-Length: 1000"));
            assertRefused(caller.answer(), Reason.RATE_LIMITED);
        }
    }

    @Door.Any
    void countsAHandshakeOnce(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port());
                TestCaller late = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path("socket", "1"));
            TestCaller.Answer opened = caller.answer();
            assertThat(opened.status()).isEqualTo(101);
            assertThat(opened.header("ratelimit")).isEqualTo("\"default\";r=0;t=3600");

            TestWebSocket.ask(late, door.path("socket", "2"));
            assertRefused(late.answer(), Reason.RATE_LIMITED);
        }
    }

    @Door.Any
    void letsAFallbackReplaceTheRefusalIfItsReasonsSaySo(Door door) throws IOException {
        get(door, "instead", "1");
        TestCaller.Answer answer = get(door, "instead", "2");

        assertThat(answer.status()).isEqualTo(203);
        assertThat(answer.text()).isEqualTo("instead");
        assertThat(answer.header("ratelimit")).startsWith("\"default\";r=0;t=3");
    }

    @Door.Any
    void onlyCountsIfItIsNotEnforced(Door door) throws IOException {
        double before = wouldRefuse();
        TestCaller.Answer first = get(door, "tried", "1");
        TestCaller.Answer second = get(door, "tried", "2");

        assertThat(first.status()).isEqualTo(200);
        assertThat(second.status()).isEqualTo(200);
        assertThat(second.header("ratelimit")).isEqualTo("\"daily\";r=7");
        assertThat(second.header("ratelimit-policy")).isNull();
        assertThat(wouldRefuse() - before).isEqualTo(1);
    }

    private static double wouldRefuse() {
        return gateway
                .bean(MeterRegistry.class)
                .find(BackendMeter.WOULD_REFUSE.definition().meterName())
                .tag("reason", "rate-limited")
                .counters()
                .stream()
                .mapToDouble(Counter::count)
                .sum();
    }

    @Door.Any
    void tellsNothingOnARouteWithoutALimit(Door door) throws IOException {
        TestCaller.Answer answer = get(door, "open", "1");
        assertThat(answer.header("ratelimit")).isEqualTo("\"daily\";r=7");
        assertThat(answer.header("ratelimit-policy")).isNull();
    }

    @Door.Any
    void keepsTheStateOfUnchangedLimitsInAReload(Door door) throws IOException {
        String before = Files.readString(gateway.file());
        get(door, "stays", "1");
        get(door, "changes", "1");
        assertThat(get(door, "changes", "2").status()).isEqualTo(429);

        reload(before.replace("permits: 1, period: 2h", "permits: 2, period: 2h"));
        assertThat(get(door, "stays", "2").status()).isEqualTo(429);
        assertThat(get(door, "changes", "3").header("ratelimit-policy")).isEqualTo("\"default\";q=2;w=7200");

        reload(before.replace("rate-limit: { key: route, permits: 1, period: 2h }", "mode: request"));
        assertThat(get(door, "stays", "3").status()).isEqualTo(429);
        for (int i = 0; i < 5; i++) {
            assertThat(get(door, "changes", "4" + i).status()).isEqualTo(200);
        }
        assertThat(gateway.bean(MeterRegistry.class)
                        .find(RouteMeter.RATE_LIMIT_KEYS.definition().meterName())
                        .tag("route", door.id("changes"))
                        .gauge())
                .isNull();
        reload(before);
    }

    private static void reload(String yaml) {
        gateway.rewrite(yaml);
        ConfigurationChange change = gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
        assertThat(change.problems()).isEmpty();
    }
}
