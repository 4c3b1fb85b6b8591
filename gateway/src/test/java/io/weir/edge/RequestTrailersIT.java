package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;
import reactor.core.publisher.Flux;
import reactor.netty.ByteBufFlux;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;

/** A request's trailers reach the backend as trailers; tested with HTTP/1 on both sides. */
class RequestTrailersIT extends OneBackendTests {

    private static final String BACKEND = "orders";

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, String.join("|", conversation.trailers()));
        });
        gateway = TestGateway.setup()
                .weir("edge: { priority-header: X-Priority }")
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .route(BACKEND, BACKEND)
                .start();
    }

    @Door.Each
    void passesOnTrailersThatBelongToNoHead(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            String path = door.path(BACKEND, "trailers");
            assertThat(post(caller, path, "X-Checksum: abc\r\nContent-Length: 7\r\nX-Forwarded-For: 1.2.3.4\r\n"))
                    .isEqualToIgnoringCase("X-Checksum: abc");
            // A later request on the same connections does not repeat them.
            assertThat(post(caller, path, "")).isEmpty();
            assertThat(post(caller, path, "X-Other: 1\r\n")).isEqualToIgnoringCase("X-Other: 1");
        }
    }

    /** A backend that merges trailers into the head would rank the call as the caller says. */
    @Door.Each
    void dropsThePriorityThatOnlyTheGatewayMayState(Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            String trailers = "X-Priority: critical\r\nx_priority: critical\r\nX-Priority-2: kept\r\n";
            assertThat(post(caller, door.path(BACKEND, "priority"), trailers))
                    .isEqualToIgnoringCase("X-Priority-2: kept");
        }
    }

    @Door.Each
    void acceptsABodyOfUnknownLengthOverHttp2(Door door) {
        String answer = HttpClient.create()
                .protocol(HttpProtocol.H2C)
                .post()
                .uri("http://127.0.0.1:" + gateway.port() + door.path(BACKEND, "unknown-length"))
                .send(ByteBufFlux.fromString(Flux.just("one", "two")))
                .responseSingle((head, body) -> body.asString()
                        .defaultIfEmpty("")
                        .map(text -> head.status().code() + text))
                .block(TestGateway.PATIENCE);

        assertThat(answer).isEqualTo("200");
    }

    private static String post(TestCaller caller, String path, String trailers) throws IOException {
        caller.send(TestCaller.head("POST", path, "Transfer-Encoding: chunked"));
        caller.send("3\r\nabc\r\n0\r\n" + trailers + "\r\n");
        TestCaller.Answer answer = caller.answer();
        assertThat(answer.status()).isEqualTo(200);
        return answer.text();
    }
}
