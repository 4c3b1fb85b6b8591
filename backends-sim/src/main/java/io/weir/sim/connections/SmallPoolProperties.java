package io.weir.sim.connections;

import io.weir.sim.problem.Setting;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The small pool that unlimited virtual threads meet in {@code /connections}.
 *
 * @param poolSize its connections, 2 to 100; default 10. It is opened by the first request
 * @param acquireTimeout longest wait for one, at least 250 ms, as HikariCP wants it; default 500 ms
 * @param hold how long a request uses its connection, more than 0 to 1 minute; default 50 ms
 */
@ConfigurationProperties("sim.connections")
record SmallPoolProperties(
        @DefaultValue("10") int poolSize,
        @DefaultValue("500ms") Duration acquireTimeout,
        @DefaultValue("50ms") Duration hold) {

    private static final Duration HOLD_MAX = Duration.ofMinutes(1);

    SmallPoolProperties {
        Setting.require(poolSize >= 2 && poolSize <= 100, "sim.connections.pool-size", poolSize, "2 to 100");
        Setting.require(
                acquireTimeout.toMillis() >= 250, "sim.connections.acquire-timeout", acquireTimeout, "at least 250ms");
        Setting.require(
                hold.isPositive() && hold.compareTo(HOLD_MAX) <= 0,
                "sim.connections.hold",
                hold,
                "more than 0, to 1 minute");
    }
}
