package io.weir.wiring;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.weir.edge.TlsEngine;
import io.weir.instance.UpstreamProtocol;
import java.util.EnumMap;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;

/** TLS to backends. Contexts with the JVM's trust store are shared by all pools of a protocol. */
// Concurrency: the shared contexts are guarded by their map.
final class BackendTls {

    private final SslBundles bundles;
    private final TlsEngine engine;
    private final Map<UpstreamProtocol, SslContext> shared = new EnumMap<>(UpstreamProtocol.class);

    /** TLS with an engine in use. */
    BackendTls(SslBundles bundles, TlsEngine engine) {
        this.bundles = bundles;
        this.engine = engine;
    }

    /**
     * The context of connections to a backend.
     *
     * @param bundle the name of an SSL bundle; null: the JVM's trust store is used
     */
    SslContext context(@Nullable String bundle, UpstreamProtocol protocol) {
        if (bundle != null) {
            return create(bundles.getBundle(bundle), protocol);
        }
        synchronized (shared) {
            return shared.computeIfAbsent(protocol, missing -> create(null, missing));
        }
    }

    private SslContext create(@Nullable SslBundle bundle, UpstreamProtocol protocol) {
        SslContextBuilder builder =
                protocol.offeredBy(SslContextBuilder.forClient()).sslProvider(engine.forClient());
        if (bundle != null) {
            KeyManagerFactory keys = bundle.getManagers().getKeyManagerFactory();
            builder.keyManager(engine.keys(keys))
                    .trustManager(bundle.getManagers().getTrustManagerFactory());
        }
        try {
            return builder.build();
        } catch (SSLException e) {
            throw new IllegalStateException("unusable SSL bundle: " + e.getMessage(), e);
        }
    }
}
