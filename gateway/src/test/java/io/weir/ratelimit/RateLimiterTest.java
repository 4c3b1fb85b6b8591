package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RateLimiterTest {

    private final AtomicLong clock = new AtomicLong(1_000_000_000L);
    private final HttpHeaders head = new DefaultHttpHeaders();

    private static RateLimitProperties properties(
            String key, int permits, Duration period, @Nullable Integer burst, boolean enforce) {
        return new RateLimitProperties(key, permits, period, burst, 1_000, enforce, false);
    }

    private RateLimiter limiter(RateLimitProperties properties, @Nullable RateLimiter before) {
        return RateLimiter.of("orders", properties, before, null, clock::get);
    }

    private Quota take(RateLimiter limiter) {
        return limiter.take(head, () -> "192.0.2.1", claim -> null);
    }

    private static String fields(Quota quota) {
        HttpHeaders answer = new DefaultHttpHeaders();
        quota.writeTo(answer);
        return answer.get("RateLimit-Policy") + " " + answer.get("RateLimit");
    }

    @Test
    void tellsTheQuotaInStructuredFields() {
        RateLimiter limiter = limiter(properties("client-address", 3, Duration.ofSeconds(60), null, true), null);

        assertThat(fields(take(limiter))).isEqualTo("\"default\";q=3;w=60 \"default\";r=2;t=20");
        clock.addAndGet(Duration.ofSeconds(5).toNanos());
        assertThat(fields(take(limiter))).isEqualTo("\"default\";q=3;w=60 \"default\";r=1;t=15");
        assertThat(fields(take(limiter))).isEqualTo("\"default\";q=3;w=60 \"default\";r=0;t=15");
        Quota refused = take(limiter);
        assertThat(refused.isAllowed()).isFalse();
        assertThat(fields(refused)).isEqualTo("\"default\";q=3;w=60 \"default\";r=0;t=15");
    }

    @ParameterizedTest
    @CsvSource({"7, 3, 5", "1000, 1, 40", "1, 60, 1", "1000000, 1, 1000000"})
    void allowsARequestAfterTheTimeThatItTells(int permits, int periodSeconds, int burst) {
        RateLimiter limiter =
                limiter(properties("route", permits, Duration.ofSeconds(periodSeconds), burst, true), null);
        Quota quota = take(limiter);
        int taken = 1;
        while (take(limiter).isAllowed()) {
            taken++;
        }
        assertThat(taken).isEqualTo(burst);
        assertThat(quota.remaining()).isEqualTo(burst - 1);

        Quota refused = take(limiter);
        clock.addAndGet(refused.nanosToNextPermit() - 1);
        assertThat(take(limiter).isAllowed()).isFalse();
        // Bucket4j rounds down to nanoseconds.
        clock.addAndGet(2);
        assertThat(take(limiter).isAllowed()).isTrue();
    }

    @Test
    void addsItsFieldsToThoseOfTheBackend() {
        HttpHeaders answer = new DefaultHttpHeaders().set("RateLimit", "\"daily\";r=7");
        take(limiter(properties("route", 1, Duration.ofSeconds(1), null, true), null))
                .writeTo(answer);
        assertThat(answer.getAll("RateLimit")).containsExactly("\"daily\";r=7", "\"default\";r=0;t=1");
    }

    @Test
    void keepsItsBucketsIfTheLimitHasNotChanged() {
        RateLimiter limiter = limiter(properties("route", 1, Duration.ofMinutes(1), null, true), null);
        take(limiter);

        assertThat(limiter(properties("route", 1, Duration.ofMinutes(1), null, true), limiter))
                .isSameAs(limiter);
        RateLimiter counting = limiter(properties("route", 1, Duration.ofMinutes(1), 1, false), limiter);
        assertThat(counting.isEnforced()).isFalse();
        assertThat(take(counting).isAllowed()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"client-address, 1, 60, 1", "route, 2, 60, 1", "route, 1, 61, 1", "route, 1, 60, 2"})
    void startsWithFullBucketsIfTheLimitHasChanged(String key, int permits, int periodSeconds, int burst) {
        RateLimiter limiter = limiter(properties("route", 1, Duration.ofMinutes(1), null, true), null);
        take(limiter);

        RateLimiter changed =
                limiter(properties(key, permits, Duration.ofSeconds(periodSeconds), burst, true), limiter);

        assertThat(take(changed).isAllowed()).isTrue();
    }

    @Test
    void sharesTheQuotaOfRequestsWithoutTheHeaderField() {
        RateLimiter limiter = limiter(properties("header:X-Api-Key", 1, Duration.ofMinutes(1), null, true), null);
        assertThat(take(limiter).isAllowed()).isTrue();
        assertThat(take(limiter).isAllowed()).isFalse();

        head.set("X-Api-Key", "k1");
        assertThat(take(limiter).isAllowed()).isTrue();
        assertThat(limiter.keys()).isEqualTo(2);
    }
}
