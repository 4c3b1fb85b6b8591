package io.weir.authentication;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.function.UnaryOperator;

/** Keys and tokens of an issuer, for tests. */
public final class TestIssuer {

    /** The claim {@code iss}. */
    public static final String ISS = "https://id.example";

    /** Two keys that are created once: that takes a tenth of a second for each. */
    public static final RSAKey FIRST = rsa("first");

    /** Another one. */
    public static final RSAKey SECOND = rsa("second");

    /** One of an elliptic curve. */
    public static final ECKey ELLIPTIC = elliptic();

    private TestIssuer() {}

    private static RSAKey rsa(String kid) {
        try {
            return new RSAKeyGenerator(2048).keyID(kid).generate();
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    private static ECKey elliptic() {
        try {
            return new ECKeyGenerator(Curve.P_256).keyID("elliptic").generate();
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The public keys. */
    public static JWKSet publicKeys(JWK... keys) {
        return new JWKSet(List.of(keys)).toPublicJWKSet();
    }

    /** The document that the issuer publishes. */
    public static String document(JWK... keys) {
        return publicKeys(keys).toString();
    }

    /** Claims of a token that is valid for an hour. */
    public static JWTClaimsSet.Builder claims(Instant now) {
        return new JWTClaimsSet.Builder()
                .issuer(ISS)
                .subject("alice")
                .audience("weir")
                .issueTime(Date.from(now.minus(Duration.ofHours(1))))
                .expirationTime(Date.from(now.plus(Duration.ofHours(1))));
    }

    /** A valid token. */
    public static String token(RSAKey key, Instant now) {
        return token(key, claims(now).build());
    }

    /** A token with other claims. */
    public static String token(RSAKey key, Instant now, UnaryOperator<JWTClaimsSet.Builder> change) {
        return token(key, change.apply(claims(now)).build());
    }

    /** A token with these claims. */
    public static String token(RSAKey key, JWTClaimsSet claims) {
        try {
            return signed(
                    new JWSHeader.Builder(JWSAlgorithm.RS256)
                            .type(JOSEObjectType.JWT)
                            .keyID(key.getKeyID())
                            .build(),
                    claims,
                    new RSASSASigner(key));
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    static String ellipticToken(Instant now) {
        try {
            return signed(
                    new JWSHeader.Builder(JWSAlgorithm.ES256)
                            .type(new JOSEObjectType("at+jwt"))
                            .keyID("elliptic")
                            .build(),
                    claims(now).build(),
                    new ECDSASigner(ELLIPTIC));
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A token whose secret is the public key: the classic confusion of algorithms. */
    public static String signedWithPublicKeyAsSecret(Instant now) {
        try {
            return signed(
                    new JWSHeader.Builder(JWSAlgorithm.HS256).keyID("first").build(),
                    claims(now).build(),
                    new MACSigner(FIRST.toRSAPublicKey().getEncoded()));
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A token with another type. */
    static String ofType(String type, Instant now) {
        try {
            return signed(
                    new JWSHeader.Builder(JWSAlgorithm.RS256)
                            .type(new JOSEObjectType(type))
                            .keyID("first")
                            .build(),
                    claims(now).build(),
                    new RSASSASigner(FIRST));
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String signed(JWSHeader header, JWTClaimsSet claims, JWSSigner signer) throws JOSEException {
        SignedJWT token = new SignedJWT(header, claims);
        token.sign(signer);
        return token.serialize();
    }
}
