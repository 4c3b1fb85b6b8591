package io.weir.access;

import static io.weir.testing.Patience.PATIENCE;
import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;

/** Routes that only some addresses may use, through both doors. */
@ExtendWith(Leaks.class)
class AccessIT extends OneBackendTests {

    private static final AtomicInteger received = new AtomicInteger();

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) -> {
            received.incrementAndGet();
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        });
        gateway = TestGateway.setup()
                .weir("edge: { trusted-proxies: [127.0.0.1] }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("inside", "orders", "access: { allow: [10.0.0.0/8, \"2001:db8::/32\"], deny: [10.66.0.0/16] }")
                .route(
                        "instead",
                        "orders",
                        "access: { allow: [10.0.0.0/8] }",
                        "fallback: { status: 203, body: instead, reasons: [forbidden] }")
                .start();
    }

    @Door.Any
    void servesAllowedAddresses(Door door) throws IOException {
        assertThat(get(door, "inside", "1", "X-Forwarded-For: 10.1.2.3").status())
                .isEqualTo(200);
        assertThat(get(door, "inside", "2", "X-Forwarded-For: 2001:db8::9").status())
                .isEqualTo(200);
    }

    @Door.Any
    void refusesAllOthersAndTheBackendSeesNothing(Door door) throws IOException {
        int before = received.get();

        TestCaller.Answer other = get(door, "inside", "3", "X-Forwarded-For: 192.0.2.1");
        TestCaller.Answer denied = get(door, "inside", "4", "X-Forwarded-For: 10.66.1.1");
        TestCaller.Answer direct = get(door, "inside", "5");
        // The address that the trusted proxy has added counts, not the one that the caller claims.
        TestCaller.Answer disguised = get(door, "inside", "6", "X-Forwarded-For: 10.1.2.3, 192.0.2.1");

        assertRefused(gateway, door, "inside", door.path("inside", "3"), other, Reason.FORBIDDEN);
        assertRefused(gateway, door, "inside", door.path("inside", "4"), denied, Reason.FORBIDDEN);
        assertRefused(gateway, door, "inside", door.path("inside", "5"), direct, Reason.FORBIDDEN);
        assertRefused(gateway, door, "inside", door.path("inside", "6"), disguised, Reason.FORBIDDEN);
        assertThat(received.get()).isEqualTo(before);
    }

    /** Servlet containers drop parameters, and then empty segments. */
    @Door.Any
    void refusesPathsThatABackendWouldReadAsThoseOfTheRoute(Door door) throws IOException {
        int before = received.get();
        for (String prefix : List.of("/;", "/;a=1", "//;", "/a/;/..")) {
            TestCaller.Answer answer = TestCaller.get(gateway.port(), prefix + door.path("inside", "3"));

            assertRefused(answer, Reason.BAD_REQUEST);
        }
        assertThat(received.get()).isEqualTo(before);
    }

    @Door.Any
    void refusesAHandshake(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path("inside", "7"));
            assertRefused(caller.answer(), Reason.FORBIDDEN);
        }
    }

    @Door.Any
    void answersGrpcCallersWithPermissionDenied(Door door) {
        HttpHeaders refused = Objects.requireNonNull(HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .baseUrl("http://127.0.0.1:" + gateway.port())
                .headers(head -> head.set("content-type", "application/grpc").set("te", "trailers"))
                .get()
                .uri(door.path("inside", "8"))
                .responseSingle((response, body) -> body.then().thenReturn(response.responseHeaders()))
                .block(PATIENCE));

        assertThat(refused.get("grpc-status")).isEqualTo("7");
        assertThat(refused.get("grpc-message")).isEqualTo("forbidden");
    }

    @Door.Any
    void letsAFallbackReplaceTheRefusalIfItsReasonsSaySo(Door door) throws IOException {
        TestCaller.Answer answer = get(door, "instead", "9", "X-Forwarded-For: 192.0.2.1");

        assertThat(answer.status()).isEqualTo(203);
        assertThat(answer.text()).isEqualTo("instead");
    }
}
