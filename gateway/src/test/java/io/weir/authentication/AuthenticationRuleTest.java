package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class AuthenticationRuleTest {

    private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

    private final TestKeySource source = new TestKeySource();
    private final ManualClock clock = new ManualClock();
    private final IssuerKeys keys =
            new IssuerKeys("corp", IssuerKeysTest.PROPERTIES, source, null, () -> clock.millis() * 1_000_000, () -> 0);
    private final Issuer issuer = new Issuer("corp", IssuerKeysTest.PROPERTIES, keys, clock);

    /** A clock that the test moves. */
    private static final class ManualClock extends Clock {

        private Instant now = NOW;

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return now;
        }
    }

    private void know(JWK... known) {
        keys.refreshIfDue();
        source.answer(TestIssuer.publicKeys(known));
    }

    private static HttpHeaders bearer(String token) {
        return new DefaultHttpHeaders().add("Authorization", "Bearer " + token);
    }

    private AuthenticationRule rule() {
        return rule(List.of(), List.of(), null);
    }

    private AuthenticationRule rule(List<String> scopes, List<String> claims, @Nullable String identityHeader) {
        return new AuthenticationRule(
                new RouteAuthenticationProperties(List.of("corp"), scopes, claims, false, List.of()),
                List.of(issuer),
                identityHeader);
    }

    private static String describe(TokenVerdict verdict) {
        return switch (verdict) {
            case VerifiedToken token -> "accepted " + token.identity();
            case KeysAwaited awaited -> "waits";
            case AuthenticationRefusal refusal ->
                (refusal.isForbidden() ? "403 " : "401 ") + refusal.detail() + " | " + refusal.challenge();
        };
    }

    private String verdict(String token) {
        return describe(rule().check(bearer(token)));
    }

    private static String invalid(String why) {
        return "401 " + why + " | Bearer error=\"invalid_token\", error_description=\"" + why + '"';
    }

    @Test
    void acceptsTokensOfTheIssuer() {
        know(TestIssuer.FIRST, TestIssuer.ELLIPTIC);

        assertThat(verdict(TestIssuer.token(TestIssuer.FIRST, NOW))).isEqualTo("accepted alice");
        assertThat(verdict(TestIssuer.ellipticToken(NOW))).isEqualTo("accepted alice");
        assertThat(describe(rule().check(new DefaultHttpHeaders()
                        .add("authorization", "bearer  " + TestIssuer.token(TestIssuer.FIRST, NOW)))))
                .isEqualTo("accepted alice");
    }

    /** The decoder skips such characters: a token would have any number of spellings. */
    @ParameterizedTest
    @ValueSource(strings = {"!", "=", "==", "*", "~", "+"})
    void refusesCharactersBesideTheSignature(String extra) {
        know(TestIssuer.FIRST);
        String token = TestIssuer.token(TestIssuer.FIRST, NOW);

        assertThat(verdict(token + extra)).isEqualTo(invalid("signature not in base64url"));
        assertThat(verdict(token.substring(0, token.length() - 5) + extra + token.substring(token.length() - 5)))
                .isEqualTo(invalid("signature not in base64url"));
        assertThat(verdict(token)).isEqualTo("accepted alice");
    }

    /** The last character of 256 bytes has four bits without a meaning. */
    @Test
    void refusesASignatureWithOtherUnusedBits() {
        know(TestIssuer.FIRST);
        String token = TestIssuer.token(TestIssuer.FIRST, NOW);
        String alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        char last = alphabet.charAt(alphabet.indexOf(token.charAt(token.length() - 1)) + 1);

        assertThat(verdict(token.substring(0, token.length() - 1) + last))
                .isEqualTo(invalid("signature not in base64url"));
    }

    @Test
    void readsAClaimThatIsNullAsMissing() {
        know(TestIssuer.FIRST);

        String token = changed(claims -> claims.claim("middle_name", null)
                .claim("scope", null)
                .claim("scp", List.of("orders.read"))
                .serializeNullClaims(true));

        assertThat(verdict(token)).isEqualTo("accepted alice");
        assertThat(describe(rule(List.of("orders.read"), List.of(), null).check(bearer(token))))
                .isEqualTo("accepted alice");
        assertThat(describe(rule(List.of(), List.of("middle_name=null"), null).check(bearer(token))))
                .startsWith("403 the token's claim middle_name");
    }

    static Stream<Arguments> refusedTokens() {
        String valid = TestIssuer.token(TestIssuer.FIRST, NOW);
        String[] parts = valid.split("\\.", -1);
        String otherPayload = TestIssuer.token(TestIssuer.FIRST, NOW, claims -> claims.subject("mallory"))
                .split("\\.", -1)[1];
        return Stream.of(
                Arguments.of(
                        "alg none",
                        new PlainJWT(TestIssuer.claims(NOW).build()).serialize(),
                        "not a signed JSON web token"),
                Arguments.of(
                        "alg none, with the old signature",
                        encoded("{\"alg\":\"none\",\"kid\":\"first\"}") + '.' + parts[1] + '.' + parts[2],
                        "not a signed JSON web token"),
                Arguments.of(
                        "HS256 with the public key",
                        TestIssuer.signedWithPublicKeyAsSecret(NOW),
                        "not signed by the issuer, or malformed"),
                Arguments.of(
                        "another payload",
                        parts[0] + '.' + otherPayload + '.' + parts[2],
                        "not signed by the issuer, or malformed"),
                Arguments.of("no signature", parts[0] + '.' + parts[1] + '.', "not a signed JSON web token"),
                Arguments.of(
                        "a foreign key of the same id",
                        TestIssuer.token(renamed(), TestIssuer.claims(NOW).build()),
                        "not signed by the issuer, or malformed"),
                Arguments.of(
                        "another type",
                        TestIssuer.ofType("secevent+jwt", NOW),
                        "not signed by the issuer, or malformed"),
                Arguments.of("garbage", "garbage", "not a signed JSON web token"),
                Arguments.of(
                        "a header that is null",
                        encoded("null") + '.' + parts[1] + '.' + parts[2],
                        "not a signed JSON web token"),
                Arguments.of("five parts", "a.b.c.d.e", "not a signed JSON web token"),
                Arguments.of(
                        "expired",
                        changed(claims -> claims.expirationTime(date(-61))),
                        "Jwt expired at 2026-03-01T11:58:59Z"),
                Arguments.of(
                        "not yet valid",
                        changed(claims -> claims.notBeforeTime(date(61))),
                        "Jwt used before 2026-03-01T12:01:01Z"),
                Arguments.of(
                        "without expiry", changed(claims -> claims.expirationTime(null)), "The exp claim is not valid"),
                Arguments.of(
                        "another audience",
                        changed(claims -> claims.audience("billing")),
                        "The aud claim is not valid"),
                Arguments.of(
                        "no audience", changed(claims -> claims.audience((String) null)), "The aud claim is not valid"),
                Arguments.of(
                        "another issuer",
                        changed(claims -> claims.issuer("https://evil.example")),
                        "of an issuer that the route does not accept"),
                Arguments.of(
                        "no issuer",
                        changed(claims -> claims.issuer(null)),
                        "of an issuer that the route does not accept"),
                Arguments.of(
                        "too long",
                        changed(claims -> claims.claim("pad", "x".repeat(8000))),
                        "longer than 8192 characters"));
    }

    private static String encoded(String json) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(json.getBytes(StandardCharsets.UTF_8));
    }

    private static RSAKey renamed() {
        return new RSAKey.Builder(TestIssuer.SECOND).keyID("first").build();
    }

    private static String changed(UnaryOperator<JWTClaimsSet.Builder> change) {
        return TestIssuer.token(TestIssuer.FIRST, NOW, change);
    }

    private static Date date(int seconds) {
        return Date.from(NOW.plusSeconds(seconds));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("refusedTokens")
    void refusesTokensThatProveNothing(String name, String token, String why) {
        know(TestIssuer.FIRST);

        assertThat(verdict(token)).isEqualTo(invalid(why));
        assertThat(verdict(token)).as("again").isEqualTo(invalid(why));
        assertThat(source.fetches).hasSize(1);
    }

    @Test
    void toleratesTheDifferenceOfTheClocks() {
        know(TestIssuer.FIRST);

        assertThat(verdict(changed(claims -> claims.expirationTime(date(-59))))).isEqualTo("accepted alice");
        assertThat(verdict(changed(claims -> claims.notBeforeTime(date(59))))).isEqualTo("accepted alice");
    }

    @Test
    void refusesRequestsWithoutOneBearerToken() {
        know(TestIssuer.FIRST);
        String token = TestIssuer.token(TestIssuer.FIRST, NOW);
        String missing = "401 no bearer token (expected: Authorization: Bearer) | Bearer";

        assertThat(describe(rule().check(new DefaultHttpHeaders()))).isEqualTo(missing);
        assertThat(describe(rule().check(new DefaultHttpHeaders().add("Authorization", "Basic YTpi"))))
                .isEqualTo(missing);
        assertThat(describe(rule().check(new DefaultHttpHeaders().add("Authorization", "Bearer "))))
                .isEqualTo(missing);
        assertThat(describe(rule().check(bearer(token).add("Authorization", "Bearer " + token))))
                .isEqualTo(invalid("more than one Authorization field"));
    }

    @Test
    void verifiesATokenOnceUntilItExpires() {
        know(TestIssuer.FIRST);
        String token = TestIssuer.token(TestIssuer.FIRST, NOW);
        assertThat(verdict(token)).isEqualTo("accepted alice");

        for (int i = 0; i < 10; i++) {
            assertThat(verdict(String.valueOf(token.toCharArray()))).isEqualTo("accepted alice");
        }
        assertThat(issuer.verifiedTokens()).isEqualTo(1);
        assertThat(issuer.cachedTokens()).isEqualTo(10);

        clock.now = NOW.plus(Duration.ofMinutes(61)).minusMillis(1);
        assertThat(verdict(token)).isEqualTo("accepted alice");
        clock.now = NOW.plus(Duration.ofMinutes(61)).plusMillis(1);
        assertThat(verdict(token)).isEqualTo(invalid("Jwt expired at 2026-03-01T13:00:00Z"));
        assertThat(issuer.refusedTokens()).isEqualTo(1);
    }

    @Test
    void refusesAVerifiedTokenOfAKeyThatIsWithdrawn() {
        know(TestIssuer.FIRST);
        String token = TestIssuer.token(TestIssuer.FIRST, NOW);
        assertThat(verdict(token)).isEqualTo("accepted alice");

        clock.now = NOW.plus(Duration.ofMinutes(5));
        know(TestIssuer.SECOND);
        clock.now = clock.now.plusSeconds(1);

        assertThat(verdict(token)).isEqualTo(invalid("the issuer has no such key"));
        assertThat(verdict(TestIssuer.token(TestIssuer.SECOND, NOW))).isEqualTo("accepted alice");
    }

    @Test
    void waitsForAFetchIfTheKeyIsUnknownAndRefusesInTheRestOfTheInterval() {
        know(TestIssuer.FIRST);
        clock.now = NOW.plusSeconds(10);
        String token = TestIssuer.token(TestIssuer.SECOND, NOW);

        assertThat(verdict(token)).isEqualTo("waits");
        source.answer(TestIssuer.publicKeys(TestIssuer.FIRST));
        assertThat(verdict(token)).isEqualTo(invalid("the issuer has no such key"));
        assertThat(source.fetches).hasSize(2);

        clock.now = clock.now.plusSeconds(10);
        assertThat(verdict(token)).isEqualTo("waits");
        source.answer(TestIssuer.publicKeys(TestIssuer.FIRST, TestIssuer.SECOND));
        assertThat(verdict(token)).isEqualTo("accepted alice");
    }

    @Test
    void blamesNoTokenWhileNoKeyWasEverKnown() {
        String token = TestIssuer.token(TestIssuer.FIRST, NOW);

        assertThat(verdict(token)).isEqualTo("waits");
        source.fail();

        assertThat(verdict(token)).isEqualTo("401 the keys of the token's issuer are not known | Bearer");
    }

    @Test
    void acceptsTokensOfKnownKeysWhileTheIssuerIsDown() {
        know(TestIssuer.FIRST);
        clock.now = NOW.plus(Duration.ofMinutes(30));
        keys.refreshIfDue();
        source.fail();

        assertThat(verdict(TestIssuer.token(TestIssuer.FIRST, clock.now))).isEqualTo("accepted alice");
    }

    @Test
    void requiresEveryScope() {
        know(TestIssuer.FIRST);
        AuthenticationRule rule = rule(List.of("orders.read", "orders.write"), List.of(), null);
        String both = changed(claims -> claims.claim("scope", "orders.write openid orders.read"));
        String list = changed(claims -> claims.claim("scp", List.of("orders.read", "orders.write")));
        String one = changed(claims -> claims.claim("scope", "orders.read orders.writer"));

        assertThat(describe(rule.check(bearer(both)))).isEqualTo("accepted alice");
        assertThat(describe(rule.check(bearer(list)))).isEqualTo("accepted alice");
        for (int i = 0; i < 2; i++) {
            assertThat(describe(rule.check(bearer(one))))
                    .isEqualTo("403 the token lacks the scope orders.write | Bearer"
                            + " error=\"insufficient_scope\", scope=\"orders.read orders.write\"");
        }
        assertThat(describe(rule.check(bearer(changed(claims -> claims))))).startsWith("403 ");
    }

    @Test
    void requiresEveryClaim() {
        know(TestIssuer.FIRST);
        AuthenticationRule rule =
                rule(List.of(), List.of("department=sales", "realm_access.roles=admin", "level=3"), null);

        String all = changed(claims -> claims.claim("department", "sales")
                .claim("realm_access", Map.of("roles", List.of("user", "admin")))
                .claim("level", 3));
        String other = changed(claims -> claims.claim("department", "sales")
                .claim("realm_access", Map.of("roles", List.of("user", "administrator")))
                .claim("level", 3));

        assertThat(describe(rule.check(bearer(all)))).isEqualTo("accepted alice");
        assertThat(describe(rule.check(bearer(other))))
                .startsWith("403 the token's claim realm_access.roles does not allow it | Bearer"
                        + " error=\"insufficient_scope\"");
        assertThatThrownBy(() -> rule(List.of(), List.of("=sales"), null))
                .hasMessage("authentication.claims: =sales (expected: NAME=VALUE)");
    }

    @Test
    void writesTheIdentityAsAFieldValueThatCannotBeSplit() {
        know(TestIssuer.FIRST);
        AuthenticationRule rule = rule(List.of(), List.of(), "X-Identity");
        String strange = changed(claims -> claims.subject("José\r\nX-Admin: 1%"));
        HttpHeaders toBackend = new DefaultHttpHeaders().add("X-Identity", "of a filter");

        VerifiedToken token = (VerifiedToken) rule.check(bearer(strange));
        rule.writeIdentity(token, toBackend);

        assertThat(toBackend.getAll("x-identity")).containsExactly("Jos%C3%A9%0D%0AX-Admin:%201%25");
        assertThat(describe(rule.check(bearer(changed(claims -> claims.subject(null))))))
                .startsWith("403 ");
    }

    @Test
    void namesTheCallerByAClaimTogetherWithTheIssuer() {
        know(TestIssuer.FIRST);
        VerifiedToken token = (VerifiedToken) rule().check(bearer(changed(claims -> claims.claim("level", 3)
                .claim("empty", "")
                .claim("roles", List.of("admin"))
                .claim("realm", Map.of("team", "red")))));

        assertThat(token.callerBy("sub")).isEqualTo("alice https://id.example");
        assertThat(token.callerBy("level")).isEqualTo("3 https://id.example");
        assertThat(token.callerBy("realm.team")).isEqualTo("red https://id.example");
        for (String none : List.of("missing", "empty", "roles", "realm", "sub.name")) {
            assertThat(token.callerBy(none)).as(none).isNull();
        }
    }

    @Test
    void findsTheIssuerOfATokenAmongSeveral() {
        know(TestIssuer.FIRST);
        IssuerProperties partner = new IssuerProperties(
                "https://partner.example",
                URI.create("http://partner.example/keys"),
                List.of(),
                Duration.ZERO,
                "azp",
                Duration.ofMinutes(5),
                Duration.ofSeconds(10),
                Duration.ofSeconds(5));
        IssuerKeys partnersKeys = new IssuerKeys(
                "partner",
                partner,
                new TestKeySource(),
                TestIssuer.publicKeys(TestIssuer.SECOND),
                () -> clock.millis() * 1_000_000,
                () -> 0);
        AuthenticationRule rule = new AuthenticationRule(
                new RouteAuthenticationProperties(List.of("corp", "partner"), List.of(), List.of(), false, List.of()),
                List.of(issuer, new Issuer("partner", partner, partnersKeys, clock)),
                null);
        JWTClaimsSet.Builder claims =
                TestIssuer.claims(NOW).issuer("https://partner.example").claim("azp", "robot");

        assertThat(describe(rule.check(bearer(TestIssuer.token(TestIssuer.SECOND, claims.build())))))
                .isEqualTo("accepted robot");
        // The partner has no audiences configured, so a token need not name one.
        claims.audience((String) null);
        assertThat(describe(rule.check(bearer(TestIssuer.token(TestIssuer.SECOND, claims.build())))))
                .isEqualTo("accepted robot");
        assertThat(describe(rule.check(bearer(TestIssuer.token(TestIssuer.FIRST, NOW)))))
                .isEqualTo("accepted alice");
        // The key of one issuer does not sign for the other.
        assertThat(describe(rule.check(bearer(TestIssuer.token(TestIssuer.SECOND, NOW)))))
                .isIn("waits", invalid("the issuer has no such key"));
    }
}
