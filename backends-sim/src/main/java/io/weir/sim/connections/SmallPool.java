package io.weir.sim.connections;

import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.sim.database.DatabaseLocation;
import io.weir.sim.problem.Refusal;
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

/** A small HikariCP pool, and the three ways in which a request can get its connections from it. */
@Component
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class SmallPool implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(SmallPool.class);

    /** The connection that this request already has, for whatever it calls. */
    private static final ScopedValue<Connection> OF_THIS_REQUEST = ScopedValue.newInstance();

    private final SmallPoolProperties properties;
    private final HikariDataSource pool = new HikariDataSource();
    private final Semaphore permits;
    private final ConnectionLedger ledger;

    SmallPool(SmallPoolProperties properties, DatabaseLocation location, MeterRegistry meters) {
        this.properties = properties;
        this.permits = new Semaphore(properties.poolSize(), true);
        this.ledger = new ConnectionLedger(properties.poolSize());
        // Opened by the first request: a pool that nobody asks for costs the database nothing.
        pool.setPoolName("small");
        pool.setJdbcUrl(location.jdbcUrl("weir-sim-connections"));
        pool.setUsername(location.username());
        pool.setPassword(location.password());
        pool.setMaximumPoolSize(properties.poolSize());
        pool.setConnectionTimeout(properties.acquireTimeout().toMillis());
        pool.setMetricRegistry(meters);
        FunctionCounter.builder("sim.connections.deadlocks", ledger, ConnectionLedger::deadlocks)
                .description("Deadlocks of requests that each hold a connection and wait for another")
                .register(meters);
        Gauge.builder("sim.connections.deadlocked", ledger, here -> here.deadlocked() ? 1 : 0)
                .description("Whether there is such a deadlock now")
                .register(meters);
    }

    /** How many may ask the pool at the same time. */
    enum Guard {
        /** All. */
        NONE,
        /** As many as it has connections: the others wait outside, where there is no time-out. */
        SEMAPHORE
    }

    /** How a request that needs a connection in two places comes to them. */
    enum Acquisition {
        /** It needs one in one place only. */
        SINGLE,
        /** It takes one, and another while it holds the first. */
        NESTED,
        /** It takes one, and the inner place uses that too. */
        ONCE
    }

    /** Does a request's work on the calling thread. */
    void use(Guard guard, Acquisition acquisition) throws SQLException, InterruptedException {
        if (guard == Guard.SEMAPHORE) {
            permits.acquire();
        }
        try {
            use(acquisition, new Object());
        } finally {
            if (guard == Guard.SEMAPHORE) {
                permits.release();
            }
        }
    }

    private void use(Acquisition acquisition, Object request) throws SQLException {
        try (Held outer = acquire(request)) {
            work(outer.connection);
            switch (acquisition) {
                case SINGLE -> {}
                case NESTED -> inner(request);
                case ONCE ->
                    ScopedValue.where(OF_THIS_REQUEST, outer.connection).call(() -> {
                        inner(request);
                        return null;
                    });
            }
        }
    }

    /** Somewhere below, that needs a connection and does not know who calls it. */
    private void inner(Object request) throws SQLException {
        if (OF_THIS_REQUEST.isBound()) {
            work(OF_THIS_REQUEST.get());
        } else {
            try (Held own = acquire(request)) {
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

    private final class Held implements AutoCloseable {
        private final Object request;
        private final Connection connection;

        private Held(Object request, Connection connection) {
            this.request = request;
            this.connection = connection;
        }

        @Override
        public void close() throws SQLException {
            // Before the pool has it again: nobody may be seen holding it meanwhile.
            ledger.gaveBack(request);
            connection.close();
        }
    }

    private Held acquire(Object request) throws SQLException {
        if (ledger.waits(request)) {
            log.warn(
                    "deadlock: all {} connections are held by requests that wait for another one",
                    properties.poolSize());
        }
        Connection connection;
        try {
            connection = pool.getConnection();
        } catch (SQLTransientConnectionException e) {
            boolean deadlock = ledger.gaveUp(request);
            throw Refusal.unavailable(
                    deadlock ? "Deadlock" : "No connection",
                    deadlock
                            ? "all " + properties.poolSize()
                                    + " connections are held by requests that wait for another one"
                            : "none of " + properties.poolSize() + " connections was free within "
                                    + properties.acquireTimeout().toMillis() + " ms");
        } catch (SQLException e) {
            ledger.gaveUp(request);
            throw e;
        }
        ledger.got(request);
        return new Held(request, connection);
    }

    @Override
    public void close() {
        pool.close();
    }
}
