package io.weir.retry;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import java.util.Set;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.retry}: retries of requests that may be sent twice. Off unless configured. Without
 * it, only a request that was provably not sent is tried once more.
 *
 * @param maxAttempts all attempts, the first included; 2 to 10. A second attempt repairs a lost connection;
 *     more attempts mostly add load to a failing backend.
 * @param attemptTimeout the time until each attempt's answer must begin, without the time that the caller
 *     needs to send the request; 1ms to 10m, at most the deadline; default: only the deadline, so that only
 *     early failures are retried.
 * @param backoff mean wait before the next attempt, doubled each time and jittered by half; 0 to 10s. The
 *     jitter spreads the retries of requests that failed at the same time. If the backend's answer has a
 *     {@code Retry-After}, the wait is at least that long.
 * @param statuses the backend's statuses that are retried; each 500 to 599. The default statuses mean "not
 *     now".
 */
public record RetryProperties(
        @DefaultValue("2") @Min(2) @Max(10) int maxAttempts,

        @Nullable @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration attemptTimeout,

        @DefaultValue("10ms") @DurationMin @DurationMax(seconds = 10)
        Duration backoff,

        @DefaultValue({"502", "503", "504"}) Set<@Min(500) @Max(599) Integer> statuses) {

    /** Copies the set. */
    public RetryProperties {
        statuses = Set.copyOf(statuses);
    }
}
