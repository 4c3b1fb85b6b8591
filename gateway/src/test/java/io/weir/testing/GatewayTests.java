package io.weir.testing;

import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Tests of one gateway in front of one backend that holds each call until the test answers it. After each
 * test nothing is held and the neighbour is served. A subclass starts the gateway and the backend.
 */
public abstract class GatewayTests {

    @SuppressWarnings("NullAway.Init") // By who extends this, before all tests.
    protected static TestBackend backend;

    @SuppressWarnings("NullAway.Init")
    protected static TestGateway gateway;

    /** The default behaviour of the backend. */
    protected HeldCalls calls;

    @BeforeEach
    protected final void calm() {
        gateway.calm();
        calls = new HeldCalls();
        backend.behave(calls);
    }

    @AfterEach
    protected final void nothingIsHeld() throws IOException {
        calls.release();
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @AfterAll
    protected static void stop() {
        gateway.close();
        backend.close();
    }
}
