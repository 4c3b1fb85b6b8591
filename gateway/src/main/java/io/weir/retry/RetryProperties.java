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
 * {@code weir.routes.<id>.retry}: a second chance for requests that may be sent twice. Off unless written.
 *
 * @param maxAttempts attempts in all, the first included; 2 to 10. A second attempt mends a lost connection; more
 *     mostly adds load to a backend in trouble.
 * @param attemptTimeout time for each attempt's answer to begin, without the time that the caller takes to send the request; 1ms to
 *     10m, at most the deadline; default: only the deadline, so that only what fails early is tried again.
 * @param backoff mean wait before the next attempt, doubled each time and jittered by half; 0 to 10s. So that callers who
 *     failed together do not come back together.
 * @param statuses the backend's statuses that are tried again; each 500 to 599. By default those that mean "not now".
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
