package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RateLimitKeyTest {

    private final HttpHeaders head = new DefaultHttpHeaders();

    private String key(String property, String address) {
        return RateLimitKey.parse(property).of(head, () -> address, RateLimitKeyTest::unaskedClaim);
    }

    private String claimed(String property, @Nullable String caller) {
        return RateLimitKey.parse(property).of(head, RateLimitKeyTest::unasked, claim -> {
            assertThat(claim).isEqualTo("org.team");
            return caller;
        });
    }

    private static @Nullable String unaskedClaim(String claim) {
        throw new AssertionError("asked for the claim " + claim);
    }

    private static String unasked() {
        throw new AssertionError("asked for the address");
    }

    @Test
    void isTheAddress() {
        assertThat(key("client-address", "192.0.2.1")).isNotEqualTo(key("client-address", "192.0.2.2"));
    }

    @Test
    void isOneForTheRoute() {
        assertThat(RateLimitKey.parse("route").of(head, RateLimitKeyTest::unasked, RateLimitKeyTest::unaskedClaim))
                .isEqualTo(RateLimitKey.SHARED);
    }

    @Test
    void isTheValueOfAHeaderField() {
        head.set("x-api-key", "k1");
        assertThat(RateLimitKey.parse("header:X-Api-Key")
                        .of(head, RateLimitKeyTest::unasked, RateLimitKeyTest::unaskedClaim))
                .isEqualTo("k1");
    }

    @Test
    void isSharedIfTheFieldIsMissingEmptyOrRepeated() {
        assertThat(key("header:X-Api-Key", "")).isEqualTo(RateLimitKey.SHARED);
        head.set("X-Api-Key", "");
        assertThat(key("header:X-Api-Key", "")).isEqualTo(RateLimitKey.SHARED);
        head.set("X-Api-Key", "k1");
        head.add("x-api-key", "junk");
        assertThat(key("header:X-Api-Key", "")).isEqualTo(RateLimitKey.SHARED);
    }

    @Test
    void isShortEvenIfTheValueIsLong() {
        head.set("authorization", "Bearer " + "x".repeat(10_000) + "1");
        String first = key("header:Authorization", "");
        head.set("authorization", "Bearer " + "x".repeat(10_000) + "2");
        String second = key("header:Authorization", "");

        assertThat(first).hasSizeLessThanOrEqualTo(128).isNotEqualTo(second);
    }

    @Test
    void isTheClaimOfTheToken() {
        assertThat(claimed("claim:org.team", "red https://id.example")).isEqualTo("red https://id.example");
        assertThat(claimed("claim:org.team", "x".repeat(5_000)))
                .hasSizeLessThanOrEqualTo(128)
                .isNotEqualTo(claimed("claim:org.team", "x".repeat(5_001)));
    }

    @Test
    void isSharedIfTheTokenLacksTheClaim() {
        assertThat(claimed("claim:org.team", null)).isEqualTo(RateLimitKey.SHARED);
    }

    @Test
    void leavesTheGatewayAsADigestUnlessItIsAnAddress() {
        assertThat(RateLimitKey.parse("client-address").outside("192.0.2.1")).isEqualTo("192.0.2.1");
        assertThat(RateLimitKey.parse("claim:sub").outside("alice https://id.example"))
                .matches("[0-9a-f]{64}")
                .isEqualTo(RateLimitKey.parse("header:X").outside("alice https://id.example"));
        assertThat(RateLimitKey.parse("claim:sub").outside(RateLimitKey.SHARED)).isEqualTo(RateLimitKey.SHARED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "address", "header:", "Route", "claim:", "Claim:sub"})
    void rejectsAnUnknownKind(String property) {
        assertThatThrownBy(() -> RateLimitKey.parse(property))
                .hasMessage("key: " + property + " (expected: client-address, header:NAME, claim:NAME or route)");
    }
}
