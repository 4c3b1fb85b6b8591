package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.RawHttp2Client;
import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import org.junit.jupiter.api.BeforeAll;

/** An HTTP/2 request that ends with an empty DATA frame has no body, also for a backend over HTTP/1.1. */
class EmptyBodyIT extends OneBackendTests {

    private static final String BACKEND = "orders";

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, "ok");
        });
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .route(BACKEND, BACKEND)
                .start();
    }

    private static TestBackend.Request received(Door door, String method, int bodyBytes) throws Exception {
        Http2Headers head = RawHttp2Client.get(door.path(BACKEND, method));
        head.method(method);
        try (RawHttp2Client client = RawHttp2Client.to(gateway.port())) {
            client.headers(1, head, false);
            client.data(1, bodyBytes, true);
            assertThat(client.next()).isEqualTo("headers 1 200");
        }
        return backend.next();
    }

    @Door.Each
    void sendsNoFramingOfABodyThatIsEmpty(Door door) throws Exception {
        for (String method : new String[] {"GET", "DELETE", "OPTIONS"}) {
            TestBackend.Request request = received(door, method, 0);
            assertThat(request.header("transfer-encoding")).as(method).isNull();
            assertThat(request.header("content-length")).as(method).isIn(null, "0");
        }
    }

    @Door.Each
    void sendsABodyThatHasBytes(Door door) throws Exception {
        for (String method : new String[] {"GET", "DELETE", "POST"}) {
            assertThat(received(door, method, 7).header("transfer-encoding"))
                    .as(method)
                    .isEqualTo("chunked");
        }
    }

    /** As the caller has sent it: a POST has a body, which may be empty. */
    @Door.Each
    void sendsAnEmptyBodyOfAPost(Door door) throws Exception {
        assertThat(received(door, "POST", 0).header("transfer-encoding")).isEqualTo("chunked");
    }
}
