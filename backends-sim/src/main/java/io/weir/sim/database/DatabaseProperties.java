package io.weir.sim.database;

import io.weir.sim.problem.PropertyCheck;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The address of the database and the size of the connection pool. Both drivers use the same properties, so
 * that they can be compared.
 *
 * @param url an external PostgreSQL, {@code postgresql://host:port/database}; default none: the PostgreSQL
 *     that the processes on this machine share; the first process starts it
 * @param username the user's name; default {@code postgres}
 * @param password the user's password; default empty, which the shared PostgreSQL accepts
 * @param poolSize maximum connections in the pool, 1 to 1000; default 100, as in the published comparisons
 * @param poolMinimum connections opened at the start and kept open, 0 to the pool's size; default 10, for a
 *     short start
 * @param acquireTimeout longest wait for a connection from the pool, at least 250 ms, HikariCP's minimum;
 *     default 30 s
 * @param stateDir directory through which processes find the shared PostgreSQL; default
 *     {@code weir-sim-<user>} in the temporary directory. Processes with different directories use different
 *     databases
 * @param startTimeout longest wait for the shared PostgreSQL to start, more than 0; default 60 s
 * @param maxConnections connections that the shared PostgreSQL accepts, 10 to 10000; default 1000: five
 *     stacks with pools of 100, and as many again for experiments. Only the process that starts the database
 *     applies it
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
        PropertyCheck.require(poolSize >= 1 && poolSize <= 1000, "sim.database.pool-size", poolSize, "1 to 1000");
        PropertyCheck.require(
                poolMinimum >= 0 && poolMinimum <= poolSize,
                "sim.database.pool-minimum",
                poolMinimum,
                "0 to pool-size, " + poolSize);
        PropertyCheck.require(
                acquireTimeout.toMillis() >= 250, "sim.database.acquire-timeout", acquireTimeout, "at least 250ms");
        PropertyCheck.require(startTimeout.isPositive(), "sim.database.start-timeout", startTimeout, "more than 0");
        PropertyCheck.require(
                maxConnections >= 10 && maxConnections <= 10_000,
                "sim.database.max-connections",
                maxConnections,
                "10 to 10000");
    }

    /** The directory through which processes find the shared database. */
    Path stateDirectory() {
        return stateDir != null
                ? stateDir
                : Path.of(System.getProperty("java.io.tmpdir"), "weir-sim-" + System.getProperty("user.name"));
    }
}
