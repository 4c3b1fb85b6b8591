package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.impl.ECDSA;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.util.Base64URL;
import java.math.BigInteger;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MadeUpTokenTest {

    private static final Set<JWSAlgorithm> ALL = all();

    private static Set<JWSAlgorithm> all() {
        Set<JWSAlgorithm> all = new HashSet<>(JWSAlgorithm.Family.RSA);
        all.addAll(JWSAlgorithm.Family.EC);
        all.addAll(JWSAlgorithm.Family.HMAC_SHA);
        return all;
    }

    @Test
    void aKeyOfACurveHasOneAlgorithm() throws JOSEException {
        assertThat(MadeUpToken.algorithms(TestIssuer.ELLIPTIC, ALL)).containsExactly(JWSAlgorithm.ES256);
        assertThat(MadeUpToken.algorithms(new ECKeyGenerator(Curve.P_384).generate(), ALL))
                .containsExactly(JWSAlgorithm.ES384);
        assertThat(MadeUpToken.algorithms(new ECKeyGenerator(Curve.P_521).generate(), ALL))
                .containsExactly(JWSAlgorithm.ES512);
    }

    @Test
    void anRsaKeyHasAllOfItsFamilyUnlessItNamesOne() {
        assertThat(MadeUpToken.algorithms(TestIssuer.FIRST, ALL))
                .containsExactlyInAnyOrderElementsOf(JWSAlgorithm.Family.RSA);
        RSAKey named = new RSAKey.Builder(TestIssuer.FIRST)
                .algorithm(JWSAlgorithm.PS256)
                .build();
        assertThat(MadeUpToken.algorithms(named, ALL)).containsExactly(JWSAlgorithm.PS256);
    }

    @Test
    void keysThatVerifyNoTokensHaveNone() {
        RSAKey encrypting =
                new RSAKey.Builder(TestIssuer.FIRST).keyUse(KeyUse.ENCRYPTION).build();
        assertThat(MadeUpToken.algorithms(encrypting, ALL)).isEmpty();
        OctetSequenceKey secret = new OctetSequenceKey.Builder(new byte[32]).build();
        assertThat(MadeUpToken.algorithms(secret, JWSAlgorithm.Family.RSA)).isEmpty();
    }

    /** Nimbus and the JDK refuse a signature of another form before they compute anything. */
    @Test
    void theSignatureIsWellFormed() throws JOSEException {
        for (Curve curve : Set.of(Curve.P_256, Curve.P_384, Curve.P_521)) {
            ECKey key = new ECKeyGenerator(curve).generate();
            for (JWSAlgorithm algorithm : MadeUpToken.algorithms(key, ALL)) {
                assertThatCode(() -> ECDSA.ensureLegalSignature(MadeUpToken.signature(key, algorithm), algorithm))
                        .as("%s", algorithm)
                        .doesNotThrowAnyException();
            }
        }
        byte[] signature = MadeUpToken.signature(TestIssuer.FIRST, JWSAlgorithm.RS256);
        assertThat(signature).hasSize(2048 / Byte.SIZE);
        assertThat(new BigInteger(1, signature))
                .isLessThan(TestIssuer.FIRST.getModulus().decodeToBigInteger());
    }

    @Test
    void theSignatureIsNotTheKeys() throws JOSEException {
        byte[] signature = MadeUpToken.signature(TestIssuer.ELLIPTIC, JWSAlgorithm.ES256);
        assertThat(new ECDSAVerifier(TestIssuer.ELLIPTIC.toPublicJWK())
                        .verify(new JWSHeader(JWSAlgorithm.ES256), new byte[] {1}, Base64URL.encode(signature)))
                .isFalse();
    }
}
