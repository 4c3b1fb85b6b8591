package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class IssuersTest {

    private static final JWKSet KEYS = TestIssuer.publicKeys(TestIssuer.FIRST);

    /** By the URI of the keys. */
    private final Map<URI, TestKeySource> sources = new HashMap<>();

    private final Issuers issuers = new Issuers(
            Clock.systemUTC(),
            () -> 0,
            properties -> sources.computeIfAbsent(
                    Objects.requireNonNull(properties.jwkSetUri()), uri -> new TestKeySource()));

    @AfterEach
    void end() {
        issuers.close();
    }

    private TestKeySource source(String uri) {
        return Objects.requireNonNull(sources.get(URI.create(uri)));
    }

    private static IssuerProperties issuer(String iss, String keys, String audience, Duration refresh) {
        return new IssuerProperties(
                iss,
                URI.create(keys),
                List.of(audience),
                Duration.ZERO,
                "sub",
                refresh,
                Duration.ofSeconds(10),
                Duration.ofSeconds(5));
    }

    private static final IssuerProperties CORP =
            issuer("https://id.example", "http://one/keys", "weir", Duration.ofMinutes(5));

    private Issuer apply(String name, IssuerProperties next) {
        Map<String, Issuer> planned =
                issuers.plan(new AuthenticationProperties(Map.of(name, next), null, ClientCertificateMode.NONE));
        issuers.commit(planned);
        return Objects.requireNonNull(planned.get(name));
    }

    private Issuer applyWithKeys() {
        Issuer corp = apply("corp", CORP);
        issuers.refreshIfDue();
        source("http://one/keys").answer(KEYS);
        assertThat(corp.keyCount()).isEqualTo(1);
        return corp;
    }

    @Test
    void keepsAnUnchangedIssuer() {
        Issuer corp = applyWithKeys();

        assertThat(apply("corp", CORP)).isSameAs(corp);
    }

    @Test
    void keepsTheKeysIfOnlyTheRulesChange() {
        Issuer corp = applyWithKeys();

        Issuer next = apply("corp", issuer("https://id.example", "http://one/keys", "x", Duration.ofMinutes(5)));

        assertThat(next).isNotSameAs(corp);
        assertThat(next.keys()).isSameAs(corp.keys());
    }

    @Test
    void keepsTheKeysUntilANewSourceAnswers() {
        applyWithKeys();

        Issuer next = apply("renamed", issuer("https://id.example", "http://two/keys", "weir", Duration.ofMinutes(1)));
        issuers.refreshIfDue();
        assertThat(next.keys().inForce()).isEqualTo(KEYS);
        source("http://two/keys").answer(TestIssuer.publicKeys(TestIssuer.SECOND));

        assertThat(next.keys().inForce()).isEqualTo(TestIssuer.publicKeys(TestIssuer.SECOND));
    }

    @Test
    void givesTheKeysToNoOtherIssuer() {
        applyWithKeys();

        Issuer next = apply("corp", issuer("https://other.example", "http://two/keys", "weir", Duration.ofMinutes(5)));

        assertThat(next.keyCount()).isZero();
    }

    @Test
    void warmsUpWithoutCountingATokenOnceKeysAreKnown() {
        Issuer corp = apply("corp", CORP);
        issuers.refreshIfDue();
        assertThat(issuers.warm()).isEmpty();
        source("http://one/keys").answer(TestIssuer.publicKeys(TestIssuer.ELLIPTIC));

        issuers.refreshIfDue();

        assertThat(issuers.warm()).containsExactly(JWSAlgorithm.ES256);
        assertThat(corp.refusedTokens()).isZero();
        assertThat(source("http://one/keys").fetches).hasSize(1);
    }

    /** Otherwise the first token with the other key's algorithm blocks an event loop. */
    @Test
    void warmsUpEachAlgorithmOfTheKeys() {
        apply("corp", CORP);
        issuers.refreshIfDue();
        source("http://one/keys").answer(TestIssuer.publicKeys(TestIssuer.FIRST, TestIssuer.ELLIPTIC));

        issuers.refreshIfDue();

        assertThat(issuers.warm())
                .containsExactlyInAnyOrder(
                        JWSAlgorithm.RS256,
                        JWSAlgorithm.RS384,
                        JWSAlgorithm.RS512,
                        JWSAlgorithm.PS256,
                        JWSAlgorithm.PS384,
                        JWSAlgorithm.PS512,
                        JWSAlgorithm.ES256);
    }

    @Test
    void warmsUpTheAlgorithmsOfEachIssuer() {
        IssuerProperties other = issuer("https://other.example", "http://two/keys", "weir", Duration.ofMinutes(5));
        issuers.commit(issuers.plan(
                new AuthenticationProperties(Map.of("corp", CORP, "other", other), null, ClientCertificateMode.NONE)));
        issuers.refreshIfDue();
        source("http://one/keys").answer(TestIssuer.publicKeys(rs256()));
        issuers.refreshIfDue();
        assertThat(issuers.warm()).containsExactly(JWSAlgorithm.RS256);
        source("http://two/keys").answer(TestIssuer.publicKeys(TestIssuer.ELLIPTIC));

        issuers.refreshIfDue();

        assertThat(issuers.warm()).containsExactlyInAnyOrder(JWSAlgorithm.RS256, JWSAlgorithm.ES256);
    }

    /** The key names its only algorithm. */
    private static RSAKey rs256() {
        return new RSAKey.Builder(TestIssuer.FIRST)
                .algorithm(JWSAlgorithm.RS256)
                .build();
    }

    @Test
    void planChangesNothing() {
        Issuer corp = applyWithKeys();
        int before = sources.size();

        issuers.plan(new AuthenticationProperties(
                Map.of("more", issuer("https://more.example", "http://three/keys", "a", Duration.ofMinutes(5))),
                null,
                ClientCertificateMode.NONE));

        assertThat(source("http://three/keys").fetches).isEmpty();
        assertThat(sources).hasSize(before + 1);
        assertThat(issuers.plan(new AuthenticationProperties(Map.of("corp", CORP), null, ClientCertificateMode.NONE)))
                .containsEntry("corp", corp);
    }
}
