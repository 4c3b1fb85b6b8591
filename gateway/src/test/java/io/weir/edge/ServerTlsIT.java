package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.netty.handler.ssl.ReferenceCountedOpenSslEngine;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.internal.tcnative.SSL;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.netty.util.ReferenceCounted;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundleKey;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.ssl.SslStoreBundle;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.Ssl.ServerNameSslBundle;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** The TLS of a server without a gateway: its native contexts, its keys, and its tickets. */
class ServerTlsIT {

    private static final String PASSWORD = "secret";
    private static final String SECRET = "0123456789abcdef0123456789abcdef";

    private final LoopResources loops = LoopResources.create("tls", 1, true);
    private final DefaultSslBundleRegistry bundles = new DefaultSslBundleRegistry();
    private final Ssl ssl = new Ssl();
    private @Nullable ServerTls tls;
    private @Nullable DisposableServer server;

    private void stopServer() {
        if (server != null) {
            server.disposeNow(TestGateway.PATIENCE);
        }
        if (tls != null) {
            tls.close();
        }
    }

    @AfterEach
    void stop() {
        stopServer();
        loops.disposeLater(Duration.ZERO, Duration.ofSeconds(5)).block();
    }

    private static X509Bundle certificate(CertificateBuilder.Algorithm algorithm) throws Exception {
        return new CertificateBuilder()
                .algorithm(algorithm)
                .subject("CN=a")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    private static SslBundle bundle(X509Bundle... certificates) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        for (X509Bundle certificate : certificates) {
            store.setKeyEntry(
                    "key" + store.size(),
                    certificate.getKeyPair().getPrivate(),
                    PASSWORD.toCharArray(),
                    certificate.getCertificatePath());
        }
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("ca", certificates[0].getCertificate());
        return SslBundle.of(SslStoreBundle.of(store, PASSWORD, trusted), SslBundleKey.of(PASSWORD), SslOptions.NONE);
    }

    private int serve(TlsEngine engine) {
        return serve(engine, null, 0);
    }

    /** Serves; ends an earlier server. A client keeps its sessions by the port. */
    private int serve(TlsEngine engine, @Nullable String ticketSecret, int port) {
        stopServer();
        ssl.setBundle("edge");
        ServerTls own = ServerTls.of(engine, ticketSecret, ssl, bundles, true, loops);
        tls = own;
        DisposableServer started = own.apply(
                        HttpServer.create().runOn(loops).host("127.0.0.1").port(port))
                .handle((request, response) -> response.send())
                .bindNow();
        server = started;
        return started.port();
    }

    private SslContext current(@Nullable String host) {
        return Objects.requireNonNull(tls).of(host).getSslContext();
    }

    private static SSLSocket shake(int port, String suite) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port);
        socket.setEnabledProtocols(new String[] {"TLSv1.2"});
        socket.setEnabledCipherSuites(new String[] {suite});
        socket.startHandshake();
        return socket;
    }

    @Test
    void releasesAReplacedContextWithItsLastConnection() throws Exception {
        bundles.registerBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        int port = serve(TlsEngine.OPENSSL);
        SslContext first = current(null);
        assertThat(first).isInstanceOf(ReferenceCounted.class);
        ReferenceCounted counted = (ReferenceCounted) first;
        assertThat(counted.refCnt()).isEqualTo(1);

        try (SSLSocket kept =
                TestTls.named(new Socket(InetAddress.getLoopbackAddress(), port), "127.0.0.1", "http/1.1")) {
            assertThat(counted.refCnt()).isEqualTo(2);
            bundles.updateBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));

            assertThat(current(null)).isNotSameAs(first);
            assertThat(counted.refCnt()).isEqualTo(1);
            kept.getOutputStream().write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            assertThat(kept.getInputStream().read()).isEqualTo('H');
        }

        await().until(() -> counted.refCnt() == 0);
    }

    @ParameterizedTest
    @EnumSource(names = {"AUTO", "JDK"})
    void servesKeysOfTwoTypesForOneName(TlsEngine engine) throws Exception {
        bundles.registerBundle(
                "edge",
                bundle(
                        certificate(CertificateBuilder.Algorithm.ecp256),
                        certificate(CertificateBuilder.Algorithm.rsa2048)));
        int port = serve(engine);

        for (String suite :
                List.of("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")) {
            try (SSLSocket socket = shake(port, suite)) {
                assertThat(socket.getSession().getCipherSuite()).isEqualTo(suite);
            }
        }
    }

    @Test
    void refusesRulesThatARequiredBoringSslCannotKeep() throws Exception {
        bundles.registerBundle(
                "edge",
                bundle(
                        certificate(CertificateBuilder.Algorithm.ecp256),
                        certificate(CertificateBuilder.Algorithm.rsa2048)));

        assertThatThrownBy(() -> serve(TlsEngine.OPENSSL))
                .hasMessage("weir.edge.tls-engine: openssl (expected: auto or jdk, since BoringSSL cannot serve keys of"
                        + " several types)");
    }

    @Test
    void resumesSessionsOfOneHostOnly() throws Exception {
        bundles.registerBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        ssl.setServerNameBundles(List.of(new ServerNameSslBundle("b.test", "edge")));
        int port = serve(TlsEngine.OPENSSL);

        SslContext client = client();
        assertThat(isResumed(client, port, "a.test")).isFalse();
        assertThat(isResumed(client, port, "a.test")).isTrue();

        assertThat(isResumed(client, port, "b.test")).isFalse();
        bundles.updateBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        assertThat(isResumed(client, port, "b.test")).isFalse();
    }

    @Test
    void resumesSessionsOfAnotherGatewayWithTheSameSecretAndCertificate() throws Exception {
        bundles.registerBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        ssl.setServerNameBundles(List.of(new ServerNameSslBundle("b.test", "edge")));
        SslContext client = client();
        int port = serve(TlsEngine.OPENSSL, SECRET, 0);
        assertThat(isResumed(client, port, "a.test")).isFalse();

        assertThat(isResumed(client, serve(TlsEngine.OPENSSL, SECRET, port), "a.test"))
                .isTrue();

        assertThat(isResumed(client, port, "b.test")).as("another host").isFalse();
        assertThat(isResumed(client, serve(TlsEngine.OPENSSL, "another " + SECRET, port), "b.test"))
                .isFalse();
        assertThat(isResumed(client, serve(TlsEngine.OPENSSL, null, port), "b.test"))
                .isFalse();
        SslContext another = client();
        assertThat(isResumed(another, port, "b.test")).isFalse();
        assertThat(isResumed(another, serve(TlsEngine.OPENSSL, SECRET, port), "b.test"))
                .as("a session of a gateway without the secret")
                .isFalse();
        bundles.updateBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        assertThat(isResumed(client, port, "b.test")).as("another certificate").isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"NONE", "WANT"})
    void resumesSessionsOverTls12UnlessCallersShowCertificates(Ssl.ClientAuth clientAuth) throws Exception {
        bundles.registerBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        ssl.setClientAuth(clientAuth);
        int port = serve(TlsEngine.OPENSSL, SECRET, 0);
        SSLContext client = SSLContext.getInstance("TLS");
        client.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        long first = creationTime(client, port);

        long second = creationTime(client, serve(TlsEngine.OPENSSL, SECRET, port));

        assertThat(second == first).as("resumed").isEqualTo(clientAuth == Ssl.ClientAuth.NONE);
    }

    /** The time at which the client's session began. */
    private static long creationTime(SSLContext client, int port) throws Exception {
        try (SSLSocket socket = (SSLSocket) client.getSocketFactory().createSocket("127.0.0.1", port)) {
            socket.setEnabledProtocols(new String[] {"TLSv1.2"});
            socket.startHandshake();
            return socket.getSession().getCreationTime();
        }
    }

    @Test
    void resumesNoSessionWhereCallersShowCertificates() throws Exception {
        bundles.registerBundle("edge", bundle(certificate(CertificateBuilder.Algorithm.ecp256)));
        ssl.setClientAuth(Ssl.ClientAuth.WANT);
        int port = serve(TlsEngine.OPENSSL);

        SslContext client = client();
        assertThat(isResumed(client, port, "a.test")).isFalse();
        assertThat(isResumed(client, port, "a.test")).isFalse();
    }

    /** A client that keeps the sessions of an address, whatever name they are of, and tries any of them. */
    private static SslContext client() throws Exception {
        return SslContextBuilder.forClient()
                .sslProvider(SslProvider.OPENSSL)
                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                .endpointIdentificationAlgorithm("")
                .build();
    }

    private boolean isResumed(SslContext client, int port, String name) {
        AtomicBoolean isResumed = new AtomicBoolean();
        HttpClient.newConnection()
                .secure(spec -> spec.sslContext(client).serverNames(new SNIHostName(name)))
                .doOnResponse((response, connection) -> {
                    SslHandler handler = Objects.requireNonNull(
                            connection.channel().pipeline().get(SslHandler.class));
                    isResumed.set(SSL.isSessionReused(((ReferenceCountedOpenSslEngine) handler.engine()).sslPointer()));
                })
                .get()
                .uri("https://127.0.0.1:" + port + "/")
                .response()
                .block(TestGateway.PATIENCE);
        await().until(() -> ((ReferenceCounted) current(name)).refCnt() == 1);
        return isResumed.get();
    }
}
