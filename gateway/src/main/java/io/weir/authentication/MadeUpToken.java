package io.weir.authentication;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.impl.ECDSA;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.util.Base64URL;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * A token with a well-formed signature that no key has made, so that its verification does all of its work
 * and fails. A malformed signature would be refused before the cryptography.
 */
final class MadeUpToken {

    private MadeUpToken() {}

    /** Those of the algorithms with which a key can verify tokens. */
    static List<JWSAlgorithm> algorithms(JWK key, Collection<JWSAlgorithm> of) {
        return of.stream().filter(algorithm -> canVerify(key, algorithm)).toList();
    }

    private static boolean canVerify(JWK key, JWSAlgorithm algorithm) {
        return JWKMatcher.forJWSHeader(header(key, algorithm)).matches(key)
                && (!(key instanceof ECKey elliptic)
                        || Curve.forJWSAlgorithm(algorithm).contains(elliptic.getCurve()));
    }

    /** A token for a key that can verify this algorithm. */
    static String of(JWK key, JWSAlgorithm algorithm) {
        return header(key, algorithm).toBase64URL() + "." + Base64URL.encode("{}") + "."
                + Base64URL.encode(signature(key, algorithm));
    }

    private static JWSHeader header(JWK key, JWSAlgorithm algorithm) {
        return new JWSHeader.Builder(algorithm).keyID(key.getKeyID()).build();
    }

    /** A number in the right length, neither zero nor larger than the modulus or the order of the curve. */
    static byte[] signature(JWK key, JWSAlgorithm algorithm) {
        byte[] bytes = new byte[signatureLength(key, algorithm)];
        Arrays.fill(bytes, (byte) 1);
        return bytes;
    }

    private static int signatureLength(JWK key, JWSAlgorithm algorithm) {
        try {
            return key instanceof ECKey
                    ? ECDSA.getSignatureByteArrayLength(algorithm)
                    : (key.size() + Byte.SIZE - 1) / Byte.SIZE;
        } catch (JOSEException e) {
            throw new IllegalArgumentException("algorithm: " + algorithm + " (expected: one of the key's)", e);
        }
    }
}
