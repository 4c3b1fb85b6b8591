package io.weir.sim.connections;

import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.sim.database.DatabaseLocation;
import io.weir.sim.problem.ProblemException;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** A small HikariCP pool, and three ways in which a request acquires connections from it. */
@Component
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class SmallPool implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(SmallPool.class);

    /** The connection that the current request already holds; visible to every method that it calls. */
    private static final ScopedValue<Connection> REQUEST_CONNECTION = ScopedValue.newInstance();

    private final SmallPoolProperties properties;
    private final HikariDataSource pool = new HikariDataSource();
    private final Semaphore permits;
    private final ConnectionLedger ledger;

    SmallPool(SmallPoolProperties properties, DatabaseLocation location, MeterRegistry meters) {
        this.properties = properties;
        this.permits = new Semaphore(properties.poolSize(), true);
        this.ledger = new ConnectionLedger(properties.poolSize());
        // HikariCP opens the pool at the first request, so an unused pool opens no connection.
        pool.setPoolName("small");
        pool.setJdbcUrl(location.jdbcUrl("weir-sim-connections"));
        pool.setUsername(location.username());
        pool.setPassword(location.password());
        pool.setMaximumPoolSize(properties.poolSize());
        pool.setConnectionTimeout(properties.acquireTimeout().toMillis());
        pool.setMetricRegistry(meters);
        FunctionCounter.builder("sim.connections.deadlocks", ledger, ConnectionLedger::deadlockCount)
                .description("Deadlocks among requests that hold a connection and wait for another")
                .register(meters);
        Gauge.builder("sim.connections.deadlocked", ledger, source -> source.isDeadlocked() ? 1 : 0)
                .description("1 while such a deadlock exists, else 0")
                .register(meters);
    }

    /** Limits how many requests ask the pool at the same time. */
    enum PoolGuard {
        /** No limit. */
        NONE,
        /**
         * As many requests as the pool has connections; the others wait at the semaphore, which has no
         * timeout.
         */
        SEMAPHORE
    }

    /** How a request acquires connections if two of its methods need one. */
    enum Acquisition {
        /** Only one method needs a connection. */
        SINGLE,
        /** The request acquires a second connection while it holds the first. */
        NESTED,
        /** The inner method uses the connection of the outer one. */
        ONCE
    }

    /** Does the work of one request on the calling thread. */
    void use(PoolGuard guard, Acquisition acquisition) throws SQLException, InterruptedException {
        if (guard == PoolGuard.SEMAPHORE) {
            permits.acquire();
        }
        try {
            use(acquisition, new Object());
        } finally {
            if (guard == PoolGuard.SEMAPHORE) {
                permits.release();
            }
        }
    }

    private void use(Acquisition acquisition, Object request) throws SQLException {
        try (LeasedConnection outer = acquire(request)) {
            work(outer.connection);
            switch (acquisition) {
                case SINGLE -> {}
                case NESTED -> useInner(request);
                case ONCE ->
                    ScopedValue.where(REQUEST_CONNECTION, outer.connection).call(() -> {
                        useInner(request);
                        return null;
                    });
            }
        }
    }

    /** A nested method, which does not know whether its caller holds a connection. */
    private void useInner(Object request) throws SQLException {
        if (REQUEST_CONNECTION.isBound()) {
            work(REQUEST_CONNECTION.get());
        } else {
            try (LeasedConnection own = acquire(request)) {
                work(own.connection);
            }
        }
    }

    private void work(Connection connection) throws SQLException {
        try (PreparedStatement sleep = connection.prepareStatement("select pg_sleep(?)")) {
            sleep.setDouble(1, properties.hold().toMillis() / 1000.0);
            sleep.execute();
        }
    }

    private final class LeasedConnection implements AutoCloseable {
        private final Object request;
        private final Connection connection;

        private LeasedConnection(Object request, Connection connection) {
            this.request = request;
            this.connection = connection;
        }

        @Override
        public void close() throws SQLException {
            // Before the connection returns to the pool: otherwise two requests could be recorded as its
            // holder.
            ledger.released(request);
            connection.close();
        }
    }

    private LeasedConnection acquire(Object request) throws SQLException {
        if (ledger.beginWait(request)) {
            log.warn(
                    "Deadlock: all {} connections are held by requests that wait for another connection",
                    properties.poolSize());
        }
        Connection connection;
        try {
            connection = pool.getConnection();
        } catch (SQLTransientConnectionException e) {
            boolean deadlock = ledger.timedOut(request);
            throw ProblemException.unavailable(
                    deadlock ? "Deadlock" : "No connection",
                    deadlock
                            ? "all " + properties.poolSize()
                                    + " connections are held by requests that wait for another one"
                            : "none of " + properties.poolSize() + " connections was free within "
                                    + properties.acquireTimeout().toMillis() + " ms");
        } catch (SQLException e) {
            ledger.timedOut(request);
            throw e;
        }
        ledger.acquired(request);
        return new LeasedConnection(request, connection);
    }

    @Override
    public void close() {
        pool.close();
    }
}
