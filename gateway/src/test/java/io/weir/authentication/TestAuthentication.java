package io.weir.authentication;

import com.nimbusds.jose.jwk.JWK;
import java.time.Clock;
import java.util.List;

/** The rule of a route that requires a token, whose keys the test knows, for tests of other packages. */
public final class TestAuthentication {

    private final TestKeySource source = new TestKeySource();
    private final IssuerKeys keys = new IssuerKeys("corp", IssuerKeysTest.PROPERTIES, source, null, () -> 0, () -> 0);
    private final Issuer issuer = new Issuer("corp", IssuerKeysTest.PROPERTIES, keys, Clock.systemUTC());

    /** A rule that requires a token, and these scopes. */
    public AuthenticationRule rule(String... scopes) {
        return new AuthenticationRule(
                new RouteAuthenticationProperties(List.of("corp"), List.of(scopes), List.of(), false, List.of()),
                List.of(issuer),
                null);
    }

    /** The issuer. */
    public Issuer issuer() {
        return issuer;
    }

    /** A rule that requires a client certificate only, of one of these patterns. */
    public static AuthenticationRule certificate(String... patterns) {
        return new AuthenticationRule(
                new RouteAuthenticationProperties(List.of(), List.of(), List.of(), true, List.of(patterns)),
                List.of(),
                null);
    }

    /** The keys are known. */
    public TestAuthentication know(JWK... known) {
        keys.refreshIfDue();
        answer(known);
        return this;
    }

    /** The fetch that is under way finds these keys. */
    public void answer(JWK... found) {
        source.answer(TestIssuer.publicKeys(found));
    }

    /** The fetch that is under way fails. */
    public void fail() {
        source.fail();
    }

    /** The number of fetches so far. */
    public int fetches() {
        return source.fetches.size();
    }
}
