package io.weir.sim.connections;

import io.weir.sim.problem.PropertyCheck;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The small pool of {@code /connections}, which any number of virtual threads share.
 *
 * @param poolSize connections in the pool, 2 to 100; default 10. The first request opens the pool
 * @param acquireTimeout longest wait for a connection, at least 250 ms, HikariCP's minimum; default 500 ms
 * @param hold how long a request uses its connection, more than 0 to 1 minute; default 50 ms
 */
@ConfigurationProperties("sim.connections")
record SmallPoolProperties(
        @DefaultValue("10") int poolSize,
        @DefaultValue("500ms") Duration acquireTimeout,
        @DefaultValue("50ms") Duration hold) {

    private static final Duration HOLD_MAX = Duration.ofMinutes(1);

    SmallPoolProperties {
        PropertyCheck.require(poolSize >= 2 && poolSize <= 100, "sim.connections.pool-size", poolSize, "2 to 100");
        PropertyCheck.require(
                acquireTimeout.toMillis() >= 250, "sim.connections.acquire-timeout", acquireTimeout, "at least 250ms");
        PropertyCheck.require(
                hold.isPositive() && hold.compareTo(HOLD_MAX) <= 0,
                "sim.connections.hold",
                hold,
                "more than 0, to 1 minute");
    }
}
