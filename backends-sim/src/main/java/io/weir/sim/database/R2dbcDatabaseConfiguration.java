package io.weir.sim.database;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.r2dbc.core.DatabaseClient;

/** The pool of the R2DBC stacks. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStack({Stack.MVC_R2DBC, Stack.WEBFLUX_R2DBC})
class R2dbcDatabaseConfiguration {

    @Bean(destroyMethod = "dispose")
    ConnectionPool connectionFactory(
            DatabaseProperties properties, DatabaseLocation location, Environment environment) {
        return new ConnectionPool(ConnectionPoolConfiguration.builder(
                        R2dbcSessions.unpooled(location, environment.getRequiredProperty("spring.application.name")))
                .name("records")
                .maxSize(properties.poolSize())
                .initialSize(properties.poolMinimum())
                .minIdle(properties.poolMinimum())
                .maxAcquireTime(properties.acquireTimeout())
                .build());
    }

    /** Made before anything can ask for records. */
    @Bean
    DatabaseClient databaseClient(ConnectionPool pool, DatabaseProperties properties)
            throws InterruptedException, ExecutionException, TimeoutException {
        DatabaseClient client = DatabaseClient.create(pool);
        client.sql(RecordsSchema.script())
                .then()
                .toFuture()
                .get(properties.startTimeout().toMillis(), TimeUnit.MILLISECONDS);
        return client;
    }
}
