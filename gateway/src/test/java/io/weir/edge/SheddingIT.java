package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;

import io.weir.drain.Drain;
import io.weir.edge.GuardedTestServer.Protocols;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** While the gateway sheds, the edge refuses requests at their head, and keeps the connections. */
@ExtendWith(Leaks.class)
class SheddingIT {

    private static final String REFUSED_BODY = "urn:weir:gateway-overloaded";

    @ParameterizedTest
    @EnumSource(names = {"HTTP1", "HTTP1_OR_H2C", "TLS_HTTP1"})
    void refusesAtTheHeadAndServesTheNextRequestOfTheConnection(Protocols protocols) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(protocols);
                RawHttp1Client caller = server.connect()) {
            for (int round = 0; round < 3; round++) {
                server.shedding.isOn = false;
                assertThat(caller.get("/hello").body()).isEqualTo("hello");
                server.shedding.isOn = true;
                for (int i = 0; i < 3; i++) {
                    assertRefused(caller.get("/hello"));
                }
            }
            assertThat(server.handled).hasValue(3);
            assertThat(server.listener.refused)
                    .hasSize(9)
                    .allMatch(refused -> refused.reason() == Reason.GATEWAY_OVERLOADED
                            && "GET".equals(refused.method())
                            && "/hello".equals(refused.target()));
        }
    }

    @Test
    void refusesTheFirstRequestOfAConnection() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C)) {
            server.shedding.isOn = true;
            try (RawHttp1Client caller = server.connect()) {
                assertRefused(caller.get("/hello"));
                server.shedding.isOn = false;
                assertThat(caller.get("/hello").body()).isEqualTo("hello");
            }
        }
    }

    @Test
    void answersHeadWithoutABody() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1);
                RawHttp1Client caller = server.connect()) {
            server.shedding.isOn = true;
            caller.send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
            assertThat(caller.answer(false).status()).isEqualTo(503);
            server.shedding.isOn = false;
            assertThat(caller.get("/hello").body()).isEqualTo("hello");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 60000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nea60\r\n"})
    void dropsABodyAndServesTheNextRequest(String framing) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1);
                RawHttp1Client caller = server.connect()) {
            server.shedding.isOn = true;
            caller.send("POST /echo HTTP/1.1\r\nHost: a\r\n" + framing);
            assertRefused(caller.answer());
            server.shedding.isOn = false;
            for (int i = 0; i < 6; i++) {
                caller.send("x".repeat(10_000));
            }
            caller.send(framing.startsWith("T") ? "\r\n0\r\n\r\n" : "");

            assertThat(caller.get("/hello").body()).isEqualTo("hello");
            assertThat(server.handled).hasValue(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
                "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                "GET /hello HTTP/1.0\r\n\r\n"
            })
    void closesAConnectionThatCannotGoOn(String request) throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1);
                RawHttp1Client caller = server.connect()) {
            server.shedding.isOn = true;
            caller.send(request);

            RawHttp1Client.Answer refused = caller.answer();
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.closes()).isTrue();
            assertThat(caller.rest()).isEmpty();
        }
    }

    @Test
    void closesTheConnectionWhileTheGatewayDrains() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1);
                RawHttp1Client caller = server.connect()) {
            caller.get("/hello");
            server.shedding.isOn = true;
            server.drain.enter(Drain.Phase.ANNOUNCED);

            assertThat(caller.get("/hello").closes()).isTrue();
        }
    }

    @Test
    void refusesStreamsOfAConnectionThatGoesOn() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1_OR_H2C);
                RawHttp2Client caller = RawHttp2Client.to(server.port())) {
            server.shedding.isOn = true;
            caller.headers(1, RawHttp2Client.get("/hello"), true);
            server.listener.awaitRefused(1);
            server.shedding.isOn = false;
            caller.headers(3, RawHttp2Client.get("/hello"), true);

            List<String> heads = new ArrayList<>();
            while (heads.size() < 2) {
                String event = caller.next();
                if (event.startsWith("headers")) {
                    heads.add(event);
                }
            }
            assertThat(heads).containsExactly("headers 1 503", "headers 3 200");
        }
    }

    @Test
    void letsTlsHandshakesWaitForTheirTurn() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.TLS_HTTP1)) {
            server.shedding.isOn = true;
            CompletableFuture<RawHttp1Client.Answer> answer = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                try (RawHttp1Client caller = server.connect()) {
                    answer.complete(caller.get("/hello"));
                } catch (Exception e) {
                    answer.completeExceptionally(e);
                }
            });
            RecordingEdgeListener.await("handshake waits", () -> !server.shedding.waiting.isEmpty());
            server.shedding.isOn = false;
            server.shedding.runWaiting();

            assertThat(answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).body())
                    .isEqualTo("hello");
            assertThat(server.shedding.waiting).isEmpty();
        }
    }

    @Test
    void forgetsAHandshakeWhoseCallerLeaves() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.TLS_HTTP1)) {
            server.shedding.isOn = true;
            try (RawHttp1Client caller = RawHttp1Client.to(server.port())) {
                // The beginning of a handshake.
                caller.send(new byte[] {22, 3, 1, 2, 0});
                RecordingEdgeListener.await("handshake waits", () -> !server.shedding.waiting.isEmpty());
                caller.hangUp();
            }
            server.listener.awaitClosed(1);
            RecordingEdgeListener.await("handshake forgotten", () -> server.shedding.waiting.isEmpty());
        }
    }

    @Test
    void acceptsEveryConnectionWhileItSheds() throws Exception {
        try (GuardedTestServer server = GuardedTestServer.start(Protocols.HTTP1)) {
            server.shedding.isOn = true;
            List<RawHttp1Client> callers = new ArrayList<>();
            for (int i = 0; i < 5 * AcceptLimiter.AT_LEAST; i++) {
                callers.add(server.connect());
            }
            for (RawHttp1Client caller : callers) {
                assertRefused(caller.get("/hello"));
            }
            server.shedding.isOn = false;
            for (RawHttp1Client caller : callers) {
                assertThat(caller.get("/hello").status()).isEqualTo(200);
                caller.close();
            }
            try (RawHttp1Client late = server.connect()) {
                assertThat(late.get("/hello").status()).isEqualTo(200);
            }
        }
    }

    private static void assertRefused(RawHttp1Client.Answer answer) {
        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.body()).contains(REFUSED_BODY, "\"retry-after-ms\":1234");
        assertThat(answer.field("retry-after")).isEqualTo("2");
        assertThat(answer.field("x-request-id")).isNotNull();
        assertThat(answer.closes()).isFalse();
    }
}
