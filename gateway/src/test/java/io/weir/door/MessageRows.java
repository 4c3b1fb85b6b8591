package io.weir.door;

import static io.weir.door.DoorRow.get;
import static io.weir.door.DoorRow.request;
import static io.weir.door.DoorRow.row;

import io.weir.door.DoorRow.Case;
import java.util.stream.Stream;

/** Rows of {@link DoorsDifferentialIT}: messages that the routes do not change. */
final class MessageRows {

    private MessageRows() {}

    static Stream<DoorRow> all() {
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
}
