package io.weir.sim.database;

import java.net.URI;
import java.net.URISyntaxException;

/** Where a PostgreSQL is, in neither driver's dialect. */
public record DatabaseLocation(String host, int port, String database, String username, String password) {

    private static final int DEFAULT_PORT = 5432;

    /**
     * Reads {@code postgresql://host:port/database}.
     *
     * @throws IllegalArgumentException that says what was expected
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

    /** For people, for {@code psql}, and for {@code sim.database.url}. */
    public String url() {
        return "postgresql://" + host + ":" + port + "/" + database;
    }

    /** For JDBC; the name is what {@code pg_stat_activity} shows. */
    public String jdbcUrl(String applicationName) {
        return "jdbc:" + url() + "?ApplicationName=" + applicationName;
    }

    /** Without the password. */
    @Override
    public String toString() {
        return url() + " as " + username;
    }
}
