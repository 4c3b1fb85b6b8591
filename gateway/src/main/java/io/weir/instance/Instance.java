package io.weir.instance;

import io.weir.health.Health;
import java.net.URI;

/**
 * One instance of a backend: an address with its own connections and its own health. A reload that keeps the
 * address keeps the instance with its state.
 */
public final class Instance {

    private final URI uri;
    private final String authority;
    private final Pool pool;
    private final Health health;

    /**
     * An instance.
     *
     * @param uri the address that its pool connects to
     * @param pool the connections
     * @param health whether calls go to the instance; of a backend's only instance, the health of the backend
     */
    public Instance(URI uri, Pool pool, Health health) {
        this.uri = uri;
        this.authority = uri.getPort() == -1 ? uri.getHost() : uri.getHost() + ':' + uri.getPort();
        this.pool = pool;
        this.health = health;
    }

    /** The address that the pool connects to. */
    public URI uri() {
        return uri;
    }

    /** The value of {@code Host}: without a port if the URI has none. */
    public String authority() {
        return authority;
    }

    /** The connections. */
    public Pool pool() {
        return pool;
    }

    /** Whether calls go to the instance. */
    public Health health() {
        return health;
    }
}
