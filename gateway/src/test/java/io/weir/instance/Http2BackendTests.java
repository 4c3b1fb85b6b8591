package io.weir.instance;

import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** Tests of one gateway in front of a backend over HTTP/2, whose behaviour each test sets. */
abstract class Http2BackendTests extends OneGatewayTests {

    static final String ORDERS = "orders";

    @SuppressWarnings("NullAway.Init") // Set before all tests.
    static TestHttp2Backend backend;

    @BeforeAll
    static void start() {
        backend = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(ORDERS, backend.uri(), "protocol: h2", "deadline: 20s")
                .route(ORDERS, ORDERS)
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }
}
