package io.weir.wiring;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslOptions;

/**
 * The cipher suites that the gateway's own server offers unless {@code options.ciphers} of its bundle or
 * {@code server.ssl.ciphers} name others: those of TLS 1.3, and those of TLS 1.2 with forward secrecy and
 * authenticated encryption (RFC 9325, 4.2). Netty's own default includes CBC suites, and suites without
 * forward secrecy.
 */
final class CipherSuites {

    static final List<String> DEFAULT = List.of(
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");

    private CipherSuites() {}

    /** The bundles, with the default suites where a bundle names none. */
    static SslBundles byDefault(SslBundles bundles) {
        return new SslBundles() {
            @Override
            public SslBundle getBundle(String name) {
                return withDefault(bundles.getBundle(name));
            }

            @Override
            public void addBundleUpdateHandler(String name, Consumer<SslBundle> handler) {
                bundles.addBundleUpdateHandler(name, bundle -> handler.accept(withDefault(bundle)));
            }

            @Override
            public void addBundleRegisterHandler(BiConsumer<String, SslBundle> handler) {
                bundles.addBundleRegisterHandler(handler);
            }

            @Override
            public List<String> getBundleNames() {
                return bundles.getBundleNames();
            }
        };
    }

    private static SslBundle withDefault(SslBundle bundle) {
        if (bundle.getOptions().getCiphers() != null) {
            return bundle;
        }
        SslOptions options = SslOptions.of(
                DEFAULT.toArray(String[]::new), bundle.getOptions().getEnabledProtocols());
        return SslBundle.of(bundle.getStores(), bundle.getKey(), options, bundle.getProtocol(), bundle.getManagers());
    }
}
