package io.weir.sim.database;

import java.net.URI;
import java.net.URISyntaxException;

/** The address of a PostgreSQL, independent of the driver. */
public record DatabaseLocation(String host, int port, String database, String username, String password) {

    private static final int DEFAULT_PORT = 5432;

    /**
     * Parses {@code postgresql://host:port/database}.
     *
     * @throws IllegalArgumentException with the expected form
     */
    public static DatabaseLocation parse(String url, String username, String password) {
        try {
            URI uri = new URI(url);
            String path = uri.getPath();
            if ("postgresql".equals(uri.getScheme())
                    && uri.getHost() != null
                    && uri.getUserInfo() == null
                    && path != null
                    && path.length() > 1
                    && path.indexOf('/', 1) < 0) {
                return new DatabaseLocation(
                        uri.getHost(),
                        uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort(),
                        path.substring(1),
                        username,
                        password);
            }
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(message(url), e);
        }
        throw new IllegalArgumentException(message(url));
    }

    private static String message(String url) {
        return "sim.database.url: " + url
                + " (expected: postgresql://host:port/database, with the user in sim.database.username)";
    }

    /** The URL as {@code psql} and {@code sim.database.url} take it. */
    public String url() {
        return "postgresql://" + host + ":" + port + "/" + database;
    }

    /** The URL for JDBC. {@code pg_stat_activity} shows {@code applicationName}. */
    public String jdbcUrl(String applicationName) {
        return "jdbc:" + url() + "?ApplicationName=" + applicationName;
    }

    /** Leaves the password out. */
    @Override
    public String toString() {
        return url() + " as " + username;
    }
}
