package io.weir.sim.database;

import io.r2dbc.postgresql.PostgresqlConnectionConfiguration;
import io.r2dbc.postgresql.PostgresqlConnectionFactory;

/** R2DBC sessions outside the pool. */
public final class R2dbcSessions {

    private R2dbcSessions() {}

    /** Opens a new session for each call; {@code pg_stat_activity} shows {@code applicationName}. */
    public static PostgresqlConnectionFactory unpooled(DatabaseLocation location, String applicationName) {
        PostgresqlConnectionConfiguration.Builder configuration = PostgresqlConnectionConfiguration.builder()
                .host(location.host())
                .port(location.port())
                .database(location.database())
                .username(location.username())
                .applicationName(applicationName);
        if (!location.password().isEmpty()) {
            configuration.password(location.password());
        }
        return new PostgresqlConnectionFactory(configuration.build());
    }
}
