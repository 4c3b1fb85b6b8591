package io.weir.perf.jmh;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authentication.AuthenticationProperties;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.ClientCertificateMode;
import io.weir.authentication.Issuer;
import io.weir.authentication.IssuerProperties;
import io.weir.authentication.Issuers;
import io.weir.authentication.RouteAuthenticationProperties;
import io.weir.authentication.TokenVerdict;
import io.weir.authentication.VerifiedToken;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The time that a route's authentication takes for one request on one event loop, in microseconds: its token
 * is read, judged, and its identity is written into the head for the backend. The issuer's keys are fetched
 * by HTTP before, as in the gateway.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 1)
@Threads(1)
public class TokenBenchmark {

    private static final int TOKENS = 64;

    /** The signature of the tokens: RSA with 2048 bits, or the curve P-256. */
    public enum Signature {
        RS256,
        ES256;

        JWK newKey() throws JOSEException {
            return this == RS256
                    ? new RSAKeyGenerator(2048).keyID("key").generate()
                    : new ECKeyGenerator(Curve.P_256).keyID("key").generate();
        }

        JWSSigner signer(JWK key) throws JOSEException {
            return this == RS256 ? new RSASSASigner(key.toRSAKey()) : new ECDSASigner(key.toECKey());
        }
    }

    @State(Scope.Benchmark)
    public static class IssuedTokens {

        private static final String ISSUER = "https://id.example/realms/corp";
        private static final Duration SKEW = Duration.ofMinutes(1);
        private static final Duration TIMEOUT = Duration.ofSeconds(20);

        @Param
        public Signature signature = Signature.RS256;

        private final List<HttpHeaders> requests = new ArrayList<>();
        private final HttpHeaders toBackend = new DefaultHttpHeaders();
        private final Issuers issuers = new Issuers(Clock.systemUTC(), System::nanoTime, () -> 0, any -> {});
        private AuthenticationRule rule;
        private URI keys;
        private HttpServer publisher;
        private int next;

        @Setup
        public void issue() throws IOException, JOSEException, InterruptedException {
            JWK key = signature.newKey();
            publish(new JWKSet(key).toPublicJWKSet().toString());
            issuers.commit(issuers.plan(properties(SKEW)));
            Issuer issuer = issuers.plan(properties(SKEW)).get("corp");
            long end = System.nanoTime() + TIMEOUT.toNanos();
            while (issuer.keyCount() == 0) {
                if (System.nanoTime() - end > 0) {
                    throw new IllegalStateException("keys: 0 after " + TIMEOUT + " (expected: 1)");
                }
                Thread.sleep(1);
            }
            rule = rule(issuer);
            JWSSigner signer = signature.signer(key);
            for (int i = 0; i < TOKENS; i++) {
                requests.add(new DefaultHttpHeaders()
                        .add(HttpHeaderNames.HOST, "api.example")
                        .add(HttpHeaderNames.ACCEPT, "application/json")
                        .add(HttpHeaderNames.AUTHORIZATION, "Bearer " + token(signer, "user-" + i)));
            }
            requests.forEach(request -> accept(rule, request));
        }

        private void publish(String document) throws IOException {
            byte[] body = document.getBytes(StandardCharsets.UTF_8);
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/keys", exchange -> {
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
            });
            server.start();
            publisher = server;
            keys = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/keys");
        }

        private String token(JWSSigner signer, String subject) throws JOSEException {
            Instant now = Instant.now();
            SignedJWT token = new SignedJWT(
                    new JWSHeader.Builder(JWSAlgorithm.parse(signature.name()))
                            .type(JOSEObjectType.JWT)
                            .keyID("key")
                            .build(),
                    new JWTClaimsSet.Builder()
                            .issuer(ISSUER)
                            .subject(subject)
                            .audience("orders")
                            .issueTime(Date.from(now))
                            .expirationTime(Date.from(now.plus(Duration.ofDays(1))))
                            .claim("scope", "openid profile orders.read orders.write")
                            .build());
            token.sign(signer);
            return token.serialize();
        }

        private AuthenticationProperties properties(Duration skew) {
            IssuerProperties corp = new IssuerProperties(
                    ISSUER,
                    keys,
                    List.of("orders"),
                    skew,
                    "sub",
                    Duration.ofHours(1),
                    Duration.ofSeconds(10),
                    Duration.ofSeconds(5));
            return new AuthenticationProperties(Map.of("corp", corp), "X-Identity", ClientCertificateMode.NONE);
        }

        private static AuthenticationRule rule(Issuer issuer) {
            return new AuthenticationRule(
                    new RouteAuthenticationProperties(
                            List.of("corp"), List.of("orders.read"), List.of(), false, List.of()),
                    List.of(issuer),
                    "X-Identity");
        }

        /**
         * A rule whose issuer has the same keys and has verified no token: that of a changed configuration.
         */
        private AuthenticationRule withoutCachedTokens() {
            return rule(issuers.plan(properties(SKEW.plusSeconds(1))).get("corp"));
        }

        private HttpHeaders nextRequest() {
            next = (next + 1) % TOKENS;
            return requests.get(next);
        }

        private HttpHeaders accept(AuthenticationRule judge, HttpHeaders request) {
            TokenVerdict verdict = judge.check(request);
            if (!(verdict instanceof VerifiedToken token)) {
                throw new IllegalStateException("verdict: " + verdict + " (expected: a verified token)");
            }
            judge.writeIdentity(token, toBackend);
            return toBackend;
        }

        @TearDown
        public void stop() {
            issuers.close();
            publisher.stop(0);
        }
    }

    @State(Scope.Benchmark)
    public static class NoCachedTokens {

        private AuthenticationRule rule;

        @Setup(Level.Invocation)
        public void forget(IssuedTokens issued) {
            rule = issued.withoutCachedTokens();
        }
    }

    @Benchmark
    public HttpHeaders cached(IssuedTokens issued) {
        return issued.accept(issued.rule, issued.nextRequest());
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public HttpHeaders verified(IssuedTokens issued, NoCachedTokens unseen) {
        issued.requests.forEach(request -> issued.accept(unseen.rule, request));
        return issued.toBackend;
    }
}
