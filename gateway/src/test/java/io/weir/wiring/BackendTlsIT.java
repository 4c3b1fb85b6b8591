package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.ssl.ReferenceCountedOpenSslEngine;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.internal.tcnative.SSL;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.edge.TlsEngine;
import io.weir.instance.UpstreamProtocol;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.security.KeyStore;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslStoreBundle;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;

/** TLS to a backend, without a gateway. */
class BackendTlsIT {

    private static final String TRUST = "trust";

    private final AtomicInteger resumed = new AtomicInteger();

    private static SslBundle trusting(X509Bundle... authorities) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        for (X509Bundle authority : authorities) {
            trusted.setCertificateEntry("ca" + trusted.size(), authority.getCertificate());
        }
        return SslBundle.of(SslStoreBundle.of(null, null, trusted));
    }

    private static X509Bundle certificate() throws Exception {
        return new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    private TestServer start(X509Bundle certificate) throws Exception {
        SslContext tls = SslContextBuilder.forServer(certificate.toKeyManagerFactory())
                .sslProvider(SslProvider.OPENSSL)
                .build();
        return TestServer.start(HttpServer.create()
                .secure(spec -> spec.sslContext(tls))
                .doOnConnection(connection -> {
                    SslHandler handler = Objects.requireNonNull(
                            connection.channel().pipeline().get(SslHandler.class));
                    if (SSL.isSessionReused(((ReferenceCountedOpenSslEngine) handler.engine()).sslPointer())) {
                        resumed.incrementAndGet();
                    }
                })
                .handle((request, response) -> response.sendString(Mono.just("hello"))));
    }

    private static void call(SslContext tls, int port) {
        String answer = HttpClient.newConnection()
                .secure(spec -> spec.sslContext(tls))
                .get()
                .uri("https://127.0.0.1:" + port + "/")
                .responseContent()
                .aggregate()
                .asString()
                .block(TestGateway.PATIENCE);
        assertThat(answer).isEqualTo("hello");
    }

    @ParameterizedTest
    @EnumSource(names = {"OPENSSL", "JDK"})
    void aNewConnectionResumesTheSessionUntilTheTrustedCertificatesChange(TlsEngine engine) throws Exception {
        X509Bundle certificate = certificate();
        DefaultSslBundleRegistry bundles = new DefaultSslBundleRegistry();
        bundles.registerBundle(TRUST, trusting(certificate));
        BackendTls tls = new BackendTls(bundles, engine);
        try (TestServer backend = start(certificate)) {
            SslContext first = tls.context(TRUST, UpstreamProtocol.HTTP1);
            call(first, backend.port());
            assertThat(resumed).hasValue(0);
            call(first, backend.port());
            assertThat(resumed).hasValue(1);

            bundles.updateBundle(TRUST, trusting(certificate, certificate()));
            call(tls.context(TRUST, UpstreamProtocol.HTTP1), backend.port());
            assertThat(resumed).hasValue(1);
        }
    }
}
