package io.weir.perf.bench;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.RSAPublicKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;

/** An issuer of JSON web tokens, signed with RS256, that publishes its key over HTTP. */
final class TokenIssuer implements AutoCloseable {

    /** The tokens' claim {@code iss}, as in {@code perf/bench.yml}. */
    private static final String NAME = "https://id.example";

    private static final String KEY_ID = "bench";
    private static final int KEY_BITS = 2048;
    private static final Duration VALIDITY = Duration.ofHours(1);
    private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

    private final KeyPair keys;
    private final HttpServer server;

    private TokenIssuer(KeyPair keys, HttpServer server) {
        this.keys = keys;
        this.server = server;
    }

    static TokenIssuer start() throws IOException, GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(KEY_BITS);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        TokenIssuer issuer = new TokenIssuer(generator.generateKeyPair(), server);
        server.createContext("/keys", exchange -> {
            byte[] body = bytes(issuer.publishedKeys());
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        return issuer;
    }

    int port() {
        return server.getAddress().getPort();
    }

    /** A token that is valid for an hour. */
    String token() throws GeneralSecurityException {
        String content = encode(bytes("{\"alg\":\"RS256\",\"kid\":\"%s\"}".formatted(KEY_ID)))
                + '.'
                + encode(bytes("{\"iss\":\"%s\",\"sub\":\"caller\",\"exp\":%d}"
                        .formatted(NAME, Instant.now().plus(VALIDITY).getEpochSecond())));
        Signature signature = Signature.getInstance("SHA256withRSA");
        signature.initSign(keys.getPrivate());
        signature.update(bytes(content));
        return content + '.' + encode(signature.sign());
    }

    private String publishedKeys() {
        RSAPublicKey key = (RSAPublicKey) keys.getPublic();
        return "{\"keys\":[{\"kty\":\"RSA\",\"use\":\"sig\",\"alg\":\"RS256\",\"kid\":\"%s\",\"n\":\"%s\",\"e\":\"%s\"}]}"
                .formatted(KEY_ID, encode(unsigned(key.getModulus())), encode(unsigned(key.getPublicExponent())));
    }

    private static byte[] unsigned(BigInteger number) {
        byte[] bytes = number.toByteArray();
        return bytes[0] == 0 ? Arrays.copyOfRange(bytes, 1, bytes.length) : bytes;
    }

    private static String encode(byte[] bytes) {
        return BASE64.encodeToString(bytes);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
