package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.Channel;
import io.netty.channel.ServerChannel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.apply.RetiredGenerations;
import io.weir.engine.Backend;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.Door;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * Reloads with connections over TLS and HTTP/2, and with WebSockets. The tests share a gateway, which has
 * another backend between them.
 */
class ReloadPoolsIT {

    /** The certificate of the backends with TLS, which the bundle {@code right} trusts. */
    private static X509Bundle its;

    private static String bundles;
    private static TestGateway gateway;

    private final List<Peer> peers = new ArrayList<>();

    @BeforeAll
    static void startGateway() throws Exception {
        its = certificate();
        bundles = trusting("right", its) + trusting("wrong", certificate());
        gateway = TestGateway.start(betweenTests());
    }

    @AfterAll
    static void stopGateway() {
        gateway.close();
    }

    /** A backend that answers with its name, and records the connections that it was called over. */
    private static final class Peer {

        private final Set<String> askedOver = ConcurrentHashMap.newKeySet();
        private final AtomicInteger held = new AtomicInteger();
        private final Sinks.Empty<Void> release = Sinks.empty();
        private final String name;
        private final TestServer server;

        Peer(String name, @Nullable SslContext tls, HttpProtocol... protocol) {
            this.name = name;
            HttpServer configured = HttpServer.create().protocol(protocol).handle(this::handle);
            this.server = TestServer.start(tls == null ? configured : configured.secure(spec -> spec.sslContext(tls)));
        }

        private Publisher<Void> handle(HttpServerRequest request, HttpServerResponse response) {
            if (request.requestHeaders().contains(HttpHeaderNames.UPGRADE)) {
                return response.sendWebsocket(
                        (in, out) -> out.sendString(in.receive().asString().map(text -> name + ':' + text)));
            }
            request.withConnection(connection -> {
                Channel stream = connection.channel();
                Channel parent = stream.parent();
                boolean isStream = parent != null && !(parent instanceof ServerChannel);
                askedOver.add(String.valueOf((isStream ? parent : stream).id()));
            });
            Mono<String> answer = Mono.just(name + " by " + request.protocol());
            if (request.uri().endsWith("held")) {
                held.incrementAndGet();
                answer = release.asMono().then(answer);
            }
            return response.sendString(answer);
        }

        int port() {
            return server.port();
        }

        int connections() {
            return server.connections();
        }
    }

    private Peer peer(String name, HttpProtocol protocol, @Nullable SslContext tls) {
        return add(new Peer(name, tls, protocol));
    }

    private Peer add(Peer peer) {
        peers.add(peer);
        return peer;
    }

    @AfterEach
    void stop() {
        peers.forEach(peer -> peer.release.tryEmitEmpty());
        gateway.assertNothingHeld();
        awaitNothingLeftBehind();
        assertThat(reload(betweenTests())).isEmpty();
        awaitNothingLeftBehind();
        peers.forEach(peer -> peer.server.close());
    }

    private static void awaitNothingLeftBehind() {
        await().untilAsserted(() -> {
            assertThat(gateway.bean(RetiredGenerations.class).openResources()).isZero();
            assertThat(gateway.bean(RetiredGenerations.class).generationsInUse())
                    .isZero();
        });
    }

    private static String betweenTests() {
        return yaml("between-tests", "uri: 'http://127.0.0.1:1'");
    }

    private static String yaml(String backend, String properties) {
        return """
                weir:
                  backends:
                    %1$s: { %2$s, deadline: 30s, circuit-breaker: { slow-call-duration-threshold: 30s } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders-compiled, uri: "backend://%1$s", predicates: ["Path=/compiled/orders/**"] }
                  - { id: orders-general, uri: "backend://%1$s", predicates: ["Path=/general/orders/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(backend, properties) + bundles;
    }

    /** Begins a test with a configuration. */
    private static void begin(String yaml) {
        assertThat(reload(yaml)).isEmpty();
    }

    private static List<String> reload(String yaml) {
        gateway.rewrite(yaml);
        return gateway.bean(LiveConfiguration.class)
                .reload(Trigger.REQUEST, "a test")
                .problems();
    }

    private TestCaller.Answer get(Door door, String rest) throws IOException {
        return TestCaller.get(gateway.port(), door.path("orders", rest));
    }

    private CompletableFuture<TestCaller.Answer> hold(Door door, Peer by) {
        CompletableFuture<TestCaller.Answer> answer = TestCaller.ask(gateway.port(), door.path("orders", "held"));
        await().until(() -> by.held.get() == 1);
        return answer;
    }

    // ---------------------------------------------------------------- HTTP/2

    private static String h2(Peer peer, int calls) {
        return "uri: 'http://127.0.0.1:" + peer.port() + "', protocol: h2, bulkhead: { max-concurrent-calls: " + calls
                + " }";
    }

    @Test
    void keepsAnHttp2ConnectionIfOnlyLimitsChange() throws IOException {
        Peer peer = peer("first", HttpProtocol.H2C, null);
        begin(yaml("orders", h2(peer, 10)));
        assertThat(get(Door.COMPILED, "1").text()).isEqualTo("first by HTTP/2.0");

        assertThat(reload(yaml("orders", h2(peer, 20)))).isEmpty();

        assertThat(get(Door.COMPILED, "2").text()).isEqualTo("first by HTTP/2.0");
        assertThat(peer.askedOver).hasSize(1);
    }

    @Door.Any
    void completesRequestsOnAnHttp2ConnectionToAnOldAddress(Door door) throws IOException {
        Peer first = peer("first", HttpProtocol.H2C, null);
        Peer second = peer("second", HttpProtocol.H2C, null);
        begin(yaml("orders", h2(first, 10)));
        CompletableFuture<TestCaller.Answer> held = hold(door, first);

        assertThat(reload(yaml("orders", h2(second, 10)))).isEmpty();

        assertThat(get(door, "1").text()).isEqualTo("second by HTTP/2.0");
        first.release.tryEmitEmpty();
        assertThat(held.join().text()).isEqualTo("first by HTTP/2.0");
        await().until(() -> first.connections() == 0);
    }

    @Test
    void changesFromHttp1ToHttp2() throws IOException {
        Peer peer = peer("first", HttpProtocol.H2C, null);
        Peer plain = peer("plain", HttpProtocol.HTTP11, null);
        begin(yaml("orders", "uri: 'http://127.0.0.1:" + plain.port() + '\''));
        assertThat(get(Door.GENERAL, "1").text()).isEqualTo("plain by HTTP/1.1");

        assertThat(reload(yaml("orders", h2(peer, 10)))).isEmpty();

        assertThat(get(Door.GENERAL, "2").text()).isEqualTo("first by HTTP/2.0");
        await().until(() -> plain.connections() == 0);
    }

    // ---------------------------------------------------------------- TLS

    private static X509Bundle certificate() throws Exception {
        return new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    private static String trusting(String bundle, X509Bundle certificate) {
        return "spring.ssl.bundle.pem." + bundle + ".truststore.certificate: |\n"
                + certificate.getCertificatePEM().strip().indent(2);
    }

    private static String https(Peer peer, String bundle, String more) {
        return "uri: 'https://127.0.0.1:" + peer.port() + "', connection: { connect-timeout: 10s, ssl-bundle: " + bundle
                + " }" + more;
    }

    @Test
    void usesAnotherSslBundle() throws Exception {
        Peer peer = peer(
                "first",
                HttpProtocol.HTTP11,
                SslContextBuilder.forServer(its.toKeyManagerFactory()).build());
        begin(yaml("orders", https(peer, "wrong", "")));
        assertThat(get(Door.COMPILED, "1").reason()).isEqualTo("connect-failed");

        assertThat(reload(yaml("orders", https(peer, "right", "")))).isEmpty();
        assertThat(get(Door.COMPILED, "2").text()).isEqualTo("first by HTTP/1.1");
        CompletableFuture<TestCaller.Answer> held = hold(Door.COMPILED, peer);

        assertThat(reload(yaml("orders", https(peer, "wrong", "")))).isEmpty();
        assertThat(get(Door.COMPILED, "3").reason()).isEqualTo("connect-failed");
        peer.release.tryEmitEmpty();
        assertThat(held.join().text()).isEqualTo("first by HTTP/1.1");
        await().until(() -> peer.connections() == 0);
    }

    /** The backend supports both protocols, and uses HTTP/2 only for clients that offer it. */
    @Test
    void changesFromHttp1ToHttp2OverTls() throws Exception {
        Peer peer = add(new Peer(
                "first",
                SslContextBuilder.forServer(its.toKeyManagerFactory())
                        .applicationProtocolConfig(new ApplicationProtocolConfig(
                                Protocol.ALPN,
                                SelectorFailureBehavior.NO_ADVERTISE,
                                SelectedListenerFailureBehavior.ACCEPT,
                                ApplicationProtocolNames.HTTP_2,
                                ApplicationProtocolNames.HTTP_1_1))
                        .build(),
                HttpProtocol.H2,
                HttpProtocol.HTTP11));
        begin(yaml("orders", https(peer, "right", "")));
        assertThat(get(Door.COMPILED, "1").text()).isEqualTo("first by HTTP/1.1");

        assertThat(reload(yaml("orders", https(peer, "right", ", protocol: h2"))))
                .isEmpty();

        assertThat(get(Door.COMPILED, "2").text()).isEqualTo("first by HTTP/2.0");
        assertThat(get(Door.GENERAL, "3").text()).isEqualTo("first by HTTP/2.0");
    }

    @Test
    void keepsATlsConnectionIfOnlyLimitsChange() throws Exception {
        Peer peer = peer(
                "first",
                HttpProtocol.HTTP11,
                SslContextBuilder.forServer(its.toKeyManagerFactory()).build());
        begin(yaml("orders", https(peer, "right", "")));
        assertThat(get(Door.COMPILED, "1").status()).isEqualTo(200);
        await().until(() -> gateway.backend("orders").instances().first().pool().idle() == 1);

        assertThat(reload(yaml("orders", https(peer, "right", ", max-streams: 3"))))
                .isEmpty();

        assertThat(get(Door.COMPILED, "2").status()).isEqualTo(200);
        assertThat(peer.askedOver).hasSize(1);
    }

    @Test
    void changesNothingIfTheSslBundleIsMissing() throws Exception {
        Peer peer = peer(
                "first",
                HttpProtocol.HTTP11,
                SslContextBuilder.forServer(its.toKeyManagerFactory()).build());
        begin(yaml("orders", https(peer, "right", "")));
        Backend before = gateway.backend("orders");

        assertThat(reload(yaml("orders", https(peer, "missing", "")))).isNotEmpty();

        assertThat(gateway.backend("orders")).isSameAs(before);
        assertThat(get(Door.COMPILED, "1").status()).isEqualTo(200);
    }

    // ---------------------------------------------------------------- WebSockets

    /** Two backends, the configuration after the change, and the backend that answers afterwards. */
    @ParameterizedTest
    @CsvSource({
        "COMPILED, orders, 'max-streams: 3', first",
        "GENERAL, orders, 'max-streams: 256', second",
        "COMPILED, parcels, 'max-streams: 256', second",
        "GENERAL, parcels, 'max-streams: 256', second"
    })
    void keepsAWebSocketAfterAnyChangeOfItsBackend(Door door, String name, String limit, String then)
            throws IOException {
        Peer first = peer("first", HttpProtocol.HTTP11, null);
        Peer second = peer("second", HttpProtocol.HTTP11, null);
        begin(yaml("orders", "max-streams: 256, uri: 'http://127.0.0.1:" + first.port() + '\''));
        String path = door.path("orders", "ws");
        try (TestCaller caller = TestCaller.to(gateway.port());
                TestCaller later = TestCaller.to(gateway.port())) {
            TestWebSocket before = TestWebSocket.open(caller, path);
            assertThat(echo(before, "one")).isEqualTo("first:one");

            Peer next = then.equals("first") ? first : second;
            assertThat(reload(yaml(name, limit + ", uri: 'http://127.0.0.1:" + next.port() + '\'')))
                    .isEmpty();

            assertThat(echo(before, "two")).isEqualTo("first:two");
            TestWebSocket after = TestWebSocket.open(later, path);
            assertThat(echo(after, "three")).isEqualTo(then + ":three");
            assertThat(echo(before, "four")).isEqualTo("first:four");
        }
        await().until(() -> first.connections() + second.connections() == 0);
    }

    private static String echo(TestWebSocket caller, String text) throws IOException {
        caller.send(text);
        assertThat(caller.next()).startsWith("text ");
        return new String(caller.payload(), StandardCharsets.UTF_8);
    }
}
