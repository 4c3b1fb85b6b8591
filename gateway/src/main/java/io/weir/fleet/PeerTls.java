package io.weir.fleet;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;

/**
 * TLS to the management ports of other gateways, with the bundle of this gateway's own management port: its
 * trust store, or the JVM's if it has none, and its certificate, for ports that require one of their clients.
 */
// Concurrency: two threads that see a rotated bundle at the same time create equal contexts; either stays.
public final class PeerTls {

    private record Current(SslBundle bundle, SslContext context) {}

    private final Supplier<@Nullable SslBundle> bundle;
    private volatile @Nullable Current current;

    /**
     * TLS of a management port.
     *
     * @param bundle the present bundle, another object after each rotation; null: the port has no TLS
     */
    public PeerTls(Supplier<@Nullable SslBundle> bundle) {
        this.bundle = bundle;
    }

    /** The present context; null: no TLS. May read keys, which blocks. */
    @Nullable
    SslContext context() {
        SslBundle present = bundle.get();
        if (present == null) {
            return null;
        }
        Current known = current;
        if (known == null || known.bundle() != present) {
            known = new Current(present, context(present));
            current = known;
        }
        return known.context();
    }

    private static SslContext context(SslBundle bundle) {
        try {
            return SslContextBuilder.forClient()
                    .sslProvider(SslProvider.JDK)
                    .keyManager(bundle.getManagers().getKeyManagerFactory())
                    .trustManager(bundle.getManagers().getTrustManagerFactory())
                    .endpointIdentificationAlgorithm("HTTPS")
                    .build();
        } catch (SSLException e) {
            throw new IllegalStateException("unusable SSL bundle: " + e.getMessage(), e);
        }
    }
}
