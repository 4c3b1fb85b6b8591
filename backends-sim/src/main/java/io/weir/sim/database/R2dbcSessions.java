package io.weir.sim.database;

import io.r2dbc.postgresql.PostgresqlConnectionConfiguration;
import io.r2dbc.postgresql.PostgresqlConnectionFactory;

/** Sessions outside any pool, over R2DBC. */
public final class R2dbcSessions {

    private R2dbcSessions() {}

    /** Opens a session each time; {@code applicationName} is what {@code pg_stat_activity} shows. */
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
