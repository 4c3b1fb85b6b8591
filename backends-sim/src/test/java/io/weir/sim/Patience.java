package io.weir.sim;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The time that every test of the simulator waits for a condition that must come true. It is long enough for
 * a machine that is busy with other work, because only a failure takes it. JUnit registers this extension for
 * all test classes.
 */
public final class Patience implements BeforeAllCallback {

    /** How long a test waits for a condition that must come true. */
    public static final Duration PATIENCE = Duration.ofSeconds(60);

    static {
        // The awaited conditions become true within milliseconds.
        Awaitility.setDefaultTimeout(PATIENCE);
        Awaitility.setDefaultPollDelay(Duration.ZERO);
        Awaitility.setDefaultPollInterval(Duration.ofMillis(20));
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        // The initialization of this class is the effect.
    }
}
