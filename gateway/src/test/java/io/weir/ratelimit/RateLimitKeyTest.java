package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RateLimitKeyTest {

    private final HttpHeaders head = new DefaultHttpHeaders();

    private String key(String property, String address) {
        return RateLimitKey.parse(property).of(head, () -> address);
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
        assertThat(RateLimitKey.parse("route").of(head, RateLimitKeyTest::unasked))
                .isEqualTo(RateLimitKey.SHARED);
    }

    @Test
    void isTheValueOfAHeaderField() {
        head.set("x-api-key", "k1");
        assertThat(RateLimitKey.parse("header:X-Api-Key").of(head, RateLimitKeyTest::unasked))
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

    @ParameterizedTest
    @ValueSource(strings = {"", "address", "header:", "Route", "claim:sub"})
    void rejectsAnUnknownKind(String property) {
        assertThatThrownBy(() -> RateLimitKey.parse(property))
                .hasMessage("key: " + property + " (expected: client-address, header:NAME or route)");
    }
}
