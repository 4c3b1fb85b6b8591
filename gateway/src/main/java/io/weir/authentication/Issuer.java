package io.weir.authentication;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.core.OAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimNames;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtException;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.JwtValidationException;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;

/**
 * An issuer of tokens: verifies them with its keys in force. Spring Security's decoder does the work, with
 * the keys in memory; it never fetches any.
 *
 * <p>The algorithms are those of public keys. So {@code none} is refused, and so is HS256 with a public key
 * as the secret.
 */
// Concurrency: `verifier` belongs to one set of keys. A thread that finds other keys in force replaces it.
// Two threads may do so at once; then one of the two new verifiers, with the tokens in its cache, is lost.
public final class Issuer {

    /** Kept for each issuer; a verified token of 1000 characters takes about 4 KB. */
    private static final int MAX_CACHED_TOKENS = 10_000;

    private static final long MAX_CACHED_CHARS = 16 << 20;

    private static final Set<JWSAlgorithm> ALGORITHMS = algorithms();

    /** A JWT in general, or an access token (RFC 9068). */
    private static final DefaultJOSEObjectTypeVerifier<SecurityContext> TYPES = new DefaultJOSEObjectTypeVerifier<>(
            JOSEObjectType.JWT, new JOSEObjectType("at+jwt"), new JOSEObjectType("application/at+jwt"), null);

    private final String name;
    private final IssuerProperties properties;
    private final IssuerKeys keys;
    private final Clock clock;
    private final OAuth2TokenValidator<Jwt> validator;
    private final LongAdder cached = new LongAdder();
    private final LongAdder verified = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private volatile @Nullable Verifier verifier;
    /** The keys whose algorithms are warm. */
    private volatile @Nullable JWKSet warmKeys;

    /** The decoder for one set of keys, and the tokens that it has verified. */
    private record Verifier(JWKSet keys, NimbusJwtDecoder decoder, TokenCache cache) {}

    /** An issuer with its keys. */
    Issuer(String name, IssuerProperties properties, IssuerKeys keys, Clock clock) {
        this.name = name;
        this.properties = properties;
        this.keys = keys;
        this.clock = clock;
        JwtTimestampValidator times = new JwtTimestampValidator(properties.clockSkew());
        times.setClock(clock);
        List<OAuth2TokenValidator<Jwt>> validators = new ArrayList<>(List.of(
                times,
                // A token that never expires could not be withdrawn.
                new JwtClaimValidator<Instant>(JwtClaimNames.EXP, exp -> exp != null),
                new JwtClaimValidator<Object>(
                        JwtClaimNames.ISS, iss -> properties.issuer().equals(String.valueOf(iss)))));
        if (!properties.audiences().isEmpty()) {
            // The validator would refuse a token without an audience.
            validators.add(new JwtClaimValidator<Collection<String>>(
                    JwtClaimNames.AUD, audience -> !Collections.disjoint(audience, properties.audiences())));
        }
        this.validator = new DelegatingOAuth2TokenValidator<>(validators);
    }

    private static Set<JWSAlgorithm> algorithms() {
        Set<JWSAlgorithm> algorithms = new HashSet<>(JWSAlgorithm.Family.RSA);
        algorithms.addAll(JWSAlgorithm.Family.EC);
        return Set.copyOf(algorithms);
    }

    /** The name in the configuration. */
    public String name() {
        return name;
    }

    IssuerProperties properties() {
        return properties;
    }

    IssuerKeys keys() {
        return keys;
    }

    /** Whether the claim {@code iss} is this issuer's. */
    boolean isIssuerOf(@Nullable String iss) {
        return properties.issuer().equals(iss);
    }

    /** The token if it was verified with the keys in force, and has not expired since; null: verify it. */
    @SuppressWarnings("ReferenceEquality") // Equal keys are the same object; a comparison of keys would be slow.
    @Nullable
    VerifiedToken findVerified(String token) {
        Verifier present = verifier;
        if (present == null || present.keys != keys.inForce()) {
            return null;
        }
        VerifiedToken known = present.cache.get(token, clock.millis());
        if (known != null) {
            cached.increment();
        }
        return known;
    }

    /**
     * Verifies a token.
     *
     * @param kid the id of its key; null: none
     */
    TokenVerdict verify(String token, @Nullable String kid) {
        Verifier present = verifier();
        if (present == null || (kid != null && present.keys.getKeyByKeyId(kid) == null)) {
            AuthenticationRefusal refusal = present == null
                    ? AuthenticationRefusal.KEYS_UNKNOWN
                    : AuthenticationRefusal.invalid("the issuer has no such key");
            KeyFetch fetch = keys.fetchForUnknownKey();
            if (fetch != null) {
                return new KeysAwaited(fetch, refusal);
            }
            refused.increment();
            return refusal;
        }
        try {
            VerifiedToken accepted = accept(present.decoder.decode(token));
            present.cache.put(token, accepted);
            verified.increment();
            return accepted;
        } catch (JwtValidationException e) {
            return refuse(e.getErrors().iterator().next().getDescription());
        } catch (JwtException e) {
            return refuse("not signed by the issuer, or malformed");
        }
    }

    /**
     * Verifies a made-up token with an invalid signature for each algorithm that the keys in force permit,
     * and so loads the classes that a verification needs. Otherwise the first caller's token would block an
     * event loop while they load. Called again and again, in the background.
     *
     * @param warm the algorithms that are warm; receives the others
     */
    @SuppressWarnings("ReferenceEquality") // As in findVerified().
    void warmUp(Set<JWSAlgorithm> warm) {
        Verifier present = verifier();
        if (present == null || present.keys == warmKeys) {
            return;
        }
        for (JWK key : present.keys.getKeys()) {
            for (JWSAlgorithm algorithm : MadeUpToken.algorithms(key, ALGORITHMS)) {
                if (warm.add(algorithm)) {
                    warmUp(present.decoder, MadeUpToken.of(key, algorithm));
                }
            }
        }
        warmKeys = present.keys;
    }

    private static void warmUp(NimbusJwtDecoder decoder, String token) {
        try {
            var _ = decoder.decode(token);
        } catch (JwtException e) {
            // As intended.
        }
    }

    private VerifiedToken accept(Jwt jwt) {
        Instant expiresAt = jwt.getExpiresAt();
        if (expiresAt == null) {
            throw new IllegalStateException("a token without exp was accepted (expected: the validator refuses it)");
        }
        return new VerifiedToken(
                name,
                jwt.getClaims(),
                properties.identityClaim(),
                expiresAt.plus(properties.clockSkew()).toEpochMilli());
    }

    private AuthenticationRefusal refuse(@Nullable String why) {
        refused.increment();
        return AuthenticationRefusal.invalid(why == null ? "not valid" : why);
    }

    @SuppressWarnings("ReferenceEquality") // As in findVerified().
    private @Nullable Verifier verifier() {
        JWKSet inForce = keys.inForce();
        Verifier present = verifier;
        if (inForce == null || (present != null && present.keys == inForce)) {
            return inForce == null ? null : present;
        }
        Verifier next = new Verifier(inForce, decoder(inForce), new TokenCache(MAX_CACHED_TOKENS, MAX_CACHED_CHARS));
        verifier = next;
        return next;
    }

    private NimbusJwtDecoder decoder(JWKSet inForce) {
        DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
        processor.setJWSTypeVerifier(TYPES);
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(ALGORITHMS, new ImmutableJWKSet<>(inForce)));
        // The claims are validated by Spring Security's validators.
        processor.setJWTClaimsSetVerifier((claims, context) -> {});
        NimbusJwtDecoder decoder = new NimbusJwtDecoder(processor);
        decoder.setJwtValidator(validator);
        return decoder;
    }

    /** The number of keys in force; 0: none were ever known. */
    public int keyCount() {
        return keys.count();
    }

    /**
     * The time since the first of the failed fetches in a row, in nanoseconds; 0: the last one has succeeded.
     */
    public long failingNanos() {
        return keys.failingNanos();
    }

    /** Successful fetches of keys since the start. */
    public long fetched() {
        return keys.fetched();
    }

    /** Fetches of keys since the start in which some keys could not be read, and were skipped. */
    public long partialFetches() {
        return keys.partial();
    }

    /** Failed fetches of keys since the start. */
    public long failedFetches() {
        return keys.failed();
    }

    /** Tokens that were accepted since their signature had been verified before. */
    public long cachedTokens() {
        return cached.sum();
    }

    /** Tokens that were accepted after their signature was verified. */
    public long verifiedTokens() {
        return verified.sum();
    }

    /** Tokens of this issuer that were refused. */
    public long refusedTokens() {
        return refused.sum();
    }
}
