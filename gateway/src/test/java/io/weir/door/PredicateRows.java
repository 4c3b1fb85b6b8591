package io.weir.door;

import static io.weir.door.DoorRow.get;
import static io.weir.door.DoorRow.request;
import static io.weir.door.DoorRow.row;

import java.util.List;
import java.util.stream.Stream;

/** Rows of {@link DoorsDifferentialIT}: paths and the other predicates. */
final class PredicateRows {

    private PredicateRows() {}

    static Stream<DoorRow> all() {
        return Stream.of(paths(), predicates()).flatMap(rows -> rows);
    }

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
                                get("/h", "Host: a.example.org:443").to("/h"),
                                get("/h", "Host: a.example.org:8080").to("/h"),
                                get("/h", "Host: a.example.com:8080").none(),
                                get("/h", "Host: example.org").none(),
                                get("http://a.example.org/h?x", "Host: other").to("/h?x"),
                                get("http://other/h", "Host: a.example.org").none(),
                                request("GET /h HTTP/1.0").none()),
                row("a host with any port")
                        .when("Host=a.example.org:*")
                        .cases(
                                get("/h", "Host: a.example.org:80").to("/h"),
                                get("/h", "Host: a.example.org").none()),
                row("a host with a port")
                        .when("Host=a.example.org:8080")
                        .cases(
                                get("/h", "Host: A.example.org:8080").to("/h"),
                                get("/h", "Host: a.example.org:80").none(),
                                get("/h", "Host: a.example.org").none()),
                row("an address as host")
                        .when("Host=[2001:db8::1]")
                        .cases(
                                get("/h", "Host: [2001:db8::1]").to("/h"),
                                get("/h", "Host: [2001:db8::1]:8080").to("/h"),
                                get("/h", "Host: [2001:db8::2]:8080").none()),
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
                                get("/a", "Host: one.example.org:8080").to("/one"),
                                get("/a", "Host: example.org").none()),
                row("a variable of the host with a colon")
                        .when("Host={shop:one|two}.example.org", "Path=/a")
                        .then("SetPath=/{shop}")
                        .notCompiled()
                        .cases(
                                get("/a", "Host: two.example.org:8080").to("/two"),
                                get("/a", "Host: three.example.org:8080").none()));
    }
}
