package io.weir.testing;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.weir.health.CircuitBreakerProperties;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.RecoveryProperties;
import io.weir.limit.QueueingBulkhead;
import java.time.Duration;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Creates the health of a backend, for tests of classes that use it. */
public final class TestHealth {

    private static final int LIMIT = 1000;

    private TestHealth() {}

    /** A closed health of the backend {@code orders}, whose probes are not jittered. */
    public static Health of(HealthSettings settings, LongSupplier nanoClock) {
        return of(settings, permits(LIMIT), nanoClock);
    }

    /** A closed health of the backend {@code orders}, whose probes are not jittered. */
    public static Health of(HealthSettings settings, Health.Permits permits, LongSupplier nanoClock) {
        return new Health("orders", settings, permits, nanoClock, () -> 0.5);
    }

    /** The defaults, with this minimum of calls and these probes. */
    public static HealthSettings settings(Duration deadline, int minimumCalls, Duration probeInterval) {
        return settings(
                deadline,
                minimumCalls,
                null,
                new RecoveryProperties(null, probeInterval, 5, Duration.ofSeconds(30), null));
    }

    /** The defaults, with these differences. */
    public static HealthSettings settings(
            Duration deadline, int minimumCalls, @Nullable Duration stallDuration, RecoveryProperties recovery) {
        return settings(deadline, minimumCalls, stallDuration, recovery, true);
    }

    private static HealthSettings settings(
            Duration deadline,
            int minimumCalls,
            @Nullable Duration stallDuration,
            RecoveryProperties recovery,
            boolean enforce) {
        CircuitBreakerProperties breaker = new CircuitBreakerProperties(
                50,
                100,
                null,
                SlidingWindowType.COUNT_BASED,
                100,
                minimumCalls,
                5,
                stallDuration,
                5,
                Set.of(500),
                Set.of(14),
                enforce);
        return new HealthSettings(breaker, recovery, deadline.toNanos());
    }

    /** The defaults of a breaker that is not enforced. */
    public static HealthSettings unenforced(Duration deadline) {
        RecoveryProperties recovery =
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null);
        return settings(deadline, 20, null, recovery, false);
    }

    /** The same settings, of a breaker that is not enforced. */
    public static HealthSettings unenforced(HealthSettings enforced) {
        CircuitBreakerProperties breaker = enforced.breaker();
        return new HealthSettings(
                new CircuitBreakerProperties(
                        breaker.failureRateThreshold(),
                        breaker.slowCallRateThreshold(),
                        breaker.slowCallDurationThreshold(),
                        breaker.slidingWindowType(),
                        breaker.slidingWindowSize(),
                        breaker.minimumNumberOfCalls(),
                        breaker.permittedNumberOfCallsInHalfOpenState(),
                        breaker.stallDuration(),
                        breaker.stallCalls(),
                        breaker.recordStatuses(),
                        breaker.recordGrpcStatuses(),
                        false),
                enforced.recovery(),
                enforced.deadlineNanos());
    }

    /** The permits of a bulkhead; a stall is judged as with a large limit. */
    public static Health.Permits permitsOf(QueueingBulkhead bulkhead) {
        return new Health.Permits() {

            @Override
            public int limit() {
                return LIMIT;
            }

            @Override
            public void limitChanged() {}

            @Override
            public void giveBack(int calls) {
                for (int i = 0; i < calls; i++) {
                    bulkhead.release();
                }
            }
        };
    }

    /** Permits of a large compartment. */
    public static Health.Permits unlimited() {
        return permits(LIMIT);
    }

    /** Permits of a compartment with this limit; none is given back. */
    public static Health.Permits permits(int limit) {
        return new ConstantPermits(limit);
    }

    private record ConstantPermits(int limit) implements Health.Permits {

        @Override
        public void limitChanged() {}

        @Override
        public void giveBack(int calls) {}
    }
}
