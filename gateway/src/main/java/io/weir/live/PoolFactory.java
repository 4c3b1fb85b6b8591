package io.weir.live;

import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslContext;
import io.weir.config.BackendProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.QueueingBulkhead;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/** Creates the connection pools of backends. */
public final class PoolFactory {

    private final LoopResources loops;
    private final BiFunction<String, UpstreamProtocol, SslContext> sslContexts;

    /**
     * A factory.
     *
     * @param loops the event loops, shared with the server
     * @param sslContexts creates the TLS context of an SSL bundle, by the bundle's name and the backend's
     *     protocol
     */
    public PoolFactory(LoopResources loops, BiFunction<String, UpstreamProtocol, SslContext> sslContexts) {
        this.loops = loops;
        this.sslContexts = sslContexts;
    }

    /** A pool without connections yet. */
    Pool create(String name, BackendProperties properties) {
        String bundle = properties.connection().sslBundle();
        @Nullable SslContext tls = bundle == null ? null : sslContexts.apply(bundle, properties.protocol());
        return new Pool(
                name,
                properties.uri(),
                properties.protocol(),
                properties.connection(),
                maxConcurrentExchanges(properties),
                tls,
                loops);
    }

    /** An event loop for a task that belongs to no caller's connection. */
    EventLoop nextLoop() {
        return loops.onClient(true).next();
    }

    /**
     * The calls and streams that may be in the backend at once, each of which needs a connection. Calls that
     * hang when the breaker opens give their permits back and keep their connections, and probes need
     * connections, too.
     */
    static int maxConcurrentExchanges(BackendProperties properties) {
        if (!properties.bulkhead().enforce()) {
            return 2 * QueueingBulkhead.LARGEST;
        }
        return 2 * properties.bulkhead().maxConcurrentCalls()
                + properties.recovery().maxProbes()
                + properties.maxStreams();
    }

    /** Whether a pool that was created from {@code before} also fits {@code after}. */
    static boolean isReusable(BackendProperties before, BackendProperties after) {
        return before.uri().equals(after.uri())
                && before.protocol() == after.protocol()
                && before.connection().equals(after.connection());
    }
}
