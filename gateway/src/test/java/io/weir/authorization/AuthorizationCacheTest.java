package io.weir.authorization;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.util.unit.DataSize;

class AuthorizationCacheTest {

    private static final byte[] NO_BODY = {};

    private final AtomicLong now = new AtomicLong();

    private AuthorizationCache cache(boolean anyRequest) {
        return new AuthorizationCache(
                new AuthorizationCacheProperties(
                        List.of("Authorization", "cookie"),
                        Duration.ofSeconds(10),
                        anyRequest,
                        DataSize.ofKilobytes(64)),
                now::get,
                Runnable::run);
    }

    private static HttpHeaders fields(String... fields) {
        HttpHeaders head = new DefaultHttpHeaders();
        for (int i = 0; i < fields.length; i += 2) {
            head.add(fields[i], fields[i + 1]);
        }
        return head;
    }

    private static KnownAnswer known(int status) {
        return new KnownAnswer(status, fields("x-user", "alice"), NO_BODY);
    }

    private static @Nullable String key(AuthorizationCache cache, String uri, String... fields) {
        return cache.key(fields(fields), () -> List.of("GET", uri));
    }

    private static String keyOf(AuthorizationCache cache, String uri, String... fields) {
        return Objects.requireNonNull(key(cache, uri, fields));
    }

    @Test
    void asksAboutEachRequestWithoutAKey() {
        assertThat(key(cache(true), "/", "accept", "a")).isNull();
        assertThat(key(cache(false), "/")).isNull();
    }

    @Test
    void tellsCallersApart() {
        AuthorizationCache cache = cache(true);

        assertThat(List.of(
                        keyOf(cache, "/", "authorization", "a"),
                        keyOf(cache, "/", "authorization", "b"),
                        keyOf(cache, "/", "cookie", "a"),
                        keyOf(cache, "/", "authorization", "a", "cookie", "b"),
                        keyOf(cache, "/", "authorization", "a", "authorization", "b"),
                        keyOf(cache, "/", "authorization", "a1:b"),
                        keyOf(cache, "/", "authorization", "")))
                .doesNotHaveDuplicates();
    }

    @Test
    void tellsRequestsApartUnlessAnyRequestIsServed() {
        assertThat(keyOf(cache(false), "/a", "cookie", "c")).isNotEqualTo(keyOf(cache(false), "/b", "cookie", "c"));
        assertThat(keyOf(cache(true), "/a", "cookie", "c")).isEqualTo(keyOf(cache(true), "/b", "cookie", "c"));
    }

    @Test
    void servesForItsTime() {
        AuthorizationCache cache = cache(true);
        cache.put("key", fields(), known(204));

        now.set(Duration.ofMillis(9_999).toNanos());
        assertThat(cache.find("key")).isNotNull();
        assertThat(cache.find("other")).isNull();
        now.set(Duration.ofSeconds(10).toNanos());
        assertThat(cache.find("key")).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "200, true",
        "204, true",
        "401, true",
        "403, true",
        "302, false",
        "400, false",
        "404, false",
        "429, false",
        "500, false"
    })
    void keepsPermissionsAndDenialsOnly(int status, boolean isKept) {
        AuthorizationCache cache = cache(true);

        cache.put("key", fields(), known(status));

        assertThat(cache.find("key") != null).isEqualTo(isKept);
    }

    @Test
    void keepsNoAnswerThatIsForOneRequest() {
        AuthorizationCache cache = cache(true);

        cache.put("key", fields("set-cookie", "a=1"), known(200));
        cache.put("key", fields("cache-control", "private, No-Store"), known(401));
        assertThat(cache.find("key")).isNull();

        cache.put("key", fields("cache-control", "max-age=0"), known(401));
        assertThat(cache.find("key")).isNotNull();
    }

    @Test
    void isBoundedInMemory() {
        AuthorizationCache cache = cache(true);
        for (int i = 0; i < 100; i++) {
            cache.put("key" + i, fields(), new KnownAnswer(403, fields(), new byte[4096]));
        }

        long kept = IntStream.range(0, 100)
                .filter(i -> cache.find("key" + i) != null)
                .count();

        assertThat(kept).isBetween(1L, 15L);
    }
}
