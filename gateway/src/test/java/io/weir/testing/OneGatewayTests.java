package io.weir.testing;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;

/**
 * Tests of one gateway, which a subclass starts and closes. After each test nothing is held and the neighbour
 * is served.
 */
public abstract class OneGatewayTests {

    @SuppressWarnings("NullAway.Init") // Set by the subclass, before all tests.
    protected static TestGateway gateway;

    protected static TestCaller.Answer get(Door door, String route, String rest, String... fields) throws IOException {
        return TestCaller.get(gateway.port(), door.path(route, rest), fields);
    }

    @AfterEach
    protected void nothingIsHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }
}
