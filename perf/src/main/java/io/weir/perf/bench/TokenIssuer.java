package io.weir.perf.bench;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;

/** An issuer of JSON web tokens, signed with RS256, that publishes its key over HTTP. */
record TokenIssuer(RSAKey key, HttpServer server) implements AutoCloseable {

    /** The tokens' claim {@code iss}, as in {@code perf/bench.yml}. */
    private static final String NAME = "https://id.example";

    private static final int KEY_BITS = 2048;
    private static final Duration VALIDITY = Duration.ofHours(1);

    static TokenIssuer start() throws IOException, JOSEException {
        RSAKey key = new RSAKeyGenerator(KEY_BITS).keyID("bench").generate();
        byte[] published = new JWKSet(key).toPublicJWKSet().toString().getBytes(StandardCharsets.UTF_8);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/keys", exchange -> {
            exchange.sendResponseHeaders(200, published.length);
            exchange.getResponseBody().write(published);
            exchange.close();
        });
        server.start();
        return new TokenIssuer(key, server);
    }

    int port() {
        return server.getAddress().getPort();
    }

    /** A token that is valid for an hour. */
    String token() throws JOSEException {
        SignedJWT token = new SignedJWT(
                new JWSHeader.Builder(JWSAlgorithm.RS256).keyID(key.getKeyID()).build(),
                new JWTClaimsSet.Builder()
                        .issuer(NAME)
                        .subject("caller")
                        .expirationTime(Date.from(Instant.now().plus(VALIDITY)))
                        .build());
        token.sign(new RSASSASigner(key));
        return token.serialize();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
