package io.weir.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RetryPolicyTest {

    private final RetryPolicy policy =
            new RetryPolicy(new RetryProperties(3, null, Duration.ofNanos(100), Set.of(502, 503)));

    @Test
    void retriesIdempotentRequestsWithoutABody() {
        for (String method : new String[] {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}) {
            assertThat(policy.allows(1, HttpMethod.valueOf(method), true, false))
                    .as(method)
                    .isTrue();
        }
        for (String method : new String[] {"POST", "PATCH", "CONNECT", "PROPFIND"}) {
            assertThat(policy.allows(1, HttpMethod.valueOf(method), true, false))
                    .as(method)
                    .isFalse();
        }
    }

    @Test
    void doesNotReplayABodyThatMayHaveBeenSent() {
        assertThat(policy.allows(1, HttpMethod.PUT, true, true)).isFalse();
    }

    @Test
    void retriesAnyRequestThatWasNotSent() {
        assertThat(policy.allows(1, HttpMethod.POST, false, true)).isTrue();
    }

    @Test
    void stopsAtTheLastAttempt() {
        assertThat(policy.allows(2, HttpMethod.GET, true, false)).isTrue();
        assertThat(policy.allows(3, HttpMethod.GET, true, false)).isFalse();
    }

    @Test
    void retriesOnlyTheConfiguredStatuses() {
        assertThat(policy.retries(502)).isTrue();
        assertThat(policy.retries(500)).isFalse();
        assertThat(policy.retries(200)).isFalse();
    }

    @Test
    void doublesTheBackoffAndJittersItByHalf() {
        assertThat(policy.backoffNanos(1, 0)).isEqualTo(50);
        assertThat(policy.backoffNanos(1, 0.5)).isEqualTo(100);
        assertThat(policy.backoffNanos(2, 0.5)).isEqualTo(200);
        assertThat(policy.backoffNanos(3, 0.999_999)).isBetween(599L, 600L);
    }

    @Test
    void hasNoAttemptTimeoutByDefault() {
        assertThat(policy.attemptTimeoutNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(new RetryPolicy(new RetryProperties(2, Duration.ofMillis(3), Duration.ZERO, Set.of()))
                        .attemptTimeoutNanos())
                .isEqualTo(3_000_000);
    }
}
