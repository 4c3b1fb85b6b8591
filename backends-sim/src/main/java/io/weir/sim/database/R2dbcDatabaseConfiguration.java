package io.weir.sim.database;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.r2dbc.postgresql.PostgresqlConnectionFactory;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.r2dbc.core.DatabaseClient;
import reactor.core.publisher.Mono;

/** The connection pool of the R2DBC stacks. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStack({Stack.MVC_R2DBC, Stack.WEBFLUX_R2DBC})
class R2dbcDatabaseConfiguration {

    @Bean(destroyMethod = "dispose")
    ConnectionPool connectionFactory(DatabaseProperties properties, DatabaseLocation location, Environment environment)
            throws InterruptedException, ExecutionException, TimeoutException {
        PostgresqlConnectionFactory unpooled =
                R2dbcSessions.unpooled(location, environment.getRequiredProperty("spring.application.name"));
        // Without the pool: the first connection of a cold process may take longer than the pool's acquire
        // timeout.
        finish(DatabaseClient.create(unpooled).sql(RecordsSchema.script()).then(), properties);
        ConnectionPool pool = new ConnectionPool(ConnectionPoolConfiguration.builder(unpooled)
                .name("records")
                .maxSize(properties.poolSize())
                .initialSize(properties.poolMinimum())
                .minIdle(properties.poolMinimum())
                .maxAcquireTime(properties.acquireTimeout())
                .build());
        finish(pool.warmup(), properties);
        return pool;
    }

    /** Blocks the start until the step is complete, as the JDBC stacks do. */
    private static void finish(Mono<?> step, DatabaseProperties properties)
            throws InterruptedException, ExecutionException, TimeoutException {
        step.toFuture().get(properties.startTimeout().toMillis(), TimeUnit.MILLISECONDS);
    }

    @Bean
    DatabaseClient databaseClient(ConnectionPool pool) {
        return DatabaseClient.create(pool);
    }
}
