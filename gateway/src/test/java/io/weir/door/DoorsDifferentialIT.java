package io.weir.door;

import static io.weir.door.DoorRow.get;
import static io.weir.door.DoorRow.request;
import static io.weir.door.DoorRow.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.door.DoorRow.Case;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * The compiled door behaves exactly as Spring Cloud Gateway does: each row's requests pass both doors to the
 * same routes, byte for byte, and must have the same result at the backend and at the caller.
 *
 * <p>A route before all others forces the general door: it may match every request with
 * {@code X-Door: general}, and never matches. So not only the filters but all predicates are Spring Cloud
 * Gateway's own.
 */
@ExtendWith(Leaks.class)
@Timeout(60)
class DoorsDifferentialIT {

    /** A row of its own, because the doors differ. */
    private static final DoorRow UNKNOWN_METHOD =
            row("a method that Spring does not know").when("Method=PURGE");

    private static final Pattern TIMING = Pattern.compile("queue;dur=(\\d+\\.\\d{3}), backend;dur=(\\d+\\.\\d{3})");

    /** The requests that the backend has received. */
    private static final BlockingQueue<String> BACKEND_REQUESTS = new LinkedBlockingQueue<>();

    private static TestBackend backend;
    private static TestGateway gateway;
    private static volatile String answer = DoorRow.OK;
    private static int requests;

    @BeforeAll
    static void start() {
        backend = TestBackend.start(DoorsDifferentialIT::serve);
        gateway = TestGateway.start("""
            weir:
              edge: { allow-encoded-slashes: true, server-timing: true }
              backends:
                orders: { uri: "%1$s", deadline: 20s }
                narrow: { uri: "%1$s", deadline: 15s, bulkhead: { max-concurrent-calls: 1, queue-capacity: 1, max-wait-duration: 10s } }
            spring.cloud.gateway.server.webflux:
              default-filters: ['AddRequestHeader=X-Edge, default', 'AddResponseHeader=X-Edge, default']
              routes:
              - { id: gate, uri: "backend://orders", order: -1000, predicates: ["Header=X-Door, general", "Before=2020-01-01T00:00:00Z"] }
              - { id: narrow, uri: "backend://narrow", predicates: ["Header=X-Row, narrow"] }
            """.formatted(backend.uri())
                + Stream.concat(rows(), Stream.of(UNKNOWN_METHOD))
                        .map(DoorRow::yaml)
                        .collect(Collectors.joining()));
    }

    @AfterEach
    void assertNothingHeld() {
        gateway.assertNothingHeld();
        gateway.calm();
        backend.behave(DoorsDifferentialIT::serve);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    static Stream<DoorRow> rows() {
        return Stream.of(paths(), predicates(), pathFilters(), requestFilters(), answerFilters(), messages())
                .flatMap(rows -> rows);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("rows")
    void bothDoorsBehaveTheSame(DoorRow row) throws Exception {
        answer = row.answer();
        List<OutcomePair> pairs = new ArrayList<>();
        for (Case testCase : row.cases()) {
            OutcomePair pair =
                    new OutcomePair(outcome(row, testCase, Door.COMPILED), outcome(row, testCase, Door.GENERAL));
            assertThat(pair.compiled().text())
                    .as("%s", testCase)
                    .isEqualTo(pair.general().text());
            assertThat(pair.compiled().target()).as("%s", testCase).isEqualTo(testCase.target());
            assertThat(pair.compiled().status())
                    .as("%s%n%s", testCase, pair.compiled().text())
                    .isEqualTo(testCase.status());
            pairs.add(pair);
        }
        assertSameRoute(row, pairs);
    }

    /** The outcomes of one request at both doors. */
    private record OutcomePair(Outcome compiled, Outcome general) {}

    /**
     * Checks that the expected routes are compiled, and that both doors found the same route for each
     * request.
     */
    private static void assertSameRoute(DoorRow row, List<OutcomePair> pairs) {
        List<RouteView> general = gateway.bean(LiveRoutes.class).get().views().stream()
                .filter(view -> row.routeIds().contains(view.id()) && view.why() != null)
                .toList();
        assertThat(general.isEmpty()).as("%s", general).isEqualTo(row.isCompiled());
        Map<String, JsonNode> lines = await().until(
                        () -> gateway.log("\"" + row.id() + "/").stream()
                                .collect(Collectors.toMap(
                                        line -> line.path("request_id").asString(""),
                                        Function.identity(),
                                        (one, other) -> other)),
                        found -> pairs.stream()
                                .allMatch(pair -> found.containsKey(
                                                pair.compiled().id())
                                        && found.containsKey(pair.general().id())));
        for (OutcomePair pair : pairs) {
            JsonNode one = Objects.requireNonNull(lines.get(pair.compiled().id()));
            JsonNode other = Objects.requireNonNull(lines.get(pair.general().id()));
            for (String key : List.of("outcome", "status", "path", "host", "route")) {
                assertThat(one.path(key)).as("%s of %s and %s", key, one, other).isEqualTo(other.path(key));
            }
            if (pair.compiled().target() != null) {
                assertThat(one.path("backend")).as("%s and %s", one, other).isEqualTo(other.path("backend"));
                assertThat(other.path("door").asString()).as("%s", other).isEqualTo("general");
                assertThat(one.path("door").asString())
                        .as("%s", one)
                        .isIn(row.isCompiled() ? List.of("compiled") : List.of("compiled", "general"));
            }
        }
    }

    // ---------------------------------------------------------------- predicates

    private static Stream<DoorRow> paths() {
        return Stream.of(
                row("a literal path")
                        .when("Path=/a")
                        .cases(
                                get("/a").to("/a"),
                                get("/a?").to("/a?"),
                                get("/a?x=/b#c").fails(400),
                                get("/a#c").fails(400),
                                get("/%61").to("/a"),
                                get("//a").to("/a"),
                                get("/b/../a").to("/a"),
                                get("/a;v=1").to("/a;v=1"),
                                get("/a/").none(),
                                get("/A").none(),
                                get("/ab").none(),
                                get("/a%2Fb").none(),
                                get("/a/../..").fails(400),
                                get("/a%zz").fails(400)),
                row("a path with its rest")
                        .when("Path=/a/**")
                        .cases(
                                get("/a").to("/a"),
                                get("/a/").to("/a/"),
                                get("/a/b//c/").to("/a/b/c/"),
                                get("/a/b%2Fc").to("/a/b%2Fc"),
                                get("/a/%c3%bc%20x").to("/a/%C3%BC%20x"),
                                get("/a/%2e/b").to("/a/b"),
                                get("/a/%2e%2e/b").none(),
                                get("/ab").none()),
                row("wildcards within a segment")
                        .when("Path=/f?o/*.json")
                        .cases(
                                get("/foo/x.json").to("/foo/x.json"),
                                get("/fo/x.json").none(),
                                get("/foo/x/y.json").none()),
                row("several patterns")
                        .when("Path=/a/{x},/b/{x}/c")
                        .then("SetPath=/s/{x}")
                        .cases(
                                get("/a/1").to("/s/1"),
                                get("/b/2/c").to("/s/2"),
                                get("/b/2").none()),
                row("variables")
                        .when("Path=/a/{x}/b")
                        .then("SetPath=/s/{x}")
                        .cases(
                                get("/a/1/b").to("/s/1"),
                                get("/a/1/b?q=%5B%20&&").to("/s/1?q=%5B%20&&"),
                                get("/a/%20/b").to("/s/%20"),
                                get("/a/%C3%BC/b").to("/s/%C3%BC"),
                                get("/a/50%25/b").to("/s/50%25"),
                                get("/a/p%26q+r/b").to("/s/p&q+r"),
                                get("/a/c;v=1/b").to("/s/c"),
                                get("/a/x%2Fy/b").to("/s/x/y"),
                                get("/a/%7Bx%7D/b").to("/s/%7Bx%7D"),
                                get("/a/{x}/b").to("/s/%7Bx%7D"),
                                get("/a//b").none(),
                                get("/a/1/b/").none()),
                row("the rest as a variable")
                        .when("Path=/a/{*rest}")
                        .then("SetPath=/s{rest}")
                        .cases(
                                get("/a/b/c").to("/s/b/c"),
                                get("/a/b%20c/").to("/s/b%20c/"),
                                get("/a").to("/s"),
                                get("/a/").to("/s/")),
                row("a variable with a pattern")
                        .when("Path=/a/{id:[0-9]+}")
                        .cases(get("/a/12").to("/a/12"), get("/a/x").none()),
                row("two paths")
                        .when("Path=/{x}/b", "Path=/a/{y}")
                        .then("SetPath=/{y}/{x}")
                        .cases(
                                get("/a/b").to("/b/a"),
                                get("/a/c").none(),
                                get("/c/b").none()),
                row("letters beyond ASCII")
                        .when("Path=/größe/{x}")
                        .then("SetPath=/ä/{x}")
                        .cases(
                                get("/gr%C3%B6%C3%9Fe/1").to("/%C3%A4/1"),
                                get("/gr%c3%b6%c3%9fe/1").to("/%C3%A4/1")));
    }

    private static Stream<DoorRow> predicates() {
        return Stream.of(
                row("methods")
                        .when("Method=GET,PUT,GET")
                        .cases(
                                get("/m").to("/m"),
                                request("PUT /m HTTP/1.1", "Content-Length: 2")
                                        .with("ok")
                                        .to("/m"),
                                request("HEAD /m HTTP/1.1").none(),
                                request("DELETE /m HTTP/1.1").none(),
                                request("get /m HTTP/1.1").none()),
                row("hosts")
                        .when("Host=*.example.org,**.example.net")
                        .cases(
                                get("/h", "Host: a.example.org").to("/h"),
                                get("/h", "Host: a.b.example.net").to("/h"),
                                get("/h", "Host: a.b.example.org").none(),
                                get("/h", "Host: A.EXAMPLE.ORG").to("/h"),
                                get("http://A.Example.org/h").to("/h"),
                                get("/h", "Host: a.example.org:80").to("/h"),
                                get("/h", "Host: a.example.org:443").none(),
                                get("/h", "Host: a.example.org:8080").none(),
                                get("/h", "Host: example.org").none(),
                                get("http://a.example.org/h?x", "Host: other").to("/h?x"),
                                get("http://other/h", "Host: a.example.org").none(),
                                request("GET /h HTTP/1.0").none()),
                row("a host with any port")
                        .when("Host=a.example.org:*")
                        .cases(
                                get("/h", "Host: a.example.org:80").to("/h"),
                                get("/h", "Host: a.example.org").none()),
                row("a host as the caller has sent it")
                        .when("Header=Host, Shop[.]Example(:80)?")
                        .cases(
                                get("/h", "Host: Shop.Example").to("/h"),
                                get("/h", "Host: Shop.Example:80").to("/h"),
                                get("http://Shop.Example/h", "Host: other").to("/h"),
                                get("/h", "Host: shop.example").none()),
                row("a field")
                        .when("Header=X-A")
                        .cases(
                                get("/f", "X-A: 1").to("/f"),
                                get("/f", "x-a:1").to("/f"),
                                get("/f", "X-A:").none(),
                                get("/f", "X-A: ,").none(),
                                get("/f", "X-AB: 1").none(),
                                get("/f").none()),
                row("a field's value")
                        .when("Header=X-A, \\d+")
                        .cases(
                                get("/f", "X-A: 1").to("/f"),
                                get("/f", "X-A: x", "X-A: 1").to("/f"),
                                get("/f", "X-A: x, 1").to("/f"),
                                get("/f", "X-A: \"1\"").to("/f"),
                                get("/f", "X-A: 1 x").none(),
                                get("/f", "X-A:").none(),
                                get("/f").none()),
                row("a parameter")
                        .when("Query=q")
                        .cases(
                                get("/p?q").to("/p?q"),
                                get("/p?q=").to("/p?q="),
                                get("/p?a=1&q=2").to("/p?a=1&q=2"),
                                get("/p?%71=1").to("/p?%71=1"),
                                get("/p?Q").none(),
                                get("/p?qq=q").none(),
                                get("/p?").none(),
                                get("/p").none()),
                row("a parameter's value")
                        .when("Query=q, ba.")
                        .cases(
                                get("/p?q=bar").to("/p?q=bar"),
                                get("/p?q=b%61r").to("/p?q=b%61r"),
                                get("/p?q=ba+").to("/p?q=ba+"),
                                get("/p?q=x&q=baz").to("/p?q=x&q=baz"),
                                get("/p?q=ba").none(),
                                get("/p?q=barr").none(),
                                get("/p?q").none(),
                                get("/p?q=%zz").none()),
                row("all predicates together")
                        .when("Path=/c/{x}", "Method=POST", "Host=**.example.org", "Header=X-A, a.*", "Query=q")
                        .then("SetPath=/{x}")
                        .cases(
                                request("POST /c/1?q HTTP/1.1", "Host: a.example.org", "X-A: ab")
                                        .to("/1?q"),
                                request("POST /c/1 HTTP/1.1", "Host: a.example.org", "X-A: ab")
                                        .none(),
                                request("POST /c/1?q HTTP/1.1", "Host: a.example.com", "X-A: ab")
                                        .none(),
                                request("POST /c/1?q HTTP/1.1", "Host: a.example.org", "X-A: b")
                                        .none(),
                                request("GET /c/1?q HTTP/1.1", "Host: a.example.org", "X-A: ab")
                                        .none(),
                                request("POST /c?q HTTP/1.1", "Host: a.example.org", "X-A: ab")
                                        .none()),
                row("the order of routes")
                        .route(2, List.of("Path=/o/**"), "SetPath=/last")
                        .route(1, List.of("Path=/o/a/**"), "SetPath=/second")
                        .route(1, List.of("Path=/o/a/b"), "SetPath=/never")
                        .route(0, List.of("Path=/o/a/c", "Method=PUT"), "SetPath=/first")
                        .cases(
                                get("/o/a/b").to("/second"),
                                get("/o/a/c").to("/second"),
                                request("PUT /o/a/c HTTP/1.1").to("/first"),
                                get("/o/b").to("/last"),
                                get("/p").none()),
                row("a route that only the general door can match, before one that both can")
                        .route(0, List.of("Path=/o/{x}", "After=2020-01-01T00:00:00Z"), "SetPath=/general/{x}")
                        .route(1, List.of("Path=/o/**"))
                        .notCompiled()
                        .cases(get("/o/a").to("/general/a"), get("/o/a/b").to("/o/a/b")),
                row("a route that only the general door can match, and that does not")
                        .route(0, List.of("Path=/o/{x}", "Before=2020-01-01T00:00:00Z"), "SetPath=/general/{x}")
                        .route(1, List.of("Path=/{y}/**"), "SetPath=/both/{y}")
                        .notCompiled()
                        .cases(get("/o/a").to("/both/o"), get("/o/a/b").to("/both/o")),
                row("weights of which only one is not 0")
                        .route(0, List.of("Path=/o/**", "Weight=zero, 0"), "SetPath=/never")
                        .route(1, List.of("Path=/o/a", "Weight=zero, 3", "Weight=other, 1"), "SetPath=/weighted")
                        .route(2, List.of("Path=/o/**"), "SetPath=/rest")
                        .cases(
                                get("/o/a").to("/weighted"),
                                get("/o/b").to("/rest"),
                                get("/p").none()),
                row("a weight beside a predicate that only the general door can match")
                        .route(0, List.of("Path=/o/**", "Weight=general, 0", "After=2020-01-01T00:00:00Z"))
                        .route(1, List.of("Path=/o/**", "Weight=general, 1"), "SetPath=/weighted")
                        .notCompiled()
                        .cases(get("/o/a").to("/weighted")),
                row("a variable of the host")
                        .when("Host={shop}.example.org", "Path=/a")
                        .then("SetPath=/{shop}")
                        .notCompiled()
                        .cases(
                                get("/a", "Host: one.example.org").to("/one"),
                                get("/a", "Host: example.org").none()));
    }

    // ---------------------------------------------------------------- filters

    private static Stream<DoorRow> pathFilters() {
        return Stream.of(
                row("StripPrefix of one")
                        .then("StripPrefix=1")
                        .cases(
                                get("/a/b/c").to("/b/c"),
                                get("/a/b/").to("/b/"),
                                get("/a").to("/"),
                                get("/a/?x").to("/?x"),
                                get("/").to("/"),
                                get("/a//b%20c/%2F").to("/b%20c/%2F"),
                                get("/a%2Fb/c").to("/c")),
                row("StripPrefix of too many segments")
                        .then("StripPrefix=3")
                        .cases(get("/a/b").to("/"), get("/a/b/c/d").to("/d")),
                row("StripPrefix of none")
                        .then("StripPrefix=0")
                        .cases(get("/a/b/").to("/a/b/")),
                row("StripPrefix of a negative number")
                        .then("StripPrefix=-1")
                        .cases(get("/a/b").to("/a/b")),
                row("PrefixPath")
                        .then("PrefixPath=/api")
                        .cases(get("/a%20b?c").to("/api/a%20b?c"), get("/").to("/api/")),
                row("PrefixPath with a slash too many")
                        .then("PrefixPath=/api/")
                        .cases(get("/a//b").to("/api/a/b"), get("/").to("/api/")),
                row("PrefixPath with a variable")
                        .when("Path=/{x}/**")
                        .then("PrefixPath=/t/{x}")
                        .cases(get("/a%20b/c").to("/t/a%20b/a%20b/c")),
                row("SetPath without variables")
                        .then("SetPath=/fixed path")
                        .cases(get("/a/b?c").to("/fixed%20path?c")),
                row("RewritePath")
                        .then("RewritePath=/a/(?<rest>.*), /$\\{rest}")
                        .cases(
                                get("/a/b%20c?d").to("/b%20c?d"),
                                get("/a/").to("/"),
                                get("/a").to("/a"),
                                get("/x/a/b").to("/x/b")),
                row("RewritePath of every match")
                        .then("RewritePath=/a|b, /c")
                        .cases(get("/a/a/b").to("/c/c/c"), get("/x").to("/x")),
                row("RewritePath by a number")
                        .then("RewritePath=^/(a)/(.*)$, /$2/$1")
                        .cases(get("/a/b/c").to("/b/c/a")),
                row("RewritePath to a slash too many")
                        .then("RewritePath=/v1, /")
                        .cases(get("/v1/x").to("/x"), get("/v1").to("/")),
                row("RewritePath to a text that is no path")
                        .then("RewritePath=/a/(.*), $1")
                        .cases(get("/a/b").fails(500), get("/b").to("/b")),
                row("RewritePath to a dot segment")
                        .then("RewritePath=/a/?(?<rest>.*), /$\\{rest}", "PrefixPath=/public")
                        .cases(
                                get("/a/b").to("/public/b"),
                                get("/a.b/c").to("/public/.b/c"),
                                get("/a...").to("/public/..."),
                                get("/a../b").fails(500),
                                get("/a./b").fails(500),
                                get("/a..").fails(500),
                                get("/a..;v=1/b").fails(500),
                                get("/a..%2Fb").fails(500)),
                row("RewritePath that breaks an escape")
                        .then("RewritePath=2, x")
                        .cases(get("/2").to("/x"), get("/%20").fails(500)),
                row("RewritePath to a query")
                        .then("RewritePath=/a, /b?c=1")
                        .notCompiled()
                        .cases(get("/a").to("/b?c=1"), get("/a?d").to("/b?c=1?d")),
                row("several filters of the path")
                        .when("Path=/{x}/**")
                        .then("StripPrefix=1", "PrefixPath=/api/{x}", "RewritePath=/api/(.*), /v2/$1", "StripPrefix=0")
                        .cases(
                                get("/a/b%20c/?d").to("/v2/a/b%20c/?d"),
                                get("/a").to("/v2/a/")),
                row("an unchanged query")
                        .when("Path=/**")
                        .then("StripPrefix=1")
                        .cases(
                                get("/q/a?a=1&&b&").to("/a?a=1&&b&"),
                                get("/q/a?=x").to("/a?=x"),
                                get("/q/a?&").to("/a?&"),
                                get("/q/a?").to("/a?"),
                                get("/q/a%20b?a[]=1&b=%20c").to("/a%20b?a[]=1&b=%20c"),
                                get("/q/a?a=b?c/../d//e").to("/a?a=b?c/../d//e"),
                                get("/q/a?a=+%2b%2B").to("/a?a=+%2b%2B"),
                                get("/q/a?a=%zz&b=100%").to("/a?a=%25zz&b=100%25"),
                                get("/q/a?a=|^`{}\"<>\\").to("/a?a=%7C%5E%60%7B%7D%22%3C%3E%5C"),
                                get("/q/a[1]|^`{}\"<>").to("/a%5B1%5D%7C%5E%60%7B%7D%22%3C%3E"),
                                get("/q/a\\b").fails(400)));
    }

    private static Stream<DoorRow> requestFilters() {
        Case plain = get("/f").to("/f");
        Case once = get("/f", "X-A: 0").to("/f");
        Case twice = get("/f", "x-a: 0", "X-A: 00", "X-B: b").to("/f");
        Case upload = request("POST /f HTTP/1.1", "Content-Type: text/plain", "Content-Length: 4")
                .with("body")
                .to("/f");
        Case chunked = request("POST /f HTTP/1.1", "Transfer-Encoding: chunked")
                .with("4\r\nbody\r\n0\r\n\r\n")
                .to("/f");
        return Stream.of(
                row("AddRequestHeader").then("AddRequestHeader=X-A, 1").cases(plain, once, twice),
                row("SetRequestHeader").then("SetRequestHeader=X-A, 1 ").cases(plain, once, twice),
                row("RemoveRequestHeader").then("RemoveRequestHeader=X-A").cases(plain, once, twice),
                row("several filters of one field")
                        .then(
                                "RemoveRequestHeader=x-a",
                                "AddRequestHeader=X-a, 1",
                                "AddRequestHeader=X-A, 2",
                                "SetRequestHeader=X-B, 3")
                        .cases(plain, once, twice),
                row("filters between the default ones")
                        .then("SetRequestHeader=X-Edge, own", "AddRequestHeader=X-Edge, more")
                        .cases(plain),
                row("AddRequestHeader with a variable")
                        .when("Path=/{x}")
                        .then("AddRequestHeader=X-A, {x}")
                        .notCompiled()
                        .cases(plain),
                row("fields that the gateway writes")
                        .then(
                                "AddRequestHeader=X-Forwarded-For, 9.9.9.9",
                                "SetRequestHeader=X-Forwarded-Host, elsewhere",
                                "RemoveRequestHeader=X-Forwarded-Proto",
                                "AddRequestHeader=Via, 1.1 other",
                                "AddRequestHeader=Connection, X-A",
                                "SetRequestHeader=X-Request-Id, other",
                                "SetRequestHeader=X-Request-Timeout, 1")
                        .cases(plain, once),
                row("PreserveHostHeader")
                        .then("PreserveHostHeader")
                        .cases(
                                plain,
                                get("/f", "Host: Shop.example:8080").to("/f"),
                                get("http://shop.example/f", "Host: other").to("/f"),
                                request("GET /f HTTP/1.0").to("/f")),
                row("PreserveHostHeader and a host of the route's")
                        .then("PreserveHostHeader", "SetRequestHeader=Host, set.example")
                        .cases(plain),
                row("PreserveHostHeader and no host")
                        .then("PreserveHostHeader", "RemoveRequestHeader=Host")
                        .cases(plain),
                row("a host of the route's that is not preserved")
                        .then("SetRequestHeader=Host, set.example")
                        .cases(plain),
                row("SetRequestHostHeader")
                        .then("SetRequestHostHeader=set.example")
                        .notCompiled()
                        .cases(plain),
                row("a body without its length")
                        .then("RemoveRequestHeader=Content-Length", "RemoveRequestHeader=Transfer-Encoding")
                        .cases(plain, upload, chunked),
                row("a body without its type")
                        .then("RemoveRequestHeader=Content-Type")
                        .cases(upload));
    }

    private static Stream<DoorRow> answerFilters() {
        String[] filters = {
            "AddResponseHeader=X-Multi, three",
            "AddResponseHeader=X-New, new, false",
            "AddResponseHeader=X-Old, more, false",
            "SetResponseHeader=Content-Type, text/html",
            "RemoveResponseHeader=X-Gone"
        };
        String fields = "X-Old: old\r\nX-Gone: gone\r\nx-gone: too\r\nX-Multi: one\r\nContent-Type: text/plain\r\n";
        Case plain = get("/f").to("/f");
        Case head = request("HEAD /f HTTP/1.1").to("/f");
        return Stream.of(
                row("filters of an answer")
                        .then(filters)
                        .answered("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\nok")
                        .cases(plain, head, get("/f", "X-Request-Timeout: soon").fails(400)),
                row("filters of an error of the backend's")
                        .then(filters)
                        .answered("HTTP/1.1 500 Broken\r\n" + fields + "Content-Length: 2\r\n\r\nno")
                        .cases(plain.gets(500), head.gets(500)),
                row("filters of a redirect")
                        .then(filters)
                        .answered("HTTP/1.1 302 Found\r\nLocation: http://orders/x?y\r\nContent-Length: 0\r\n\r\n")
                        .cases(plain.gets(302)),
                row("filters of an answer without a body")
                        .then(filters)
                        .answered("HTTP/1.1 204 No Content\r\n" + fields + "\r\n")
                        .cases(plain.gets(204), head.gets(204)),
                row("filters of an answer that has not changed")
                        .then(filters)
                        .answered("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n" + fields + "\r\n")
                        .cases(plain.gets(304)),
                row("filters of an answer that comes in chunks")
                        .then(filters)
                        .answered("HTTP/1.1 200 OK\r\n" + fields
                                + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
                        .cases(plain),
                row("filters of one field of an answer")
                        .then(
                                "SetResponseHeader=X-Multi, outer",
                                "AddResponseHeader=X-Multi, middle",
                                "RemoveResponseHeader=x-multi")
                        .cases(plain),
                row("filters of an answer between the default ones")
                        .then(
                                "SetResponseHeader=X-Edge, own",
                                "AddResponseHeader=X-Edge, more",
                                "AddResponseHeader=X-Edge, last, false")
                        .cases(plain),
                row("response fields that the gateway writes")
                        .then(
                                "RemoveResponseHeader=Via",
                                "RemoveResponseHeader=Server-Timing",
                                "SetResponseHeader=X-Request-Id, other",
                                "AddResponseHeader=Connection, X-Multi")
                        .cases(plain),
                row("an answer's own Server-Timing")
                        .then("AddResponseHeader=Server-Timing, route")
                        .answered("HTTP/1.1 200 OK\r\nServer-Timing: db;dur=5\r\nContent-Length: 2\r\n\r\nok")
                        .cases(plain),
                row("an answer without its length")
                        .then("RemoveResponseHeader=Content-Length")
                        .notCompiled()
                        .cases(plain, head),
                row("a large answer without its length")
                        .then("RemoveResponseHeader=Content-Length")
                        .notCompiled()
                        .answered("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + "x".repeat(20_000))
                        .cases(plain),
                row("an answer without its framing")
                        .then("RemoveResponseHeader=Transfer-Encoding")
                        .notCompiled()
                        .answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
                        .cases(plain));
    }

    // ---------------------------------------------------------------- messages

    private static Stream<DoorRow> messages() {
        Case plain = get("/f").to("/f");
        Case head = request("HEAD /f HTTP/1.1").to("/f");
        Case http10 = request("GET /f HTTP/1.0").to("/f");
        // The backend accepts no WebSocket.
        String[] fields = {
            "Host: Shop.example:80",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: one",
            "sec-websocket-protocol: two",
            "X-Multi: one",
            "x-multi: two"
        };
        Case handshake = get("/f?", fields).to("/f?");
        Case ofPage = get(
                        "/f",
                        Stream.concat(Stream.of("Origin: http://shop.example"), Stream.of(fields))
                                .toArray(String[]::new))
                .to("/f");
        String chunks = "HTTP/1.1 200 OK\r\n"
                + "Transfer-Encoding: chunked\r\n"
                + "Trailer: X-T\r\n\r\n"
                + "2\r\n"
                + "ok\r\n"
                + "3\r\n"
                + "...\r\n"
                + "0\r\n"
                + "X-T: t\r\n\r\n";
        return Stream.of(
                row("fields of a request")
                        .cases(
                                get(
                                                "/f",
                                                "X-Multi: one",
                                                "x-multi: two",
                                                "X-Multi: one",
                                                "X-Empty:",
                                                "X-Spaces:   a  b  ",
                                                "X-Latin: gr\u00f6\u00dfe",
                                                "Cookie: a=1; b=2",
                                                "Cookie: c=3",
                                                "Accept: text/html, */*;q=0.1",
                                                "Accept: text/plain",
                                                "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
                                        .to("/f"),
                                get(
                                                "/f",
                                                "Connection: X-Hop, keep-alive, Authorization",
                                                "X-Hop: 1",
                                                "Authorization: Basic eDp5",
                                                "Keep-Alive: timeout=5",
                                                "Proxy-Authorization: Basic eDp5",
                                                "TE: trailers, deflate",
                                                "Via: 1.0 other",
                                                "X-Forwarded-For: 9.9.9.9",
                                                "X-Real-IP: 9.9.9.9",
                                                "Forwarded: for=9.9.9.9")
                                        .to("/f"),
                                get("/f", "Connection: close").to("/f"),
                                get("http://shop.example:81/f?g", "Host: other").to("/f?g"),
                                http10,
                                get("/f", "X-Request-Timeout: soon").fails(400),
                                request("HEAD /f HTTP/1.1", "X-Request-Timeout: soon")
                                        .fails(400),
                                request("POST /f HTTP/1.1", "X-Request-Timeout: soon", "Content-Length: 4")
                                        .with("body")
                                        .fails(400)),
                row("bodies of requests")
                        .cases(
                                request("POST /f HTTP/1.1", "Content-Length: 4")
                                        .with("body")
                                        .to("/f"),
                                request("POST /f HTTP/1.1", "Content-Length: 0").to("/f"),
                                request("POST /f HTTP/1.1").to("/f"),
                                request("GET /f HTTP/1.1", "Content-Length: 4")
                                        .with("body")
                                        .to("/f"),
                                request("DELETE /f HTTP/1.1", "Content-Length: 4")
                                        .with("body")
                                        .to("/f"),
                                request("POST /f HTTP/1.1", "Content-Length: 4", "Expect: 100-continue")
                                        .with("body")
                                        .to("/f"),
                                request("POST /f HTTP/1.1", "Content-Length: 20000")
                                        .with("x".repeat(20_000))
                                        .to("/f"),
                                request("POST /f HTTP/1.1", "Transfer-Encoding: chunked")
                                        .with("0\r\n\r\n")
                                        .to("/f"),
                                request("POST /f HTTP/1.1", "Transfer-Encoding: chunked", "Trailer: X-T")
                                        .with("2\r\nbo\r\n2\r\ndy\r\n0\r\nX-T: t\r\n\r\n")
                                        .to("/f")),
                row("other methods")
                        .cases(
                                head,
                                request("OPTIONS /f HTTP/1.1").to("/f"),
                                request("TRACE /f HTTP/1.1").to("/f"),
                                request("PATCH /f HTTP/1.1").to("/f"),
                                request("PROPFIND /f HTTP/1.1").to("/f"),
                                request("GET * HTTP/1.1").fails(400)),
                row("requests of other origins")
                        .cases(
                                get("/f", "Origin: http://shop.example").to("/f"),
                                request(
                                                "OPTIONS /f HTTP/1.1",
                                                "Origin: http://shop.example",
                                                "Access-Control-Request-Method: PUT")
                                        .to("/f")),
                row("handshakes of WebSockets").cases(handshake, ofPage),
                row("handshakes of WebSockets with PreserveHostHeader")
                        .then("PreserveHostHeader", "SetRequestHeader=X-A, 1")
                        .cases(handshake, ofPage),
                row("a request of another origin without a route")
                        .when("Path=/g")
                        .cases(request(
                                        "OPTIONS /f HTTP/1.1",
                                        "Origin: http://shop.example",
                                        "Access-Control-Request-Method: PUT")
                                .none()),
                row("an answer in chunks, with trailers")
                        .answered(chunks)
                        .cases(plain, head, get("/f", "TE: trailers").to("/f"), http10),
                row("an answer to the end of the connection")
                        .answered("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end")
                        .cases(plain, head, http10),
                row("an empty answer")
                        .answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                        .cases(plain, head, http10),
                row("a large answer")
                        .answered("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + "x".repeat(20_000))
                        .cases(plain, head, http10),
                row("an answer without a body")
                        .answered("HTTP/1.1 204 No Content\r\nX-A: a\r\n\r\n")
                        .cases(
                                plain.gets(204),
                                request("OPTIONS /f HTTP/1.1").to("/f").gets(204)),
                row("an answer that has not changed")
                        .answered("HTTP/1.1 304 Not Modified\r\nContent-Length: 20\r\nETag: \"1\"\r\n\r\n")
                        .cases(plain.gets(304)),
                row("an answer with hop-by-hop fields and cookies")
                        .answered("HTTP/1.1 404 Not Found\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
                                + "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nVary: Accept\r\nVary: Origin\r\nX-Empty:\r\n"
                                + "Via: 1.0 other\r\nDate: now\r\nX-Request-Id: theirs\r\nContent-Length: 2\r\n\r\nno")
                        .cases(plain.gets(404), head.gets(404)),
                row("an answer with an early one before it")
                        .answered("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + DoorRow.OK)
                        .cases(plain));
    }

    // ---------------------------------------------------------------- difference

    /** Spring Cloud Gateway compares methods by identity, so an unknown method never matches there. */
    @Test
    void onlyTheCompiledDoorMatchesAMethodUnknownToSpring() throws Exception {
        Case purge = request("PURGE /m HTTP/1.1");
        assertThat(outcome(UNKNOWN_METHOD, purge, Door.COMPILED).status()).isEqualTo(200);
        assertThat(outcome(UNKNOWN_METHOD, purge, Door.GENERAL).status()).isEqualTo(404);
        assertThat(outcome(UNKNOWN_METHOD, request("GET /m HTTP/1.1"), Door.COMPILED)
                        .status())
                .isEqualTo(404);
    }

    // ---------------------------------------------------------------- Server-Timing

    @Door.Each
    void writesTheTimesOfQueueAndBackend(Door door) throws Exception {
        HeldCalls calls = new HeldCalls();
        backend.behave(calls);
        String[] fields = {"X-Row: narrow", "X-Door: " + door.word()};
        CompletableFuture<TestCaller.Answer> first = TestCaller.ask(gateway.port(), "/1", fields);
        HeldCalls.Held served = calls.next();
        CompletableFuture<TestCaller.Answer> second = TestCaller.ask(gateway.port(), "/2", fields);
        await().until(() -> gateway.backend("narrow").bulkhead().queued() == 1);
        long queuedSince = System.nanoTime();
        double queued = millisSince(queuedSince);
        served.answer();
        HeldCalls.Held waited = calls.next();
        long servedSince = System.nanoTime();
        double taken = millisSince(servedSince);
        waited.answer();

        Matcher atOnce = timing(first.join());
        Matcher queuedFirst = timing(second.join());

        assertThat(Double.parseDouble(queuedFirst.group(1))).isGreaterThanOrEqualTo(queued);
        assertThat(Double.parseDouble(queuedFirst.group(2))).isGreaterThanOrEqualTo(taken);
        assertThat(Double.parseDouble(atOnce.group(2))).isGreaterThanOrEqualTo(queued);
    }

    /** In the resolution of {@code Server-Timing}: three decimals. */
    private static double millisSince(long nanos) {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - nanos) / 1_000.0;
    }

    private static Matcher timing(TestCaller.Answer answered) {
        String value = String.valueOf(answered.header("server-timing"));
        Matcher matcher = TIMING.matcher(value);
        assertThat(matcher.matches()).as(value).isTrue();
        return matcher;
    }

    // ---------------------------------------------------------------- the two ends

    /**
     * The outcome of a request.
     *
     * @param text everything that both ends have received, without the parts that cannot be equal
     */
    private record Outcome(String id, int status, @Nullable String target, String text) {}

    private static Outcome outcome(DoorRow row, Case testCase, Door door) throws Exception {
        BACKEND_REQUESTS.clear();
        String id = "%s/%s-%05d".formatted(row.id(), door.word().charAt(0), requests++);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(testCase.bytes(row.field(), "X-Door: " + door.word(), "X-Request-Id: " + id));
            ReceivedResponse response = receive(caller, testCase.head().startsWith("HEAD "));
            String seen = BACKEND_REQUESTS.poll();
            assertThat(BACKEND_REQUESTS)
                    .as("more than one request at the backend")
                    .isEmpty();
            String text = (seen == null ? "nothing at the backend" : seen) + "\n--\n" + response.text() + "\n--\n";
            if (testCase.isHttp10()) {
                // Reactor Netty writes a complete response in the caller's version, and closes; it writes a
                // response in parts in HTTP/1.1, and says whether it closes. An HTTP/1.0 caller accepts both.
                text = text.replace("HTTP/1.0 ", "HTTP/1.1 ").replace("connection: close\n", "");
            } else {
                text += followingResponse(caller);
            }
            return new Outcome(
                    id,
                    response.status(),
                    seen == null ? null : seen.substring(seen.indexOf(' ') + 1, seen.indexOf(" HTTP/")),
                    text.replace(id, "<id>")
                            .replace("x-door: " + door.word(), "x-door: <door>")
                            .replaceAll("dur=\\d+\\.\\d{3}", "dur=<ms>")
                            .replaceAll("(?m)^date: .*$", "date: <date>")
                            .replaceAll("(?m)^x-request-timeout: .*$", "x-request-timeout: <ms>")
                            .replaceAll("(?m)^sec-websocket-key: .*$", "sec-websocket-key: <key>"));
        }
    }

    private record ReceivedResponse(int status, String text) {}

    private static ReceivedResponse receive(TestCaller caller, boolean toHead) throws IOException {
        String line = caller.line();
        List<String> fields = fields(caller);
        StringBuilder informational = new StringBuilder();
        while (line.startsWith("HTTP/1.1 1")) {
            informational.append(line).append('\n');
            line = caller.line();
            fields = fields(caller);
        }
        int status = Integer.parseInt(line.substring(9, 12));
        String body = toHead || status == 204 || status == 304 ? "" : body(caller, fields);
        return new ReceivedResponse(status, informational + message(line, fields, body));
    }

    private static String body(TestCaller caller, List<String> fields) throws IOException {
        if (fields.stream().anyMatch(field -> field.equalsIgnoreCase("transfer-encoding: chunked"))) {
            StringBuilder body = new StringBuilder();
            for (String chunk = caller.chunk(); !chunk.isEmpty(); chunk = caller.chunk()) {
                body.append(chunk);
            }
            return body + "\n" + fields(caller);
        }
        byte[] bytes =
                fields.stream().anyMatch(field -> field.toLowerCase(Locale.ROOT).startsWith("content-length:"))
                        ? caller.in().readNBytes(length(fields))
                        : caller.in().readAllBytes();
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static int length(List<String> fields) {
        return fields.stream()
                .filter(field -> field.toLowerCase(Locale.ROOT).startsWith("content-length:"))
                .mapToInt(field ->
                        Integer.parseInt(field.substring(field.indexOf(':') + 1).strip()))
                .findFirst()
                .orElse(0);
    }

    private static List<String> fields(TestCaller caller) throws IOException {
        List<String> fields = new ArrayList<>();
        for (String field = caller.line(); !field.isEmpty(); field = caller.line()) {
            fields.add(field);
        }
        return fields;
    }

    /** The start of the next response on the connection, which reveals wrong framing of the first one. */
    private static String followingResponse(TestCaller caller) throws IOException {
        try {
            caller.send("GET /next HTTP/1.1\r\nHost: weir.test\r\nConnection: close\r\n\r\n");
            return caller.line();
        } catch (EOFException | SocketException e) {
            return "closed";
        }
    }

    private static void serve(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        List<String> fields = request.head().lines().toList();
        BACKEND_REQUESTS.add(message(request.line(), fields, receivedBody(fields, conversation)));
        String whole = answer;
        conversation.write(request.method().equals("HEAD") ? whole.substring(0, whole.indexOf("\r\n\r\n") + 4) : whole);
        if (whole.contains("Connection: close")) {
            conversation.close();
        }
    }

    private static String receivedBody(List<String> fields, TestBackend.Conversation conversation) throws IOException {
        if (fields.stream().noneMatch(field -> field.equalsIgnoreCase("transfer-encoding: chunked"))) {
            return new String(conversation.in().readNBytes(length(fields)), StandardCharsets.ISO_8859_1);
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int size = conversation.chunkSize(); size > 0; size = conversation.chunkSize()) {
            body.write(conversation.in().readNBytes(size));
            conversation.line();
        }
        for (String trailer = conversation.line();
                trailer != null && !trailer.isEmpty();
                trailer = conversation.line()) {
            body.write(("\n" + trailer).getBytes(StandardCharsets.ISO_8859_1));
        }
        return body.toString(StandardCharsets.ISO_8859_1);
    }

    /** A message with its fields sorted by name; fields of one name keep their order. */
    private static String message(String line, List<String> fields, String body) {
        return Stream.concat(
                        Stream.of(line),
                        fields.stream()
                                .map(field ->
                                        field.substring(0, field.indexOf(':')).toLowerCase(Locale.ROOT)
                                                + field.substring(field.indexOf(':')))
                                .sorted(Comparator.comparing(field -> field.substring(0, field.indexOf(':')))))
                .collect(Collectors.joining("\n", "", "\n\n" + body));
    }
}
