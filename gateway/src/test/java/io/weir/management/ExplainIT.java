package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code weirexplain} and {@code weir explain} tell what the gateway does with a request. */
class ExplainIT {

    private static final String TOKEN = "0123456789abcdef0123";
    private static final String READ_ONLY_TOKEN = "read-only-0123456789";
    private static final String AUTHORIZATION = "Authorization: Bearer " + READ_ONLY_TOKEN;

    private static TestBackend backend;
    private static TestGateway gateway;

    private record Result(int exitCode, String out) {}

    @TempDir
    private Path directory;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.start("""
                weir:
                  management: { token: %s, read-only-token: %s }
                  backends: { orders: { uri: "%s", deadline: 10s } }
                  routes:
                    limited:
                      access: { deny: [ 10.0.0.0/8 ] }
                      rate-limit: { key: client-address, permits: 1, burst: 1, period: 1d }
                      max-concurrent-calls: 5
                    received: { preserve-path: true }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: host, uri: "backend://orders", predicates: ["Path=/host/**", "Host=shop.example"] }
                  - { id: g-host, uri: "backend://orders", predicates: ["Path=/g-host/**", "Host={x}.example", "After=2020-01-01T00:00:00Z"] }
                  - { id: method, uri: "backend://orders", predicates: ["Path=/method/**", "Method=GET,PROPFIND"] }
                  - { id: g-method, uri: "backend://orders", predicates: ["Path=/g-method/**", "Method=GET,PUT", "After=2020-01-01T00:00:00Z"] }
                  - { id: header, uri: "backend://orders", predicates: ["Path=/header/**", "Header=X-A, \\\\d+"] }
                  - { id: g-header, uri: "backend://orders", predicates: ["Path=/g-header/**", "Header=X-A, \\\\d+", "After=2020-01-01T00:00:00Z"] }
                  - { id: query, uri: "backend://orders", predicates: ["Path=/query/**", "Query=q, ba."] }
                  - { id: g-query, uri: "backend://orders", predicates: ["Path=/g-query/**", "Query=q, ba.", "After=2020-01-01T00:00:00Z"] }
                  - { id: cookie, uri: "backend://orders", predicates: ["Path=/cookie/**", "Cookie=c, x"] }
                  - { id: after, uri: "backend://orders", predicates: ["Path=/after/**", "After=2999-01-01T00:00:00Z"] }
                  - { id: before, uri: "backend://orders", predicates: ["Path=/before/**", "Before=2020-01-01T00:00:00Z"] }
                  - { id: never, uri: "backend://orders", predicates: ["Path=/weight/**", "Weight=group, 0"] }
                  - { id: always, uri: "backend://orders", predicates: ["Path=/weight/**", "Weight=group, 1"] }
                  - { id: remote, uri: "backend://orders", predicates: ["Path=/remote/**", "RemoteAddr=127.0.0.0/8"] }
                  - { id: limited, uri: "backend://orders", predicates: ["Path=/limited/**"] }
                  - { id: received, uri: "backend://orders", predicates: ["Path=/received/**"] }
                """.formatted(TOKEN, READ_ONLY_TOKEN, backend.uri()));
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    private static String query(String method, String url, String... fields) {
        StringBuilder query = new StringBuilder(
                "/actuator/weirexplain?method=" + method + "&url=" + URLEncoder.encode(url, StandardCharsets.UTF_8));
        for (String field : fields) {
            query.append("&header=").append(URLEncoder.encode(field, StandardCharsets.UTF_8));
        }
        return query.toString();
    }

    private static JsonNode explained(String method, String url, String... fields) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.managementPort(), query(method, url, fields), AUTHORIZATION);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return JsonMapper.shared().readTree(answer.text());
    }

    private Result weir(String token, String... arguments) throws Exception {
        Path program = directory.resolve("bin/weir");
        Files.createDirectories(program.getParent());
        Files.createDirectories(directory.resolve("lib"));
        Files.copy(Path.of("..", "ops", "release", "weir"), program);
        Files.copy(Path.of("..", "ops", "jdks.sh"), directory.resolve("lib/jdks.sh"));
        List<String> command = new ArrayList<>(List.of("bash", program.toString()));
        command.addAll(List.of(arguments));
        Path out = directory.resolve("out");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment()
                .putAll(Map.of(
                        "WEIR_MANAGEMENT_URL",
                        "http://127.0.0.1:" + gateway.managementPort(),
                        "WEIR_MANAGEMENT_TOKEN",
                        token));
        Process process = builder.start();
        try {
            return new Result(process.waitFor(), Files.readString(out));
        } finally {
            process.destroyForcibly();
        }
    }

    /** The explanation, and the gateway's answer to the request itself. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            quoteCharacter = '"',
            value = {
                "GET | /host/1 | Host: shop.example | host | -",
                "GET | /host/1 | Host: other.test | host | Host=shop.example",
                "GET | /g-host/1 | Host: shop.example | g-host | -",
                "GET | /g-host/1 | Host: a.shop.example | g-host | Host={x}.example",
                "GET | /method/1 | - | method | -",
                "PROPFIND | /method/1 | - | method | -",
                "PUT | /method/1 | - | method | Method=GET,PROPFIND",
                "GET | /g-method/1 | - | g-method | -",
                "DELETE | /g-method/1 | - | g-method | Method=GET,PUT",
                "GET | /header/1 | X-A: 12 | header | -",
                "GET | /header/1 | X-A: 12x | header | Header=X-A,\\d+",
                "GET | /g-header/1 | X-A: y, 12 | g-header | -",
                "GET | /g-header/1 | - | g-header | Header=X-A,\\d+",
                "GET | /query/1?q=b%61r | - | query | -",
                "GET | /query/1?q=ba | - | query | Query=q,ba.",
                "GET | /g-query/1?a&q=baz | - | g-query | -",
                "GET | /g-query/1 | - | g-query | Query=q,ba.",
                "GET | /cookie/1 | Cookie: a=b; c=x | cookie | -",
                "GET | /cookie/1 | Cookie: c=y | cookie | Cookie=c,x",
                "GET | /after/1 | - | after | After=2999-01-01T00:00:00Z",
                "GET | /before/1 | - | before | Before=2020-01-01T00:00:00Z",
                "GET | /weight/1 | - | always | -",
                "GET | /x/..//host/%31 | Host: shop.example | host | -",
                "GET | /hosts | Host: shop.example | host | Path=/host/**",
            })
    void tellsWhatTheGatewayDoes(String method, String target, String field, String route, String failed)
            throws Exception {
        JsonNode answer = field == null ? explained(method, target) : explained(method, target, field);

        JsonNode explanation = answer.path("explanation");
        boolean isServed = failed == null;
        assertThat(answer.path("served").asBoolean()).as(answer.toString()).isEqualTo(isServed);
        JsonNode found = isServed
                ? explanation.path("route")
                : explanation.path("routes").path(0);
        assertThat(found.path("id").asString()).as(answer.toString()).isEqualTo(route);
        assertThat(found.path("match").asString()).isEqualTo(isServed ? "YES" : "NO");
        assertThat(found.path("failed").path(0).asString("")).isEqualTo(isServed ? "" : failed);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            String host = field != null && field.startsWith("Host: ") ? field.substring(6) : "localhost";
            String other = field == null || field.startsWith("Host: ") ? "" : field + "\r\n";
            caller.send(method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + other + "\r\n");
            assertThat(caller.answer().status()).isEqualTo(isServed ? 200 : 404);
        }
    }

    @Test
    void tellsOfWeightsAndOfPredicatesThatNeedACaller() throws Exception {
        JsonNode never =
                explained("GET", "/weight/1").path("explanation").path("routes").path(0);
        assertThat(never.path("id").asString()).isEqualTo("never");
        assertThat(never.path("failed").path(0).asString()).isEqualTo("Weight=group,0");

        JsonNode remote = explained("GET", "/remote/1");
        assertThat(remote.path("served").asBoolean()).isFalse();
        JsonNode first = remote.path("explanation").path("routes").path(0);
        assertThat(first.path("id").asString()).isEqualTo("remote");
        assertThat(first.path("notEvaluated").path(0).asString()).isEqualTo("RemoteAddr=127.0.0.0/8");
    }

    @Test
    void takesNoTokenOfARateLimitAndCallsNoBackend() throws Exception {
        int calls = backend.requests();
        for (int i = 0; i < 3; i++) {
            JsonNode explanation = explained("GET", "/limited/1").path("explanation");
            assertThat(explanation.path("route").path("rules").toString())
                    .isEqualTo("[\"access\",\"rate-limit\",\"max-concurrent-calls\"]");
        }
        assertThat(backend.requests()).isEqualTo(calls);
        gateway.assertNothingHeld();

        assertThat(TestCaller.get(gateway.port(), "/limited/1").status()).isEqualTo(200);
        assertThat(TestCaller.get(gateway.port(), "/limited/1").status()).isEqualTo(429);
    }

    @Test
    void tellsThatAPathIsRefused() throws Exception {
        JsonNode ambiguous = explained("GET", "/host/..%2f1");
        assertThat(ambiguous.path("served").asBoolean()).isFalse();
        assertThat(ambiguous.path("explanation").path("refused").asString()).startsWith("bad-request: path: ");
        assertThat(TestCaller.get(gateway.port(), "/host/..%2f1").status()).isEqualTo(400);

        JsonNode received = explained("GET", "/a/../received/1");
        assertThat(received.path("served").asBoolean()).isFalse();
        assertThat(received.path("explanation").path("route").path("id").asString())
                .isEqualTo("received");
        assertThat(received.path("explanation").path("refused").asString()).contains("the path is preserved");
        assertThat(TestCaller.get(gateway.port(), "/a/../received/1").status()).isEqualTo(400);
    }

    @Test
    void requiresATokenAndWellFormedParameters() throws Exception {
        int port = gateway.managementPort();
        assertThat(TestCaller.get(port, query("GET", "/host/1")).status()).isEqualTo(401);
        assertThat(TestCaller.get(port, query("GET", "/host/1"), AUTHORIZATION).status())
                .isEqualTo(200);
        assertThat(TestCaller.get(port, "/actuator/weirexplain?method=GET", AUTHORIZATION)
                        .status())
                .isEqualTo(400);
        for (String query : List.of(
                query("G(T", "/host/1"),
                query("GET", "/", "X-A"),
                query("GET", "/", "X A:1"),
                query("GET", "/", "A:x\r\nB:1"))) {
            TestCaller.Answer answer = TestCaller.get(port, query, AUTHORIZATION);
            assertThat(answer.status()).as(query).isEqualTo(400);
            assertThat(answer.text()).as(query).contains("detail");
        }
        // One field with a comma is not two fields.
        assertThat(explained("GET", "/header/1", "X-A: y, 1").path("served").asBoolean())
                .isTrue();
        assertThat(explained("GET", "/header/1", "X-B: 1", "X-A: 1")
                        .path("served")
                        .asBoolean())
                .isTrue();
    }

    @Test
    void commandPrintsTheRoute() throws Exception {
        Result result = weir(READ_ONLY_TOKEN, "explain", "GET", "http://shop.example/host/1?a=b&c", "-H", "X-A: \"1\"");

        assertThat(result.out()).startsWith("""
                GET shop.example/host/1
                route host (1 of 16): serves the request
                  backend orders, door compiled
                  can refuse by: nothing
                nearest other routes:
                """);
        assertThat(result.exitCode()).isZero();
    }

    @Test
    void commandPrintsTheFailedPredicateOfTheNearestRoute() throws Exception {
        Result result = weir(READ_ONLY_TOKEN, "explain", "GET", "/header/1", "-H", "Host: a", "-H", "X-A: b");

        assertThat(result.out()).startsWith("""
                GET a/header/1
                no route matches (no-route, 404)
                nearest other routes:
                  header (5 of 16): fails Header=X-A,\\d+
                """);
        assertThat(result.exitCode()).isEqualTo(1);
    }

    @Test
    void commandTellsThatAPathIsRefused() throws Exception {
        Result result = weir(READ_ONLY_TOKEN, "explain", "GET", "/a/../../b");

        assertThat(result.out()).contains("refused: bad-request: path: ");
        assertThat(result.exitCode()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "explain GET | expected: METHOD URL",
                "explain GET / -H x | expected: -H 'Name: value'",
                "explain GET / -X x:y | expected: -H 'Name: value'",
                "explain GE(T / | method: GE(T (expected: a method such as GET)",
            })
    void commandTellsItsUsage(String arguments, String message) throws Exception {
        Result result = weir(READ_ONLY_TOKEN, arguments.split(" ", -1));

        assertThat(result.out()).startsWith("weir: explain: ").contains(message);
        assertThat(result.exitCode()).isEqualTo(2);
    }

    @Test
    void commandTellsThatTheGatewayDoesNotAcceptTheToken() throws Exception {
        Result result = weir("wrong", "explain", "GET", "/");

        assertThat(result.out()).contains("does not accept the token (WEIR_MANAGEMENT_TOKEN)");
        assertThat(result.exitCode()).isEqualTo(5);
    }

    @Test
    void logsTheNearestRouteAtDebugOnly() throws Exception {
        Logger logger = (Logger) LoggerFactory.getLogger("io.weir.door");
        ListAppender<ILoggingEvent> events = new ListAppender<>();
        events.start();
        logger.addAppender(events);
        try {
            TestCaller.get(gateway.port(), "/header/1?secret", "X-A: b");
            assertThat(events.list).isEmpty();
            logger.setLevel(Level.DEBUG);
            assertThat(TestCaller.get(gateway.port(), "/header/1?secret", "X-A: b")
                            .status())
                    .isEqualTo(404);
            assertThat(TestCaller.get(gateway.port(), "/cookie/1?secret").status())
                    .isEqualTo(404);
            assertThat(TestCaller.get(gateway.port(), "/header/1?secret", "X-A: 1")
                            .status())
                    .isEqualTo(200);
        } finally {
            logger.setLevel(null);
            logger.detachAppender(events);
        }
        assertThat(events.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly(
                        "No route for GET /header/1: the nearest route, header, fails Header=X-A,\\d+",
                        "No route for GET /cookie/1: the nearest route, cookie, fails Cookie=c,x");
    }
}
