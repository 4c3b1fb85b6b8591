package io.weir.door;

import static io.weir.door.DoorRow.get;
import static io.weir.door.DoorRow.request;
import static io.weir.door.DoorRow.row;

import io.weir.door.DoorRow.Case;
import java.util.stream.Stream;

/** Rows of {@link DoorsDifferentialIT}: filters of paths, of requests and of answers. */
final class FilterRows {

    private FilterRows() {}

    static Stream<DoorRow> all() {
        return Stream.of(pathFilters(), requestFilters(), answerFilters()).flatMap(rows -> rows);
    }

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
                                "AddRequestHeader=Via, 1.1 other")
                        .cases(plain, once),
                row("AddRequestParameter with a blank")
                        .then("AddRequestParameter=a, b c%&=")
                        .notCompiled()
                        .cases(
                                get("/f").to("/f?a=b%20c%25%26%3D"),
                                get("/f?x=1").to("/f?x=1&a=b%20c%25%26%3D"),
                                get("/f?x=%20").to("/f?x=%20&a=b%20c%25%26%3D"),
                                get("/f%20?x=1&").to("/f%20?x=1&a=b%20c%25%26%3D"),
                                get("/f?x[]=%20").to("/f?x[]=%20&a=b%20c%25%26%3D")),
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
}
