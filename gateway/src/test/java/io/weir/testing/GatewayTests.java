package io.weir.testing;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tests of one gateway in front of one backend that holds each call until the test answers it. */
public abstract class GatewayTests extends OneBackendTests {

    /** The default behaviour of the backend. */
    protected HeldCalls calls;

    @BeforeEach
    protected final void calm() {
        gateway.calm();
        calls = new HeldCalls();
        backend.behave(calls);
    }

    @AfterEach
    protected final void release() {
        calls.release();
    }
}
