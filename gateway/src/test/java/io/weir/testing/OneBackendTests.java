package io.weir.testing;

import org.junit.jupiter.api.AfterAll;

/** Tests of one gateway in front of one backend, both of which a subclass starts. */
public abstract class OneBackendTests extends OneGatewayTests {

    @SuppressWarnings("NullAway.Init") // Set by the subclass, before all tests.
    protected static TestBackend backend;

    @AfterAll
    protected static void stop() {
        gateway.close();
        backend.close();
    }
}
