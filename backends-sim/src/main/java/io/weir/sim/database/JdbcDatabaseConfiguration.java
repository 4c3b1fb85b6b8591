package io.weir.sim.database;

import com.zaxxer.hikari.HikariDataSource;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The connection pool of the JDBC stacks. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class JdbcDatabaseConfiguration {

    /** HikariCP's other properties are set under {@code spring.datasource.hikari} by their own names. */
    @Bean
    @ConfigurationProperties("spring.datasource.hikari")
    HikariDataSource dataSource(DatabaseProperties properties, DatabaseLocation location, Environment environment) {
        HikariDataSource dataSource = new HikariDataSource();
        dataSource.setPoolName("records");
        dataSource.setJdbcUrl(location.jdbcUrl(environment.getRequiredProperty("spring.application.name")));
        dataSource.setUsername(location.username());
        dataSource.setPassword(location.password());
        dataSource.setMaximumPoolSize(properties.poolSize());
        dataSource.setMinimumIdle(properties.poolMinimum());
        dataSource.setConnectionTimeout(properties.acquireTimeout().toMillis());
        return dataSource;
    }

    /** Creates the schema first, so that every user of the client finds the table. */
    @Bean
    JdbcClient jdbcClient(HikariDataSource dataSource) {
        JdbcClient client = JdbcClient.create(dataSource);
        client.sql(RecordsSchema.script()).update();
        return client;
    }
}
