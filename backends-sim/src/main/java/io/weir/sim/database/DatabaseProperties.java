package io.weir.sim.database;

import io.weir.sim.problem.Setting;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where the records are, and how many connections lead there. The same for both drivers, so that they can be compared.
 *
 * @param url an outside PostgreSQL, {@code postgresql://host:port/database}; default none: the PostgreSQL that the
 *     processes on this machine share, started by whoever comes first
 * @param username who connects; default {@code postgres}
 * @param password with what; default empty, which the shared one accepts
 * @param poolSize most connections in the pool, 1 to 1000; default 100, the figure of the published comparisons
 * @param poolMinimum connections opened at the start and kept, 0 to the pool's size; default 10, so that a start takes
 *     no longer than it must
 * @param acquireTimeout longest wait for a connection from the pool, at least 250 ms, as HikariCP wants it; default 30 s
 * @param stateDir where the processes that share a PostgreSQL find each other; default {@code weir-sim-<user>} in the
 *     temporary directory. Processes with different directories share nothing
 * @param startTimeout longest wait until the shared PostgreSQL is up, more than 0; default 60 s
 * @param maxConnections connections that the shared PostgreSQL accepts, 10 to 10000; default 1000, five stacks with
 *     pools of 100 and as many again for experiments. Only the one who comes first sets it
 */
@ConfigurationProperties("sim.database")
public record DatabaseProperties(
        @Nullable String url,
        @DefaultValue("postgres") String username,
        @DefaultValue("") String password,
        @DefaultValue("100") int poolSize,
        @DefaultValue("10") int poolMinimum,
        @DefaultValue("30s") Duration acquireTimeout,
        @Nullable Path stateDir,
        @DefaultValue("60s") Duration startTimeout,
        @DefaultValue("1000") int maxConnections) {

    public DatabaseProperties {
        Setting.require(poolSize >= 1 && poolSize <= 1000, "sim.database.pool-size", poolSize, "1 to 1000");
        Setting.require(
                poolMinimum >= 0 && poolMinimum <= poolSize,
                "sim.database.pool-minimum",
                poolMinimum,
                "0 to pool-size, " + poolSize);
        Setting.require(
                acquireTimeout.toMillis() >= 250, "sim.database.acquire-timeout", acquireTimeout, "at least 250ms");
        Setting.require(startTimeout.isPositive(), "sim.database.start-timeout", startTimeout, "more than 0");
        Setting.require(
                maxConnections >= 10 && maxConnections <= 10_000,
                "sim.database.max-connections",
                maxConnections,
                "10 to 10000");
    }

    /** Where the users of the shared database meet. */
    Path stateDirectory() {
        return stateDir != null
                ? stateDir
                : Path.of(System.getProperty("java.io.tmpdir"), "weir-sim-" + System.getProperty("user.name"));
    }
}
