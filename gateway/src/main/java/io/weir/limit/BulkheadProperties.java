package io.weir.limit;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.bulkhead}: the share of the gateway that one backend can take. The names are
 * Resilience4j's where Resilience4j has the property.
 *
 * @param maxConcurrentCalls calls in the backend at once; {@code auto} or 1 to 1000000; default auto: the
 *     gateway finds the number from answers per second and latency, within {@code limit}. A call counts until
 *     the backend's last byte or the call's cancellation. A fixed number suits a backend whose calls take
 *     longer than half the deadline. By Little's law, 64 calls at once serve 640 requests/s of 100 ms each.
 * @param queueCapacity calls that may wait for a permit at once; {@code auto} or 0 to 1000000; default auto:
 *     the number of calls that are probably answered in time; 32 with a fixed limit. The queue absorbs bursts
 *     that are shorter than the wait; 0 refuses at once. A longer queue adds waiting, not capacity. Beside a
 *     fixed limit, calls that came while the gateway itself paused may wait beyond it.
 * @param maxWaitDuration longest wait for a permit; {@code auto} or 0 to 1m, at most the backend's deadline;
 *     default auto: half the deadline; 100ms with a fixed limit. Long enough for a burst to pass, short
 *     enough to leave the call time for its answer. With 0 no call waits.
 * @param limit the bounds of {@code max-concurrent-calls: auto}.
 * @param enforce whether calls wait and are refused. If not, every call proceeds at once, and calls that
 *     would have been refused are counted ({@code weir_would_refuse_total}), so that a limit can be tried on
 *     live traffic. The same holds for {@code max-streams}.
 * @param scope the calls that {@code max-concurrent-calls} limits: {@code gateway}, those of each gateway;
 *     {@code cluster}, those of all gateways together, of which each has an equal share of at least 1 ({@code
 *     weir.cluster.gateways} counts them). {@code cluster} needs a fixed limit.
 */
public record BulkheadProperties(
        @DefaultValue("auto") @Min(1) @Max(QueueingBulkhead.LARGEST)
        IntOrAuto maxConcurrentCalls,

        @DefaultValue("auto") @Min(0) @Max(QueueingBulkhead.LARGEST)
        IntOrAuto queueCapacity,

        @DefaultValue("auto") @DurationMin @DurationMax(minutes = 1)
        DurationOrAuto maxWaitDuration,

        @DefaultValue @Valid @NestedConfigurationProperty AdaptiveLimitProperties limit,
        @DefaultValue("true") boolean enforce,

        @DefaultValue("gateway") BulkheadScope scope) {

    private static final int FIXED_QUEUE_CAPACITY = 32;
    private static final Duration FIXED_MAX_WAIT = Duration.ofMillis(100);

    /** Whether the gateway finds the limit. */
    public boolean isAdaptive() {
        return maxConcurrentCalls.isAuto();
    }

    /**
     * The settings of the limit and its queue.
     *
     * @param permits this gateway's share of a fixed limit; ignored if the limit is adaptive
     * @param deadlineNanos the backend's deadline
     */
    public LimitSettings settings(int permits, long deadlineNanos) {
        return isAdaptive()
                ? LimitSettings.adaptive(limit.bounds(), queueCapacity.orElse(LimitSettings.AUTO), deadlineNanos)
                : LimitSettings.fixed(permits, queueCapacity.orElse(FIXED_QUEUE_CAPACITY));
    }

    /** The longest wait for a permit, with the backend's deadline. */
    public Duration maxWait(Duration deadline) {
        return maxWaitDuration.orElse(isAdaptive() ? deadline.dividedBy(2) : FIXED_MAX_WAIT);
    }

    /** The largest number of calls that the limit can permit, apart from an operator's changes. */
    public int largestLimit() {
        return maxConcurrentCalls.orElse(limit.bounds().max());
    }
}
