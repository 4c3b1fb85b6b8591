package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class TokenCacheTest {

    private static VerifiedToken verified(long expiresAtMillis) {
        return new VerifiedToken("corp", Map.of("sub", "alice"), "sub", expiresAtMillis);
    }

    @Test
    void findsATokenUntilItExpires() {
        TokenCache cache = new TokenCache(10, 1_000);
        VerifiedToken token = verified(100);
        cache.put("a", token);

        assertThat(cache.get("a", 99)).isSameAs(token);
        assertThat(cache.get("a", 100)).isNull();
        assertThat(cache.get("b", 0)).isNull();
    }

    @Test
    void isBoundedInNumber() {
        TokenCache cache = new TokenCache(10, 1_000_000);
        for (int i = 0; i < 1000; i++) {
            cache.put("token " + i, verified(100));
            assertThat(cache.size()).isLessThanOrEqualTo(10);
        }
        assertThat(cache.get("token 999", 0)).isNotNull();
    }

    @Test
    void isBoundedInSize() {
        TokenCache cache = new TokenCache(1_000, 100);
        for (int i = 0; i < 100; i++) {
            cache.put("0123456789" + i, verified(100));
        }

        assertThat(cache.size()).isBetween(4, 10);
    }

    @Test
    void keepsATokenThatIsUsed() {
        TokenCache cache = new TokenCache(10, 1_000_000);
        cache.put("used", verified(100));
        for (int i = 0; i < 1000; i++) {
            cache.put("token " + i, verified(100));
            assertThat(cache.get("used", 0)).as("after %s", i).isNotNull();
        }
    }
}
