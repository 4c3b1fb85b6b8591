package io.weir.apply;

import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslContext;
import io.weir.config.BackendProperties;
import io.weir.instance.ConnectionFiles;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.instance.Violations;
import io.weir.limit.QueueingBulkhead;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/** Creates the connection pools of backends. */
public final class PoolFactory {

    private final LoopResources loops;
    private final SslContexts sslContexts;
    private final Function<String, Object> sslBundles;
    private final ConnectionFiles files;
    /** By the backend's name: a backend's pools come and go, and its counts stay. */
    private final Map<String, Violations> violations = new ConcurrentHashMap<>();

    /** Creates TLS contexts. */
    public interface SslContexts {

        /**
         * The TLS context of connections to a backend.
         *
         * @param bundle the name of an SSL bundle; null: the JVM's trust store is used
         */
        SslContext create(@Nullable String bundle, UpstreamProtocol protocol);
    }

    /**
     * A factory.
     *
     * @param loops the event loops, shared with the server
     * @param sslContexts creates TLS contexts
     * @param sslBundles finds the present SSL bundle of a name, which is another object after each rotation
     * @param files the files for the connections of all pools
     */
    public PoolFactory(
            LoopResources loops, SslContexts sslContexts, Function<String, Object> sslBundles, ConnectionFiles files) {
        this.loops = loops;
        this.sslContexts = sslContexts;
        this.sslBundles = sslBundles;
        this.files = files;
    }

    /** A pool without connections yet. */
    Pool create(String name, BackendProperties properties, InstanceAddress address) {
        @Nullable
        SslContext tls = address.isSecure()
                ? sslContexts.create(properties.connection().sslBundle(), properties.protocol())
                : null;
        return new Pool(
                name,
                address,
                properties.protocol(),
                properties.connection(),
                maxConcurrentExchanges(properties),
                tls,
                loops,
                null,
                violations.computeIfAbsent(name, Violations::new),
                files);
    }

    /** Logs if the limits of pools exceed the files for their connections. */
    void compareWithFiles(Stream<Pool> pools) {
        files.compare(pools.mapToLong(Pool::maxConnections).sum());
    }

    /** An event loop for a task that belongs to no caller's connection. */
    EventLoop nextLoop() {
        return loops.onClient(true).next();
    }

    /**
     * The calls and streams that may be in the backend at once, each of which needs a connection. Calls that
     * hang when the breaker opens give their permits back and keep their connections, and probes and
     * health checks need connections, too.
     */
    static int maxConcurrentExchanges(BackendProperties properties) {
        if (!properties.bulkhead().enforce()) {
            return 2 * QueueingBulkhead.LARGEST;
        }
        int checks = properties.healthCheck() == null ? 0 : 1;
        return 2 * properties.bulkhead().largestLimit()
                + properties.recovery().maxProbes()
                + checks
                + properties.maxStreams();
    }

    /**
     * The present SSL bundle of a backend; null: none is configured. Callers read it before they create the
     * pool, so that a rotation in between makes the pool outdated.
     */
    @Nullable
    Object sslBundle(BackendProperties properties) {
        String bundle = properties.connection().sslBundle();
        return bundle == null ? null : sslBundles.apply(bundle);
    }

    /** Whether a backend's pool uses the present SSL bundle. */
    boolean isCurrent(ManagedBackend backend) {
        return backend.sslBundle() == sslBundle(backend.properties());
    }

    /** Whether the pools of a backend also fit {@code after}, as far as the addresses stay. */
    boolean isReusable(ManagedBackend backend, BackendProperties after) {
        BackendProperties before = backend.properties();
        return isCurrent(backend)
                && before.protocol() == after.protocol()
                && before.connection().equals(after.connection());
    }
}
