package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Messages as RFC 9110 and RFC 9112 have them, through both doors. */
@ExtendWith(Leaks.class)
class HttpSemanticsIT extends OneBackendTests {

    private static final String BACKEND = "orders";
    private static final int READ_AHEAD = 65_536;
    private static final int LARGE_BODY = 100_000;
    private static final String IMF_FIXDATE =
            "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("edge: { max-header-count: 20 }")
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .route(BACKEND, BACKEND)
                .start();
    }

    @AfterEach
    void echoAgain() {
        backend.behave(TestBackend.ECHO);
    }

    private static void answerWith(String bytes) {
        backend.behave((request, conversation) -> {
            conversation.drain(request);
            conversation.write(bytes);
        });
    }

    // ---------------------------------------------------------------- trailers

    @Door.Each
    void refusesMoreTrailersThanFieldsAreAllowed(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(BACKEND, "t"), "Transfer-Encoding: chunked"));
            caller.send("3\r\nabc\r\n0\r\n" + "X-T: t\r\n".repeat(21) + "\r\n");

            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(431);
            assertThat(answer.reason()).isEqualTo(Reason.HEADERS_TOO_LARGE.word());
        }
    }

    @Door.Each
    void passesOnAsManyTrailersAsFieldsAreAllowed(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, String.valueOf(conversation.trailers().size()));
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(BACKEND, "t"), "Transfer-Encoding: chunked"));
            caller.send("3\r\nabc\r\n0\r\n" + "X-T: t\r\n".repeat(20) + "\r\n");

            assertThat(caller.answer().text()).isEqualTo("20");
        }
    }

    @Door.Each
    void resetsAnHttp2StreamWithMoreTrailersThanFieldsAreAllowed(Door door) throws IOException {
        Http2Headers trailers = new DefaultHttp2Headers();
        for (int i = 0; i < 21; i++) {
            trailers.add("x-" + i, "t");
        }
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, RawHttp2Client.post(door.path(BACKEND, "t")), false);
            client.data(1, 3, false);
            client.headers(1, trailers, true);

            assertThat(client.next()).startsWith("reset 1");
            client.headers(3, RawHttp2Client.get(door.path(BACKEND, "u")), true);
            assertThat(client.next()).isEqualTo("headers 3 200");
        }
    }

    @Door.Each
    void dropsTrailersOfTheBackendThatBelongToAHead(Door door) throws IOException {
        answerWith("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                + "Set-Cookie: a=b\r\nHost: evil\r\nConnection: close\r\nLocation: /x\r\nWWW-Authenticate: Basic\r\n"
                + "Strict-Transport-Security: max-age=0\r\nX-Forwarded-For: 1.2.3.4\r\nX-Checksum: abc\r\n"
                + "Grpc-Status: 0\r\nServer-Timing: db;dur=1\r\n\r\n");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(BACKEND, "t"));

        assertThat(answer.text()).isEqualTo("ok");
        assertThat(answer.trailers()).containsOnlyKeys("x-checksum", "grpc-status", "server-timing");
    }

    // ---------------------------------------------------------------- Expect

    private static String upload(Door door, int bytes) {
        return TestCaller.head("POST", door.path(BACKEND, "e"), "Content-Length: " + bytes, "Expect: 100-continue");
    }

    /** The backend gets the request when the body is complete, and decides nothing any more. */
    @Door.Each
    void asksForABodyThatIsReadAhead(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            assertThat(request.header("expect")).isNull();
            conversation.answer(200, "read " + conversation.drain(request));
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 2; i++) {
                caller.send(upload(door, 3));
                assertThat(caller.readHead().status()).isEqualTo(100);
                caller.send("abc");
                assertThat(caller.readHead().status()).isEqualTo(200);
                assertThat(new String(caller.in().readNBytes(6), StandardCharsets.US_ASCII))
                        .isEqualTo("read 3");
            }
        }
    }

    @Door.Each
    void sendsTheRestOfALargeBodyWhenTheBackendAsksForIt(Door door) throws Exception {
        CountDownLatch decided = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            assertThat(request.header("expect")).isEqualToIgnoringCase("100-continue");
            decided.await();
            conversation.write("HTTP/1.1 100 Continue\r\n\r\n");
            conversation.answer(200, "read " + conversation.drain(request));
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(upload(door, LARGE_BODY));
            assertThat(caller.readHead().status()).isEqualTo(100);
            caller.send(new byte[LARGE_BODY]);
            backend.next();
            assertNothingToRead(caller);
            decided.countDown();

            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(200);
            assertThat(answer.text()).isEqualTo("read " + LARGE_BODY);
        }
    }

    private static void assertNothingToRead(TestCaller caller) throws IOException {
        caller.socket().setSoTimeout(50);
        assertThatThrownBy(() -> caller.in().read()).isInstanceOf(SocketTimeoutException.class);
        caller.socket().setSoTimeout((int) TestGateway.PATIENCE.toMillis());
    }

    @Door.Each
    void stopsAnUploadThatTheBackendRefuses(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.answer(401, "no"));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(upload(door, LARGE_BODY));
            assertThat(caller.readHead().status()).isEqualTo(100);
            caller.send(new byte[READ_AHEAD]);

            assertThat(caller.readHead().status()).isEqualTo(401);
        }
        backend.behave(TestBackend.ECHO);
        assertThat(TestCaller.get(gateway.port(), door.path(BACKEND, "f")).status())
                .isEqualTo(200);
    }

    @Door.Each
    void sendsTheRestOfALargeBodyThatTheBackendAwaitsInSilence(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.answer(200, "read " + conversation.drain(request)));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(upload(door, LARGE_BODY));

            assertThat(caller.readHead().status()).isEqualTo(100);
            caller.send(new byte[LARGE_BODY]);
            assertThat(caller.answer().text()).isEqualTo("read " + LARGE_BODY);
        }
    }

    @Door.Each
    void leavesNothingBehindIfTheCallerLeavesBeforeTheBackendDecides(Door door) throws Exception {
        backend.behave(backend.hang());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(upload(door, LARGE_BODY));
            assertThat(caller.readHead().status()).isEqualTo(100);
            caller.send(new byte[READ_AHEAD]);
            backend.next();
        }
        gateway.assertNothingHeld();
    }

    // ---------------------------------------------------------------- Max-Forwards

    @Door.Each
    void countsItselfInMaxForwards(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, request.method() + " " + request.header("max-forwards"));
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (String method : new String[] {"OPTIONS", "TRACE"}) {
                assertThat(caller.request(method, door.path(BACKEND, "m"), "Max-Forwards: 3")
                                .text())
                        .isEqualTo(method + " 2");
                assertThat(caller.request(method, door.path(BACKEND, "m"), "Max-Forwards: 1")
                                .text())
                        .isEqualTo(method + " 0");
            }
            assertThat(caller.request("GET", door.path(BACKEND, "m"), "Max-Forwards: 0")
                            .text())
                    .as("other methods ignore it")
                    .isEqualTo("GET 0");
        }
    }

    @Door.Each
    void answersRequestsThatMustNotBeForwarded(Door door) throws IOException {
        AtomicInteger forwarded = new AtomicInteger();
        backend.behave((request, conversation) -> {
            forwarded.incrementAndGet();
            TestBackend.ECHO.serve(request, conversation);
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer options = caller.request("OPTIONS", door.path(BACKEND, "m"), "Max-Forwards: 0");
            assertThat(options.status()).isEqualTo(204);
            assertThat(options.header("x-request-id")).isNotEmpty();

            TestCaller.Answer trace = caller.request("TRACE", door.path(BACKEND, "m"), "Max-Forwards: 0");
            assertThat(trace.status()).isEqualTo(400);
            assertThat(trace.reason()).isEqualTo(Reason.BAD_REQUEST.word());

            assertThat(forwarded).hasValue(0);
            assertThat(caller.request("OPTIONS", door.path(BACKEND, "m")).status())
                    .isEqualTo(200);
        }
    }

    @Test
    void answersAQuestionAboutTheServerItself() throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            assertThat(caller.request("OPTIONS", "*").status()).isEqualTo(204);
            // The connection stays.
            assertThat(caller.request("OPTIONS", "*", "Max-Forwards: 0").status())
                    .isEqualTo(204);
            assertThat(caller.request("GET", "*").status()).isEqualTo(400);
        }
        try (RawHttp2Client client = RawHttp2Client.to(gateway.port())) {
            client.headers(1, RawHttp2Client.request("OPTIONS", "*").authority("weir.example"), true);
            assertThat(client.next()).isEqualTo("headers 1 204 end");
        }
    }

    // ---------------------------------------------------------------- heads

    @Door.Each
    void datesAnswersWithoutADate(Door door) throws IOException {
        String date = "Sun, 06 Nov 1994 08:49:37 GMT";
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            assertThat(caller.request("GET", door.path(BACKEND, "t")).header("date"))
                    .as("the backend has sent none")
                    .matches(IMF_FIXDATE);
            assertThat(caller.request("GET", "/no/route").header("date"))
                    .as("the gateway's own")
                    .matches(IMF_FIXDATE);
            answerWith("HTTP/1.1 200 OK\r\nDate: " + date + "\r\nContent-Length: 2\r\n\r\nok");
            assertThat(caller.request("GET", door.path(BACKEND, "t")).header("date"))
                    .as("the backend's")
                    .isEqualTo(date);
            caller.send("GET / HTTP/1.1\r\n\r\n");
            assertThat(caller.answer().header("date")).as("of the edge").matches(IMF_FIXDATE);
        }
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, RawHttp2Client.get(door.path(BACKEND, "t")), true);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(String.valueOf(client.lastHeaders().get("date"))).isEqualTo(date);
            assertThat(client.next()).startsWith("data 1 ok");
        }
        backend.behave(TestBackend.ECHO);
        try (RawHttp2Client client = new RawHttp2Client(RawHttp1Client.to(gateway.port()))) {
            client.headers(1, RawHttp2Client.get(door.path(BACKEND, "t")), true);
            assertThat(client.next()).isEqualTo("headers 1 200");
            assertThat(String.valueOf(client.lastHeaders().get("date"))).matches(IMF_FIXDATE);
        }
    }

    @Door.Each
    void passesOnTheChallengeOfA407(Door door) throws IOException {
        answerWith("HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(BACKEND, "t"));

        assertThat(answer.status()).isEqualTo(407);
        assertThat(answer.header("proxy-authenticate")).isEqualTo("Basic realm=\"x\"");
    }

    @Door.Each
    void addsNoTransferEncodingToTheAnswerOfAHead(Door door) throws IOException {
        for (String status : new String[] {"200 OK", "404 No", "304 Same"}) {
            answerWith("HTTP/1.1 " + status + "\r\nX-A: b\r\nConnection: close\r\n\r\n");
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestCaller.Answer answer = caller.request("HEAD", door.path(BACKEND, "t"));

                assertThat(answer.status()).isEqualTo(Integer.parseInt(status.substring(0, 3)));
                assertThat(answer.headers()).doesNotContainKeys("transfer-encoding");
                assertThat(answer.header("x-a")).isEqualTo("b");
                answerWith("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                assertThat(caller.request("GET", door.path(BACKEND, "u")).text())
                        .isEqualTo("ok");
            }
        }
    }

    @Door.Each
    void answersHttp10InItsOwnVersion(Door door) throws IOException {
        for (String framing :
                new String[] {"Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
                }) {
            answerWith("HTTP/1.1 200 OK\r\n" + framing);
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                caller.send("GET " + door.path(BACKEND, "t") + " HTTP/1.0\r\nHost: a\r\n\r\n");

                assertThat(caller.line()).isEqualTo("HTTP/1.1 200 OK");
                String rest = new String(caller.in().readAllBytes(), StandardCharsets.US_ASCII);
                assertThat(rest.toLowerCase(Locale.ROOT))
                        .contains("connection: close\r\n")
                        .doesNotContain("transfer-encoding")
                        .endsWith("\r\n\r\nok");
            }
        }
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            answerWith("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            for (int i = 0; i < 2; i++) {
                caller.send(
                        "GET " + door.path(BACKEND, "t") + " HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
                TestCaller.Answer answer = caller.answer();
                assertThat(answer.header("connection")).isEqualToIgnoringCase("keep-alive");
                assertThat(answer.text()).isEqualTo("ok");
            }
        }
    }
}
