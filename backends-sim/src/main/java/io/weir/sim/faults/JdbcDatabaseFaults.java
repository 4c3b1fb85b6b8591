package io.weir.sim.faults;

import com.zaxxer.hikari.HikariDataSource;
import io.weir.sim.database.DatabaseLocation;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Takes connections from HikariCP, and locks rows over a separate JDBC connection. */
@Component
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class JdbcDatabaseFaults implements DatabaseFaults {

    private static final Logger log = LoggerFactory.getLogger(JdbcDatabaseFaults.class);

    private final HikariDataSource pool;
    private final DatabaseLocation location;

    JdbcDatabaseFaults(HikariDataSource pool, DatabaseLocation location) {
        this.pool = pool;
        this.location = location;
    }

    @Override
    public DatabaseHold takeConnections(int connections) {
        HeldJdbcConnections taken = new HeldJdbcConnections();
        int wanted = Math.min(connections, pool.getMaximumPoolSize());
        for (int i = 0; i < wanted; i++) {
            taken.takers.add(Thread.ofVirtual().name("fault-pool-" + i).start(() -> takeOne(taken)));
        }
        return taken;
    }

    private void takeOne(HeldJdbcConnections taken) {
        while (!taken.isClosed()) {
            try {
                taken.keep(pool.getConnection());
                return;
            } catch (SQLException e) {
                // The pool was busy for longer than its acquire timeout; wait again.
                log.debug("Still waiting for a connection to hold", e);
            }
        }
    }

    @Override
    public DatabaseHold lockRow(long row) {
        LockedRow locked = new LockedRow();
        Thread.ofVirtual().name("fault-lock").start(() -> locked.lock(row));
        return locked;
    }

    private static final class HeldJdbcConnections implements DatabaseHold {
        private final List<Thread> takers = new ArrayList<>();
        private final List<Connection> held = new ArrayList<>();
        private boolean closed;

        private synchronized void keep(Connection connection) {
            if (closed) {
                release(connection);
            } else {
                held.add(connection);
            }
        }

        private synchronized boolean isClosed() {
            return closed;
        }

        @Override
        public synchronized int held() {
            return held.size();
        }

        @Override
        public @Nullable Throwable failure() {
            return null;
        }

        @Override
        public synchronized void close() {
            closed = true;
            held.forEach(JdbcDatabaseFaults::release);
            held.clear();
            takers.forEach(Thread::interrupt);
        }
    }

    private static void release(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            log.warn("Could not return a held connection", e);
        }
    }

    private final class LockedRow implements DatabaseHold {
        private @Nullable Connection session;
        private boolean held;
        private boolean closed;
        private @Nullable SQLException failure;

        /** Acquires the lock. Waits outside the monitor if another session holds it. */
        private void lock(long row) {
            try {
                Connection connection = DriverManager.getConnection(
                        location.jdbcUrl("weir-sim-fault-lock"), location.username(), location.password());
                if (!opened(connection)) {
                    connection.close();
                    return;
                }
                connection.setAutoCommit(false);
                try (PreparedStatement select =
                        connection.prepareStatement("select id from records where id = ? for update")) {
                    select.setLong(1, row);
                    boolean found = select.executeQuery().next();
                    locked(found ? null : new SQLException("no row " + row));
                }
            } catch (SQLException e) {
                locked(e);
            }
        }

        private synchronized boolean opened(Connection connection) {
            session = connection;
            return !closed;
        }

        private synchronized void locked(@Nullable SQLException problem) {
            held = problem == null;
            failure = problem;
        }

        @Override
        public synchronized int held() {
            return held && !closed ? 1 : 0;
        }

        @Override
        public synchronized @Nullable Throwable failure() {
            return failure;
        }

        @Override
        public synchronized void close() {
            closed = true;
            if (session != null) {
                try {
                    // Ends the session even during a wait; the database rolls back and releases the row.
                    session.abort(Runnable::run);
                } catch (SQLException e) {
                    log.warn("Could not end the session that holds the row lock", e);
                }
            }
        }
    }
}
