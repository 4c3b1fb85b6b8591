package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.instance.UpstreamProtocol;
import io.weir.testing.Door;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;

/**
 * The server's certificate and those of a backend are replaced under load, by good pairs and by bad ones: no
 * request is lost, on new connections and on old ones, over HTTP/1.1 and HTTP/2, through both doors.
 */
@Tag("full")
class RotationUnderLoadIT {

    private static final int ROTATIONS = 3;
    private static final List<Door> DOORS = List.of(Door.values());

    @TempDir
    private Path directory;

    private final Map<String, AtomicInteger> answers = new ConcurrentSkipListMap<>();
    /** The serial numbers of the server's certificates that callers have been shown. */
    private final Map<String, Integer> shown = new ConcurrentHashMap<>();

    private final List<Thread> callers = new ArrayList<>();
    private volatile boolean isOver;
    private @Nullable TestGateway started;
    private @Nullable TestServer backend;

    @AfterEach
    void stop() {
        isOver = true;
        TestGateway gateway = started;
        if (gateway != null) {
            gateway.close();
        }
        TestServer server = backend;
        if (server != null) {
            server.close();
        }
    }

    private TestGateway gateway() {
        return Objects.requireNonNull(started);
    }

    private static X509Bundle certificate() throws Exception {
        return new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    private void replace(String name, String content) throws IOException {
        Path next = Files.writeString(directory.resolve(name + ".next"), content);
        Files.move(next, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private void start(X509Bundle edge, X509Bundle ofBackend) throws Exception {
        var tls = SslContextBuilder.forServer(ofBackend.toKeyManagerFactory()).build();
        TestServer server = TestServer.start(HttpServer.create()
                .secure(spec -> spec.sslContext(tls))
                .handle((request, response) -> response.sendString(Mono.just("hello"))));
        backend = server;
        replace("tls.crt", edge.getCertificatePEM());
        replace("tls.key", edge.getPrivateKeyPEM());
        replace("ca.crt", ofBackend.getCertificatePEM());
        started = TestGateway.start("""
                weir:
                  backends:
                    orders: { uri: "https://127.0.0.1:%1$d", connection: { connect-timeout: 10s, ssl-bundle: ca }, deadline: 30s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                spring.ssl.bundle:
                  watch.file.quiet-period: 150ms
                  pem.edge:
                    keystore: { certificate: "file:%2$s/tls.crt", private-key: "file:%2$s/tls.key" }
                    reload-on-update: true
                  pem.ca:
                    truststore.certificate: "file:%2$s/ca.crt"
                    reload-on-update: true
                server.ssl.bundle: edge
                """.formatted(server.port(), directory));
    }

    @Test
    void losesNoRequestWhileGoodAndBadPairsReplaceEachCertificate() throws Exception {
        X509Bundle ofBackend = certificate();
        start(certificate(), ofBackend);
        for (HttpProtocol protocol : List.of(HttpProtocol.HTTP11, HttpProtocol.H2)) {
            startCaller(protocol, HttpClient.newConnection());
            startCaller(protocol, HttpClient.create());
        }
        for (int i = 0; i < ROTATIONS; i++) {
            X509Bundle next = certificate();
            // The key of another certificate, until the right one follows.
            replace("tls.crt", next.getCertificatePEM());
            await().until(() -> gauge("weir.tls.refused", "edge") == 1);
            awaitAnswers();
            // No certificate at all.
            replace("ca.crt", "-----BEGIN CERTIFICATE-----\n");
            await().until(() -> gauge("weir.tls.refused", "ca") == 1);
            awaitAnswers();

            replace("tls.key", next.getPrivateKeyPEM());
            replace("ca.crt", ofBackend.getCertificatePEM() + certificate().getCertificatePEM());
            await().until(() -> shown.containsKey(serial(next.getCertificate())));
            await().until(() -> gauge("weir.tls.refused", "ca") == 0);
            awaitAnswers();
        }
        isOver = true;
        for (Thread caller : callers) {
            caller.join();
        }

        assertThat(answers).containsOnlyKeys("200");
        assertThat(shown).hasSize(ROTATIONS + 1);
        gateway().assertNothingHeld();
    }

    private double gauge(String name, String bundle) {
        Gauge found = gateway()
                .bean(MeterRegistry.class)
                .find(name)
                .tags("bundle", bundle)
                .gauge();
        return found == null ? Double.NaN : found.value();
    }

    private static String serial(X509Certificate certificate) {
        return certificate.getSerialNumber().toString();
    }

    /** Several requests of each caller that began after this call. */
    private void awaitAnswers() {
        int seen = count("200");
        await().until(() -> count("200") >= seen + 10 * callers.size() || answers.size() > 1);
    }

    private int count(String answer) {
        AtomicInteger counted = answers.get(answer);
        return counted == null ? 0 : counted.get();
    }

    private void startCaller(HttpProtocol protocol, HttpClient client) throws Exception {
        SslContextBuilder builder = SslContextBuilder.forClient().trustManager(InsecureTrustManagerFactory.INSTANCE);
        var tls = (protocol == HttpProtocol.H2 ? UpstreamProtocol.H2 : UpstreamProtocol.HTTP1)
                .offeredBy(builder)
                .build();
        HttpClient secure = client.protocol(protocol)
                .secure(spec -> spec.sslContext(tls).handshakeTimeout(TestGateway.PATIENCE))
                .doOnConnected(connection -> {
                    var handler = connection.channel().pipeline().get(SslHandler.class);
                    if (handler != null) {
                        note(handler.engine().getSession());
                    }
                })
                .baseUrl("https://127.0.0.1:" + gateway().port());
        callers.add(Thread.ofPlatform().start(() -> {
            for (int i = 0; !isOver; i++) {
                String path = "/" + DOORS.get(i % 2).word() + "/1";
                String answer = Objects.requireNonNull(secure.get()
                        .uri(path)
                        .responseSingle((head, body) ->
                                body.thenReturn(Integer.toString(head.status().code())))
                        .onErrorResume(failure -> Mono.just("lost: " + path + ", " + protocol + ", " + failure))
                        .block(TestGateway.PATIENCE));
                answers.computeIfAbsent(answer, status -> new AtomicInteger()).incrementAndGet();
            }
        }));
    }

    private void note(SSLSession session) {
        try {
            shown.put(serial((X509Certificate) session.getPeerCertificates()[0]), 1);
        } catch (SSLPeerUnverifiedException e) {
            throw new AssertionError(e);
        }
    }
}
