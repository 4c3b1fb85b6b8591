package io.weir.sim.faults;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.spi.Connection;
import io.r2dbc.spi.ConnectionFactory;
import io.weir.sim.database.DatabaseLocation;
import io.weir.sim.database.DatabaseProperties;
import io.weir.sim.database.R2dbcSessions;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Takes connections from r2dbc-pool, and locks rows over a separate R2DBC connection. */
@Component
@ConditionalOnStack({Stack.MVC_R2DBC, Stack.WEBFLUX_R2DBC})
class R2dbcDatabaseFaults implements DatabaseFaults {

    private static final Logger log = LoggerFactory.getLogger(R2dbcDatabaseFaults.class);

    private final ConnectionPool pool;
    private final int poolSize;
    private final ConnectionFactory outside;

    R2dbcDatabaseFaults(ConnectionPool pool, DatabaseProperties properties, DatabaseLocation location) {
        this.pool = pool;
        this.poolSize = properties.poolSize();
        this.outside = R2dbcSessions.unpooled(location, "weir-sim-fault-lock");
    }

    @Override
    public DatabaseHold takeConnections(int connections) {
        HeldR2dbcConnections held = new HeldR2dbcConnections();
        int wanted = Math.min(connections, poolSize);
        held.setSubscription(Flux.range(0, wanted)
                // The pool was busy for longer than its acquire timeout; wait again.
                .flatMap(_ -> Mono.from(pool.create()).doOnNext(held::keep).retry(), wanted)
                .subscribe(_ -> {}, held::fail));
        return held;
    }

    @Override
    public DatabaseHold lockRow(long row) {
        HeldR2dbcConnections held = new HeldR2dbcConnections();
        held.setSubscription(Mono.from(outside.create())
                .flatMap(session -> lock(session, row)
                        .doOnNext(held::keep)
                        .doOnError(_ -> release(session))
                        .doOnCancel(() -> release(session)))
                .subscribe(_ -> {}, held::fail));
        return held;
    }

    private static Mono<Connection> lock(Connection session, long row) {
        return Mono.from(session.beginTransaction())
                .thenMany(Flux.from(session.createStatement("select id from records where id = $1 for update")
                        .bind(0, row)
                        .execute()))
                .flatMap(result -> result.map(found -> session))
                .next()
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("no row " + row)));
    }

    private static void release(Connection connection) {
        Mono.from(connection.close())
                .subscribe(_ -> {}, failure -> log.warn("Could not return a held connection", failure));
    }

    private static final class HeldR2dbcConnections implements DatabaseHold {
        private final List<Connection> held = new ArrayList<>();
        private @Nullable Disposable subscription;
        private boolean closed;
        private @Nullable Throwable failure;

        private synchronized void setSubscription(Disposable subscription) {
            this.subscription = subscription;
        }

        private synchronized void keep(Connection connection) {
            if (closed) {
                release(connection);
            } else {
                held.add(connection);
            }
        }

        private synchronized void fail(Throwable problem) {
            failure = problem;
        }

        @Override
        public synchronized int held() {
            return held.size();
        }

        @Override
        public synchronized @Nullable Throwable failure() {
            return failure;
        }

        @Override
        public synchronized void close() {
            closed = true;
            if (subscription != null) {
                subscription.dispose();
            }
            held.forEach(R2dbcDatabaseFaults::release);
            held.clear();
        }
    }
}
