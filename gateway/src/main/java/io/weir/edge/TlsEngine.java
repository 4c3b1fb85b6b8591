package io.weir.edge;

import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.OpenSslCachingX509KeyManagerFactory;
import io.netty.handler.ssl.SslProvider;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import javax.net.ssl.KeyManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * The implementation of TLS, for the edge and for backends.
 *
 * <p>BoringSSL does several times as many handshakes per second as the JDK. It comes as a native library for
 * Linux on x86-64 and arm64, and does not load elsewhere, nor with the C library musl.
 */
public enum TlsEngine {
    /** BoringSSL where its library loads, else the JDK's. */
    AUTO,
    /** BoringSSL; without its library the gateway does not start. */
    OPENSSL,
    /** The JDK's. */
    JDK;

    private static final Set<String> TLS_1_3 =
            Set.of("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256");

    private static final Set<String> KEY_TYPES = Set.of("RSA", "EC");

    private static final Set<String> PROTOCOLS = Set.of("TLSv1.2", "TLSv1.3");

    /**
     * The engine in use, {@link #OPENSSL} or {@link #JDK}.
     *
     * @throws IllegalStateException if BoringSSL is required and its library does not load
     */
    public TlsEngine inUse() {
        if (this == JDK) {
            return JDK;
        }
        String failure = loadFailure();
        if (failure == null) {
            return OPENSSL;
        }
        if (this == OPENSSL) {
            throw new IllegalStateException("weir.edge.tls-engine: openssl (expected: auto or jdk, since the library"
                    + " of BoringSSL does not load: " + failure + ")");
        }
        return JDK;
    }

    /** The reason why the library of BoringSSL does not load; null: it is loaded. Loads it at first. */
    public static @Nullable String loadFailure() {
        if (OpenSsl.isAvailable()) {
            return null;
        }
        Throwable cause = OpenSsl.unavailabilityCause();
        return cause == null ? "unknown" : String.valueOf(cause.getMessage());
    }

    /** The name of this engine in the log, in metrics and in {@code /actuator/weir}. */
    public String word() {
        return this == OPENSSL ? "boringssl" : "jdk";
    }

    /** The provider of TLS to backends. Its native contexts are freed when nothing refers to them. */
    public SslProvider forClient() {
        return this == OPENSSL ? SslProvider.OPENSSL : SslProvider.JDK;
    }

    /** The provider of a server's TLS. Its native contexts are counted references. */
    SslProvider forServer() {
        return this == OPENSSL ? SslProvider.OPENSSL_REFCNT : SslProvider.JDK;
    }

    /** A source of keys for this engine: BoringSSL's parses each key once, not at each handshake. */
    public KeyManagerFactory keys(KeyManagerFactory keys) {
        return this == OPENSSL ? new OpenSslCachingX509KeyManagerFactory(keys) : keys;
    }

    /**
     * The reason why BoringSSL cannot keep the rules of a server; null: it can.
     *
     * <p>BoringSSL offers all its suites of TLS 1.3 or none. It speaks versions that the JDK refuses. It
     * takes the first type of key that fits its own suites, although the client may accept only another type,
     * and needs the key itself.
     *
     * @param suites the configured cipher suites; null: all
     * @param versions the configured versions of TLS; null: all
     * @param keyTypes the algorithms of the server's keys; of a store that keeps its keys to itself: its type
     */
    static @Nullable String mismatch(
            String @Nullable [] suites, String @Nullable [] versions, Collection<String> keyTypes) {
        if (Set.copyOf(keyTypes).size() > 1) {
            return "keys of several types";
        }
        if (!KEY_TYPES.containsAll(keyTypes)) {
            return "a key that is neither RSA nor EC, or not in a file";
        }
        List<String> spoken = versions == null ? List.copyOf(PROTOCOLS) : Arrays.asList(versions);
        if (!PROTOCOLS.containsAll(spoken)) {
            return "a version of TLS before 1.2";
        }
        if (suites == null) {
            return null;
        }
        List<String> named = Arrays.asList(suites);
        if (!OpenSsl.availableJavaCipherSuites().containsAll(named)) {
            return "a cipher suite that it does not have";
        }
        boolean isPartOf13 = !named.containsAll(TLS_1_3) && !Collections.disjoint(named, TLS_1_3);
        return isPartOf13 && spoken.contains("TLSv1.3") ? "some but not all cipher suites of TLS 1.3" : null;
    }
}
