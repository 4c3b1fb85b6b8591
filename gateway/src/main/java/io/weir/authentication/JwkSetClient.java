package io.weir.authentication;

import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.util.JSONObjectUtils;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Fetches sets of keys by HTTP. The size and the time of each answer are bounded.
 *
 * <p>The client is the JDK's, with threads of its own: a fetch uses neither an event loop nor a backend's
 * pool. It trusts the JVM's certificate authorities.
 */
final class JwkSetClient implements KeySource {

    private static final long MAX_BYTES = 1 << 20;
    private static final int OK = 200;
    private static final String WELL_KNOWN = "/.well-known/openid-configuration";

    private final HttpClient http;
    private final URI issuer;
    private final @Nullable URI jwkSetUri;
    private final Duration timeout;

    /** A client for the keys of one issuer. */
    JwkSetClient(HttpClient http, IssuerProperties properties) {
        this.http = http;
        this.issuer = URI.create(properties.issuer());
        this.jwkSetUri = properties.jwkSetUri();
        this.timeout = properties.fetchTimeout();
    }

    @Override
    public CompletionStage<FetchedKeys> fetch() {
        URI known = jwkSetUri;
        return known == null
                ? get(configurationUri()).thenApply(this::jwkSetUri).thenCompose(this::keys)
                : keys(known);
    }

    private CompletableFuture<FetchedKeys> keys(URI uri) {
        return get(uri).thenApply(text -> parse(uri, text));
    }

    /** Where the issuer describes itself (OpenID Connect Discovery 1.0, section 4). */
    private URI configurationUri() {
        String text = issuer.toString();
        return URI.create((text.endsWith("/") ? text.substring(0, text.length() - 1) : text) + WELL_KNOWN);
    }

    private URI jwkSetUri(String configuration) {
        try {
            var described = JSONObjectUtils.parse(configuration);
            String of = JSONObjectUtils.getString(described, "issuer");
            if (!issuer.toString().equals(of)) {
                throw new IOException("the issuer describes itself as " + of + " (expected: " + issuer + ")");
            }
            URI uri = JSONObjectUtils.getURI(described, "jwks_uri");
            if (uri == null) {
                throw new IOException(configurationUri() + " has no jwks_uri");
            }
            return uri;
        } catch (ParseException | IOException e) {
            throw new CompletionException(e);
        }
    }

    private CompletableFuture<String> get(URI uri) {
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("Accept", "application/json, application/jwk-set+json")
                .build();
        CompletableFuture<HttpResponse<String>> sent = http.sendAsync(
                request, BodyHandlers.limiting(BodyHandlers.ofString(StandardCharsets.UTF_8), MAX_BYTES));
        // The client's own time-out ends with the answer's head.
        CompletableFuture<String> body =
                sent.thenApply(answer -> body(uri, answer)).orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
        var _ = body.whenComplete((text, failure) -> {
            if (failure != null) {
                sent.cancel(true);
            }
        });
        return body;
    }

    private static String body(URI uri, HttpResponse<String> answer) {
        if (answer.statusCode() != OK) {
            throw new CompletionException(new IOException(uri + " answers " + answer.statusCode()));
        }
        return answer.body();
    }

    /**
     * The public keys for signatures, read one by one: an issuer may add a key of a kind that is not known
     * here. A set without any is an error, not a withdrawal of all keys: an issuer that is being set up
     * answers so.
     */
    static FetchedKeys parse(URI uri, String text) {
        try {
            List<Object> described = JSONObjectUtils.getJSONArray(JSONObjectUtils.parse(text), "keys");
            if (described == null) {
                throw new IOException(uri + " has no member keys");
            }
            List<JWK> usable = new ArrayList<>();
            List<String> skipped = new ArrayList<>();
            for (Object one : described) {
                try {
                    JWK key = JWK.parse(asObject(one)).toPublicJWK();
                    // A symmetric key has no public one.
                    if (key != null && (key.getKeyUse() == null || KeyUse.SIGNATURE.equals(key.getKeyUse()))) {
                        usable.add(key);
                    }
                } catch (ParseException | RuntimeException e) {
                    skipped.add(kid(one) + ": " + e.getMessage());
                }
            }
            if (usable.isEmpty()) {
                throw new IOException(uri + " has no public key for signatures"
                        + (skipped.isEmpty() ? "" : ", and others that cannot be read: " + skipped));
            }
            return new FetchedKeys(new JWKSet(usable), skipped);
        } catch (ParseException | IOException e) {
            throw new CompletionException(e);
        }
    }

    @SuppressWarnings("unchecked") // The names in a JSON object are strings.
    private static Map<String, Object> asObject(@Nullable Object one) throws ParseException {
        if (!(one instanceof Map)) {
            throw new ParseException("no JSON object", 0);
        }
        return (Map<String, Object>) one;
    }

    private static String kid(@Nullable Object one) {
        Object kid = one instanceof Map<?, ?> key ? key.get("kid") : null;
        return kid == null ? "a key without kid" : String.valueOf(kid);
    }
}
