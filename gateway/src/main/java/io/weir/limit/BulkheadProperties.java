package io.weir.limit;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.bulkhead}: the share of the gateway that one backend can take. The names are
 * Resilience4j's where Resilience4j has the property.
 *
 * @param maxConcurrentCalls calls in the backend at once; 1 to 1000000; default 64. A call counts until the
 *     backend's last byte or the call's cancellation. By Little's law 64 calls carry 640 requests/s of 100
 *     ms, where Resilience4j's default of 25 carries 250; with hundreds, a hung backend would hold that much
 *     more of the gateway.
 * @param queueCapacity calls that may wait for a permit at once; 0 to 1000000; default 32. The queue absorbs
 *     bursts that are shorter than the wait; 0 refuses at once. A longer queue adds waiting, not capacity.
 * @param maxWaitDuration longest wait for a permit; 0 to 1m, at most the backend's deadline; default 100ms.
 *     Long enough for a burst to pass, short enough to leave the call most of its deadline. With 0 no call
 *     waits.
 * @param enforce whether calls wait and are refused. If not, every call proceeds at once, and calls that
 *     would have been refused are counted ({@code weir_would_refuse_total}), so that a limit can be tried on
 *     live traffic. The same holds for {@code max-streams}.
 * @param scope the calls that {@code max-concurrent-calls} limits: {@code gateway}, those of each gateway;
 *     {@code cluster}, those of all gateways together, of which each has an equal share of at least 1 ({@code
 *     weir.cluster.gateways} counts them).
 */
public record BulkheadProperties(
        @DefaultValue("64") @Min(1) @Max(QueueingBulkhead.LARGEST)
        int maxConcurrentCalls,

        @DefaultValue("32") @Min(0) @Max(QueueingBulkhead.LARGEST)
        int queueCapacity,

        @DefaultValue("100ms") @DurationMin @DurationMax(minutes = 1)
        Duration maxWaitDuration,

        @DefaultValue("true") boolean enforce,

        @DefaultValue("gateway") BulkheadScope scope) {}
