package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.apply.RetiredGenerations;
import io.weir.instance.UpstreamProtocol;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;

/** Certificates change under a running gateway: those of the server, and those for a backend. */
@ExtendWith(OutputCaptureExtension.class)
@Tag("tls")
class CertificateRotationIT {

    private static final long QUIET_MILLIS = 150;

    @TempDir
    private Path directory;

    private final List<TestServer> servers = new ArrayList<>();
    private final AtomicInteger held = new AtomicInteger();
    private final Sinks.Empty<Void> release = Sinks.empty();
    private @Nullable TestGateway started;

    @AfterEach
    void stop() {
        release.tryEmitEmpty();
        TestGateway gateway = started;
        if (gateway != null) {
            gateway.assertNothingHeld();
            await().untilAsserted(() -> assertThat(
                            gateway.bean(RetiredGenerations.class).openResources())
                    .isZero());
        }
        if (gateway != null) {
            gateway.close();
        }
        servers.forEach(TestServer::close);
    }

    private TestGateway gateway() {
        return Objects.requireNonNull(started);
    }

    private static CertificateBuilder certificate() {
        return new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true);
    }

    private void writeCertificate(X509Bundle bundle) throws IOException {
        replace("tls.crt", bundle.getCertificatePathPEM());
    }

    private void writeKey(X509Bundle bundle) throws IOException {
        replace("tls.key", bundle.getPrivateKeyPEM());
    }

    private void replace(String name, String content) throws IOException {
        Path next = Files.writeString(directory.resolve(name + ".next"), content);
        Files.move(next, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private String yaml(String backend) {
        return """
                weir:
                  backends:
                    orders: { %s, deadline: 30s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                spring.ssl.bundle:
                  watch.file.quiet-period: %dms
                """.formatted(backend, QUIET_MILLIS);
    }

    private void startServer() {
        started = TestGateway.start(yaml("uri: 'http://127.0.0.1:1'") + """
                  pem.edge:
                    keystore: { certificate: "file:%1$s/tls.crt", private-key: "file:%1$s/tls.key" }
                    reload-on-update: true
                server.ssl.bundle: edge
                """.formatted(directory));
    }

    /** The certificate that a new connection is shown. */
    private BigInteger served() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory()
                    .createSocket("127.0.0.1", gateway().port())) {
                socket.startHandshake();
                return ((X509Certificate) socket.getSession().getPeerCertificates()[0]).getSerialNumber();
            }
        } catch (Exception e) {
            throw new AssertionError("handshake failed", e);
        }
    }

    private static BigInteger serial(X509Bundle bundle) {
        return bundle.getCertificate().getSerialNumber();
    }

    private double gauge(String name, String... tags) {
        Gauge found = gateway().bean(MeterRegistry.class).find(name).tags(tags).gauge();
        return found == null ? Double.NaN : found.value();
    }

    @Test
    void keepsTheOldPairWhileTheNewOneDoesNotMatch(CapturedOutput log) throws Exception {
        X509Bundle first = certificate().buildSelfSigned();
        X509Bundle second = certificate().buildSelfSigned();
        writeCertificate(first);
        writeKey(first);
        startServer();
        assertThat(served()).isEqualTo(serial(first));
        assertThat(gauge("weir.tls.refused", "bundle", "edge")).isZero();

        writeCertificate(second);
        await().until(() -> gauge("weir.tls.refused", "bundle", "edge") == 1);

        assertThat(served()).isEqualTo(serial(first));
        assertThat(log).contains("edge", "does not match");

        writeKey(second);
        await().until(() -> gauge("weir.tls.refused", "bundle", "edge") == 0);
        assertThat(served()).isEqualTo(serial(second));
    }

    @Test
    void keepsTheOldPairWhileTheNewOneHasExpired() throws Exception {
        X509Bundle first = certificate().buildSelfSigned();
        Instant yesterday = Instant.now().minus(1, ChronoUnit.DAYS);
        X509Bundle expired = certificate()
                .notBefore(yesterday.minus(1, ChronoUnit.DAYS))
                .notAfter(yesterday)
                .buildSelfSigned();
        writeCertificate(first);
        writeKey(first);
        startServer();

        writeCertificate(expired);
        writeKey(expired);
        await().until(() -> gauge("weir.tls.refused", "bundle", "edge") == 1);
        assertThat(served()).isEqualTo(serial(first));

        writeCertificate(first);
        writeKey(first);
        await().until(() -> gauge("weir.tls.refused", "bundle", "edge") == 0);
        assertThat(served()).isEqualTo(serial(first));
    }

    @Test
    void followsARotationBesideAFileThatChangesAllTheTime() throws Exception {
        X509Bundle first = certificate().buildSelfSigned();
        X509Bundle second = certificate().buildSelfSigned();
        writeCertificate(first);
        writeKey(first);
        startServer();
        CountDownLatch over = new CountDownLatch(1);
        Thread logger = Thread.ofPlatform().start(() -> {
            try {
                while (!over.await(QUIET_MILLIS / 5, TimeUnit.MILLISECONDS)) {
                    Files.writeString(directory.resolve("access.log"), String.valueOf(System.nanoTime()));
                }
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        try {
            writeKey(second);
            writeCertificate(second);
            await().until(() -> served().equals(serial(second)));
        } finally {
            over.countDown();
            logger.join();
        }
    }

    @Test
    void showsWhenEachCertificateExpires() throws Exception {
        Instant end = Instant.now().plus(20, ChronoUnit.DAYS).truncatedTo(ChronoUnit.SECONDS);
        X509Bundle first = certificate().notAfter(end).buildSelfSigned();
        X509Bundle second = certificate().notAfter(end.plusSeconds(77)).buildSelfSigned();
        writeCertificate(first);
        writeKey(first);
        startServer();
        assertThat(gauge("weir.tls.expires.at", "bundle", "edge", "store", "key"))
                .isEqualTo((double) end.getEpochSecond());

        writeCertificate(second);
        writeKey(second);

        await().untilAsserted(() -> assertThat(gauge("weir.tls.expires.at", "bundle", "edge", "store", "key"))
                .isEqualTo((double) end.getEpochSecond() + 77));
    }

    @Door.Any
    void followsTheRotationOfABackendsBundle(Door door) throws Exception {
        X509Bundle its = certificate().buildSelfSigned();
        X509Bundle other = certificate().buildSelfSigned();
        int port = backend(its);
        replace("ca.crt", its.getCertificatePEM());
        started = TestGateway.start(
                yaml("uri: 'https://127.0.0.1:" + port + "', connection: { connect-timeout: 10s, ssl-bundle: ca }")
                        + """
                  pem.ca:
                    truststore.certificate: "file:%s/ca.crt"
                    reload-on-update: true
                """.formatted(directory));
        String path = "/" + door.word() + "/";
        assertThat(TestCaller.get(gateway().port(), path + "1").status()).isEqualTo(200);
        CompletableFuture<TestCaller.Answer> kept = TestCaller.ask(gateway().port(), path + "held");
        await().until(() -> held.get() == 1);

        replace("ca.crt", other.getCertificatePEM());
        await().until(() -> "connect-failed"
                .equals(TestCaller.get(gateway().port(), path + "2").reason()));
        release.tryEmitEmpty();
        assertThat(kept.join().status()).isEqualTo(200);

        replace("ca.crt", its.getCertificatePEM() + other.getCertificatePEM());
        await().until(() -> TestCaller.get(gateway().port(), path + "3").status() == 200);
    }

    /** Through both doors, over HTTP/1.1 and HTTP/2. */
    @Test
    void asksCallersForCertificatesOfAnAuthorityThatRotates() throws Exception {
        X509Bundle server = certificate().buildSelfSigned();
        X509Bundle first = certificate().subject("CN=first").buildSelfSigned();
        X509Bundle second = certificate().subject("CN=second").buildSelfSigned();
        X509Bundle alice = new CertificateBuilder().subject("CN=alice").buildIssuedBy(first);
        X509Bundle bob = new CertificateBuilder()
                .subject("CN=bob")
                .addSanDnsName("bob.example")
                .buildIssuedBy(second);
        X509Bundle eve = new CertificateBuilder()
                .subject("CN=eve")
                .addSanDnsName("eve.example")
                .buildIssuedBy(first);
        writeCertificate(server);
        writeKey(server);
        replace("callers.crt", first.getCertificatePEM());
        BlockingQueue<TestBackend.Request> received = new LinkedBlockingQueue<>();
        try (TestBackend backend = TestBackend.start((request, conversation) -> {
            received.add(request);
            conversation.answer(200, "ok");
        })) {
            started = TestGateway.start(yaml("uri: '" + backend.uri() + "'") + """
                      pem.edge:
                        keystore: { certificate: "file:%1$s/tls.crt", private-key: "file:%1$s/tls.key" }
                        truststore.certificate: "file:%1$s/callers.crt"
                        reload-on-update: true
                    server.ssl: { bundle: edge, client-auth: want }
                    weir.authentication.client-certificate: chain
                    weir.routes.compiled.authentication.client-certificate: true
                    weir.routes.general.authentication.client-certificate: true
                    weir.routes.compiled.authentication.certificates: [ "subject:CN=alice", "dns:bob.*" ]
                    weir.routes.general.authentication.certificates: [ "subject:CN=alice", "dns:bob.*" ]
                    """.formatted(directory));
            for (Door door : Door.values()) {
                for (HttpProtocol protocol : List.of(HttpProtocol.HTTP11, HttpProtocol.H2)) {
                    assertThat(status(alice, protocol, door)).isEqualTo(200);
                    TestBackend.Request seen = received.take();
                    assertThat(seen.header("client-cert"))
                            .isEqualTo(':'
                                    + Base64.getEncoder()
                                            .encodeToString(
                                                    alice.getCertificate().getEncoded())
                                    + ':');
                    assertThat(seen.head()).doesNotContain("forged");
                    assertThat(status(null, protocol, door)).isEqualTo(403);
                    assertThat(status(eve, protocol, door)).as("not listed").isEqualTo(403);
                }
            }
            assertThat(received).isEmpty();

            replace("callers.crt", second.getCertificatePEM());
            await().until(() -> status(bob, HttpProtocol.H2, Door.COMPILED) == 200);
            // The edge names the authority that it trusts, so this caller shows no certificate.
            assertThat(status(alice, HttpProtocol.HTTP11, Door.COMPILED)).isEqualTo(403);
        }
    }

    /** The status of an answer on a new connection; -1: there is no answer. */
    private int status(@Nullable X509Bundle caller, HttpProtocol protocol, Door door) throws Exception {
        SslContextBuilder builder = SslContextBuilder.forClient().trustManager(InsecureTrustManagerFactory.INSTANCE);
        if (caller != null) {
            builder.keyManager(caller.toKeyManagerFactory());
        }
        SslContext tls = (protocol == HttpProtocol.H2 ? UpstreamProtocol.H2 : UpstreamProtocol.HTTP1)
                .offeredBy(builder)
                .build();
        try {
            return Objects.requireNonNull(HttpClient.newConnection()
                    .protocol(protocol)
                    .secure(spec -> spec.sslContext(tls))
                    .headers(head -> head.add("Client-Cert", ":forged:").add("client_cert_chain", ":forged:"))
                    .get()
                    .uri("https://127.0.0.1:" + gateway().port() + "/" + door.word() + "/1")
                    .response()
                    .map(response -> response.status().code())
                    .onErrorReturn(-1)
                    .block(TestGateway.PATIENCE));
        } catch (IllegalStateException e) {
            throw new AssertionError("no answer", e);
        }
    }

    private int backend(X509Bundle certificate) throws Exception {
        var tls = SslContextBuilder.forServer(certificate.toKeyManagerFactory()).build();
        TestServer server = TestServer.start(HttpServer.create()
                .secure(spec -> spec.sslContext(tls))
                .handle((request, response) -> {
                    Mono<String> answer = Mono.just("hello");
                    if (request.uri().endsWith("held")) {
                        held.incrementAndGet();
                        answer = release.asMono().then(answer);
                    }
                    return response.sendString(answer);
                }));
        servers.add(server);
        return server.port();
    }
}
