package io.weir;

import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Tests of one gateway in front of one backend, whose calls wait until the test answers them. After each of them nothing is held, and the
 * neighbour is served. Who extends this starts both.
 */
abstract class GatewayTests {

    @SuppressWarnings("NullAway.Init") // By who extends this, before all tests.
    static TestBackend backend;

    @SuppressWarnings("NullAway.Init")
    static TestGateway gateway;

    /** The backend's behaviour, unless a test chooses another. */
    HeldCalls calls;

    @BeforeEach
    final void calm() {
        gateway.calm();
        calls = new HeldCalls();
        backend.behave(calls);
    }

    @AfterEach
    final void nothingIsHeld() throws IOException {
        calls.release();
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }
}
