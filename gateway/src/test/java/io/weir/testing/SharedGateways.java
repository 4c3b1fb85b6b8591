package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.weir.live.RetiredGenerations;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.LoggerFactory;

/**
 * Gateways that the tests of this JVM use one after the other. Between tests a gateway has no backend and no
 * route, and nothing is left of the previous ones: no call, no connection to a backend, no meter.
 */
final class SharedGateways {

    static final SharedGateways USUAL = new SharedGateways(true);
    /** They do not measure their own pauses. */
    static final SharedGateways WITHOUT_PAUSES = new SharedGateways(false);

    private static final Logger CHANGES = (Logger) LoggerFactory.getLogger(LiveConfiguration.class);
    private static final String BETWEEN_TESTS = "weir: {}\n";
    private static final String LAST_PATH = "/given-back";

    private final boolean countsPauses;
    private final Deque<TestGateway> idle = new ArrayDeque<>();

    private SharedGateways(boolean countsPauses) {
        this.countsPauses = countsPauses;
    }

    synchronized TestGateway take(String yaml) {
        TestGateway gateway = idle.isEmpty() ? start() : idle.pop();
        reload(gateway, yaml);
        return gateway;
    }

    private TestGateway start() {
        TestGateway gateway = TestGateway.startUnwatched(BETWEEN_TESTS);
        if (!countsPauses) {
            gateway.endPauses();
        }
        return gateway;
    }

    synchronized void giveBack(TestGateway gateway) {
        gateway.assertNothingHeld();
        reload(gateway, BETWEEN_TESTS);
        RetiredGenerations retired = gateway.bean(RetiredGenerations.class);
        await().untilAsserted(() -> {
            assertThat(retired.openResources()).isZero();
            assertThat(retired.generationsInUse()).isZero();
        });
        awaitLog(gateway);
        idle.push(gateway.forNextTests());
    }

    private static void reload(TestGateway gateway, String yaml) {
        Level level = CHANGES.getLevel();
        // Each value of the configuration is a line.
        CHANGES.setLevel(Level.OFF);
        try {
            gateway.rewrite(yaml);
            assertThat(gateway.bean(LiveConfiguration.class)
                            .reload(Trigger.REQUEST, "a test")
                            .problems())
                    .as("problems of %s", yaml)
                    .isEmpty();
        } finally {
            CHANGES.setLevel(level);
        }
    }

    /** Waits until the log is complete: it is in the order of the answers, of which this is the last one. */
    private static void awaitLog(TestGateway gateway) {
        try {
            assertThat(TestCaller.get(gateway.port(), LAST_PATH).status()).isEqualTo(404);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        gateway.logged(LAST_PATH);
    }
}
