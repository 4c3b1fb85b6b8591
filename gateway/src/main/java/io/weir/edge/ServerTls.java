package io.weir.edge;

import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.OpenSslSessionContext;
import io.netty.handler.ssl.ReferenceCountedOpenSslEngine;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.internal.tcnative.SSL;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.security.KeyStore;
import java.security.KeyStoreException;
import java.security.cert.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerSslBundle;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;
import reactor.netty.tcp.SslProvider;

/**
 * TLS of a server, in place of Spring Boot's, which cannot choose the engine and leaves native contexts to
 * the garbage collector.
 *
 * <p>Each host has a context of its own. A rotation replaces the context; connections keep the one that they
 * began with. A native context is a counted reference: of this class while it is current, and of each
 * connection.
 *
 * <p>Resumption: BoringSSL encrypts tickets with keys of the context that it changes every two days, or with
 * {@link TicketKeys} that gateways share. So a ticket of one host, or from before a rotation, is worth
 * nothing elsewhere. A server that asks for client certificates gives no tickets, so that each connection's
 * certificate is verified.
 */
// Concurrency: event loops read the contexts; the thread that rotates replaces them.
public final class ServerTls implements NettyServerCustomizer, AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(ServerTls.class);

    /** The name of hosts without a certificate of their own. */
    private static final String OTHERS = "";

    /** How often the keys of tickets are looked at; their period is much longer. */
    private static final Duration RENEWAL_INTERVAL = Duration.ofMinutes(10);

    /** A store of a device, which signs by itself. */
    private static final String PKCS_11 = "PKCS11";

    private final TlsEngine engine;
    private final boolean isRequired;
    private final ClientAuth clientAuth;
    private final boolean speaksHttp2;
    private final LoopResources loops;
    private final @Nullable String ticketSecret;
    private final @Nullable Future<?> renewal;
    private final Map<String, Host> hosts = new ConcurrentHashMap<>();

    /** The present TLS of a host, and the keys of its tickets; null: those of its context. */
    private record Host(SslProvider tls, @Nullable TicketKeys ticketKeys) {

        SslContext context() {
            return tls.getSslContext();
        }

        void renewTicketKeys() {
            if (ticketKeys != null && context().sessionContext() instanceof OpenSslSessionContext sessions) {
                sessions.setTicketKeys(ticketKeys.at(Instant.now()));
            }
        }
    }

    private ServerTls(
            TlsEngine configured, @Nullable String ticketSecret, Ssl ssl, boolean speaksHttp2, LoopResources loops) {
        this.engine = configured.inUse();
        this.isRequired = configured == TlsEngine.OPENSSL;
        this.clientAuth =
                Ssl.ClientAuth.map(ssl.getClientAuth(), ClientAuth.NONE, ClientAuth.OPTIONAL, ClientAuth.REQUIRE);
        this.speaksHttp2 = speaksHttp2;
        this.loops = loops;
        this.ticketSecret = ticketSecret;
        long minutes = RENEWAL_INTERVAL.toMinutes();
        this.renewal = ticketSecret == null
                ? null
                : loops.onServer(true)
                        .next()
                        .scheduleAtFixedRate(this::renewTicketKeys, minutes, minutes, TimeUnit.MINUTES);
    }

    /**
     * TLS that follows rotations of its bundles.
     *
     * @param configured the engine as configured
     * @param ticketSecret the secret of tickets that several gateways share; null: none
     * @param loops the event loops of the server
     * @throws IllegalStateException if a bundle is not usable, or not with a required engine
     */
    public static ServerTls of(
            TlsEngine configured,
            @Nullable String ticketSecret,
            Ssl ssl,
            @Nullable SslBundles bundles,
            boolean speaksHttp2,
            LoopResources loops) {
        ServerTls tls = new ServerTls(configured, ticketSecret, ssl, speaksHttp2, loops);
        tls.use(OTHERS, WebServerSslBundle.get(ssl, bundles));
        if (bundles == null) {
            return tls;
        }
        String bundle = ssl.getBundle();
        if (bundle != null && !bundle.isBlank()) {
            bundles.addBundleUpdateHandler(bundle, renewed -> tls.use(OTHERS, renewed));
        }
        ssl.getServerNameBundles().forEach(host -> {
            tls.use(host.serverName(), bundles.getBundle(host.bundle()));
            bundles.addBundleUpdateHandler(host.bundle(), renewed -> tls.use(host.serverName(), renewed));
        });
        return tls;
    }

    @Override
    public HttpServer apply(HttpServer server) {
        return server.secure(spec -> spec.sslContext(of(null).getSslContext())
                        .setSniAsyncMappings((name, promise) -> promise.setSuccess(of(name))))
                .protocol(
                        speaksHttp2
                                ? new HttpProtocol[] {HttpProtocol.HTTP11, HttpProtocol.H2}
                                : new HttpProtocol[] {HttpProtocol.HTTP11});
    }

    /** The present TLS of a host; null: of a client that names none. */
    SslProvider of(@Nullable String host) {
        Host own = host == null ? null : hosts.get(host);
        return (own == null ? Objects.requireNonNull(hosts.get(OTHERS)) : own).tls();
    }

    private void use(String name, SslBundle bundle) {
        TicketKeys keys = ticketSecret == null ? null : new TicketKeys(ticketSecret, name, certificates(bundle));
        Host next = new Host(provider(bundle), keys);
        next.renewTicketKeys();
        Host replaced = hosts.put(name, next);
        if (replaced != null) {
            releaseUnused(replaced.context());
        }
    }

    /**
     * Releases a context that is no longer current. A loop that has just read it creates its connection
     * within the same task, which is over when the loop runs a task that is given to it now.
     */
    private void releaseUnused(SslContext context) {
        if (!(context instanceof ReferenceCounted)) {
            return;
        }
        List<Future<?>> rounds = new ArrayList<>();
        loops.onServer(true).forEach(loop -> rounds.add(loop.submit(() -> {})));
        rounds.forEach(Future::awaitUninterruptibly);
        ReferenceCountUtil.release(context);
    }

    /** On an event loop, which {@link #releaseUnused} waits for: no context is released meanwhile. */
    private void renewTicketKeys() {
        hosts.values().forEach(Host::renewTicketKeys);
    }

    /** Releases the contexts; the server has stopped. Connections that are still open keep theirs. */
    @Override
    public void close() {
        if (renewal != null) {
            renewal.cancel(false);
        }
        hosts.values().forEach(host -> ReferenceCountUtil.release(host.context()));
        hosts.clear();
    }

    private SslProvider provider(SslBundle bundle) {
        SslOptions options = bundle.getOptions();
        TlsEngine own = engine;
        if (engine == TlsEngine.OPENSSL) {
            String mismatch = TlsEngine.mismatch(options.getCiphers(), options.getEnabledProtocols(), keyTypes(bundle));
            if (mismatch != null && isRequired) {
                throw new IllegalStateException("weir.edge.tls-engine: openssl (expected: auto or jdk, since BoringSSL"
                        + " cannot serve " + mismatch + ")");
            }
            if (mismatch != null) {
                log.warn("A certificate is served by the TLS engine of the JDK: {}", mismatch);
                own = TlsEngine.JDK;
            }
        }
        SslContext context = context(own, bundle);
        boolean givesTickets = clientAuth == ClientAuth.NONE;
        return SslProvider.builder()
                .sslContext(context)
                .handlerConfigurator(handler -> {
                    if (!givesTickets) {
                        refuseTickets(handler);
                    }
                })
                .build();
    }

    private static void refuseTickets(SslHandler handler) {
        if (handler.engine() instanceof ReferenceCountedOpenSslEngine nativeEngine) {
            SSL.setOptions(nativeEngine.sslPointer(), SSL.SSL_OP_NO_TICKET);
        }
    }

    private SslContext context(TlsEngine own, SslBundle bundle) {
        SslOptions options = bundle.getOptions();
        SslContextBuilder builder = SslContextBuilder.forServer(
                        own.keys(bundle.getManagers().getKeyManagerFactory()))
                .sslProvider(own.forServer())
                .trustManager(bundle.getManagers().getTrustManagerFactory())
                .protocols(options.getEnabledProtocols())
                .ciphers(SslOptions.asSet(options.getCiphers()))
                .clientAuth(clientAuth);
        if (speaksHttp2) {
            builder.applicationProtocolConfig(new ApplicationProtocolConfig(
                    Protocol.ALPN,
                    SelectorFailureBehavior.NO_ADVERTISE,
                    SelectedListenerFailureBehavior.ACCEPT,
                    ApplicationProtocolNames.HTTP_2,
                    ApplicationProtocolNames.HTTP_1_1));
        }
        try {
            SslContext context = builder.build();
            if (context.sessionContext() instanceof OpenSslSessionContext sessions) {
                sessions.setSessionCacheEnabled(false);
            }
            return context;
        } catch (SSLException e) {
            throw new IllegalStateException("unusable SSL bundle: " + e.getMessage(), e);
        }
    }

    private static List<String> keyTypes(SslBundle bundle) {
        KeyStore store = bundle.getStores().getKeyStore();
        boolean isOfDevice = store != null && PKCS_11.equals(store.getType());
        return certificates(bundle).stream()
                .map(own -> isOfDevice ? PKCS_11 : own.getPublicKey().getAlgorithm())
                .toList();
    }

    /** The certificates of the keys. */
    private static List<Certificate> certificates(SslBundle bundle) {
        KeyStore store = bundle.getStores().getKeyStore();
        String alias = bundle.getKey().getAlias();
        List<Certificate> certificates = new ArrayList<>();
        if (store == null) {
            return certificates;
        }
        try {
            for (String entry : alias == null ? Collections.list(store.aliases()) : List.of(alias)) {
                Certificate certificate = store.isKeyEntry(entry) ? store.getCertificate(entry) : null;
                if (certificate != null) {
                    certificates.add(certificate);
                }
            }
        } catch (KeyStoreException e) {
            throw new IllegalStateException("unusable SSL bundle: " + e.getMessage(), e);
        }
        return certificates;
    }
}
