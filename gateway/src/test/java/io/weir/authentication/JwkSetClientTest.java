package io.weir.authentication;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JwkSetClientTest {

    private final HttpClient http = HttpClient.newHttpClient();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private HttpServer server;
    private String base;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        base = "http://127.0.0.1:" + server.getAddress().getPort();
        server.start();
    }

    @AfterEach
    void stop() {
        ended.countDown();
        server.stop(0);
        threads.shutdownNow();
        http.shutdownNow();
    }

    private void serve(String path, int status, String body) {
        server.createContext(path, exchange -> {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
    }

    private FetchedKeys fetched(@Nullable String jwkSetUri, String issuer, Duration timeout) throws Exception {
        IssuerProperties properties = new IssuerProperties(
                issuer,
                jwkSetUri == null ? null : URI.create(jwkSetUri),
                List.of(),
                Duration.ZERO,
                "sub",
                Duration.ofMinutes(5),
                Duration.ofSeconds(10),
                timeout);
        return new JwkSetClient(http, properties)
                .fetch()
                .toCompletableFuture()
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private JWKSet fetch(@Nullable String jwkSetUri, String issuer, Duration timeout) throws Exception {
        return fetched(jwkSetUri, issuer, timeout).keys();
    }

    private JWKSet fetchKeys() throws Exception {
        return fetch(base + "/keys", "https://id.example", Duration.ofSeconds(20));
    }

    @Test
    void fetchesThePublicKeys() throws Exception {
        JWKSet withSecrets = new JWKSet(
                List.of(TestIssuer.FIRST, new OctetSequenceKey.Builder(new byte[32]).build(), TestIssuer.ELLIPTIC));
        serve("/keys", 200, withSecrets.toString(false));

        JWKSet fetched = fetchKeys();

        assertThat(fetched.getKeys()).hasSize(2).noneMatch(key -> key.isPrivate());
    }

    /** Each beside a key that can be read. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "\"text\"",
                "{}",
                "{\"kid\":\"odd\",\"kty\":\"EC\",\"crv\":\"P-999\",\"x\":\"AA\",\"y\":\"AA\"}",
                "{\"kid\":\"odd\",\"kty\":\"post-quantum\"}",
                "{\"kid\":\"odd\",\"kty\":\"RSA\",\"n\":\"AA\",\"e\":\"AQAB\",\"x5c\":[\"broken\"]}",
                "{\"kid\":\"odd\",\"kty\":\"RSA\",\"n\":7,\"e\":\"AQAB\"}",
                "{\"kid\":\"odd\",\"kty\":\"RSA\",\"n\":\"AA\",\"e\":\"AQAB\",\"key_ops\":[\"a\",null]}",
            })
    void skipsAKeyThatItCannotRead(String odd) throws Exception {
        String good = TestIssuer.FIRST.toPublicJWK().toJSONString();
        serve("/keys", 200, "{\"keys\":[" + odd + "," + good + "]}");

        FetchedKeys fetched = fetched(base + "/keys", "https://id.example", Duration.ofSeconds(20));

        assertThat(fetched.keys().getKeys()).extracting(JWK::getKeyID).contains(TestIssuer.FIRST.getKeyID());
        assertThat(fetched.keys().size() + fetched.skipped().size()).isEqualTo(2);
    }

    @Test
    void saysWhatIsWrongIfNoKeyCanBeRead() {
        serve("/keys", 200, "{\"keys\":[{\"kid\":\"odd\",\"kty\":\"EC\",\"crv\":\"P-999\"}]}");

        assertThatThrownBy(this::fetchKeys)
                .hasMessageContaining("has no public key for signatures, and others that cannot be read: [odd: ");
    }

    @Test
    void findsTheKeysByTheIssuersOwnConfiguration() throws Exception {
        serve(
                "/realm/.well-known/openid-configuration",
                200,
                "{\"issuer\":\"" + base + "/realm\",\"jwks_uri\":\"" + base + "/keys\"}");
        serve("/keys", 200, TestIssuer.document(TestIssuer.FIRST));

        assertThat(fetch(null, base + "/realm", Duration.ofSeconds(20)).size()).isEqualTo(1);
    }

    @Test
    void refusesTheConfigurationOfAnotherIssuer() {
        serve(
                "/realm/.well-known/openid-configuration",
                200,
                "{\"issuer\":\"https://evil.example\",\"jwks_uri\":\"" + base + "/keys\"}");

        assertThatThrownBy(() -> fetch(null, base + "/realm", Duration.ofSeconds(20)))
                .hasMessageContaining("the issuer describes itself as https://evil.example (expected: " + base);
    }

    @Test
    void failsWithoutUsableKeys() {
        serve("/keys", 200, "{\"keys\":[]}");

        assertThatThrownBy(this::fetchKeys).hasMessageContaining("has no public key for signatures");
    }

    @Test
    void failsWithAnErrorStatus() {
        serve("/keys", 503, TestIssuer.document(TestIssuer.FIRST));

        assertThatThrownBy(this::fetchKeys).hasMessageContaining("/keys answers 503");
    }

    @Test
    void failsWithAnAnswerThatIsNoJson() {
        serve("/keys", 200, "<html>");

        assertThatThrownBy(this::fetchKeys).isInstanceOf(ExecutionException.class);
    }

    @Test
    void failsWithAnAnswerThatIsTooLarge() {
        serve("/keys", 200, " ".repeat(1 << 21));

        assertThatThrownBy(this::fetchKeys).isInstanceOf(ExecutionException.class);
    }

    @Test
    void failsWithABodyThatNeverEnds() {
        server.createContext("/keys", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write('{');
            exchange.getResponseBody().flush();
            try {
                ended.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            exchange.close();
        });

        assertThatThrownBy(() -> fetch(base + "/keys", "https://id.example", Duration.ofMillis(200)))
                .hasCauseInstanceOf(TimeoutException.class);
    }
}
