package io.weir.perf.jmh;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.weir.health.CircuitBreakerProperties;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.RecoveryProperties;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Refusals of an open breaker per microsecond, by one, two and four threads, as event loops do: a refusal
 * takes no lock, so the rate grows with the threads up to the number of processors.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@State(Scope.Benchmark)
public class RefusalBenchmark {

    private static final int FEW_LOOPS = 2;
    private static final int LOOPS = 4;

    private final Health weir = openHealth();
    private final CircuitBreaker resilience4j = openBreaker();

    private static Health openHealth() {
        CircuitBreakerProperties breaker = new CircuitBreakerProperties(
                50, 100, null, SlidingWindowType.COUNT_BASED, 100, 20, 5, null, 5, Set.of(500), Set.of(), true);
        RecoveryProperties recovery = new RecoveryProperties(null, Duration.ofMillis(100), 5, null);
        HealthSettings settings = new HealthSettings(breaker, recovery, TimeUnit.SECONDS.toNanos(2));
        Health health = new Health("orders", settings, new NoPermits(), System::nanoTime, () -> 0.5);
        // As the gateway's meters listen.
        health.resilience4j().getEventPublisher().onCallNotPermitted(event -> {});
        health.resilience4j().transitionToOpenState();
        return health;
    }

    private static CircuitBreaker openBreaker() {
        CircuitBreaker breaker = CircuitBreaker.ofDefaults("orders");
        breaker.getEventPublisher().onCallNotPermitted(event -> {});
        breaker.transitionToOpenState();
        return breaker;
    }

    @Benchmark
    @Threads(1)
    public boolean weirByOneLoop() {
        return isRefused();
    }

    @Benchmark
    @Threads(FEW_LOOPS)
    public boolean weirByTwoLoops() {
        return isRefused();
    }

    @Benchmark
    @Threads(LOOPS)
    public boolean weirByFourLoops() {
        return isRefused();
    }

    @Benchmark
    @Threads(1)
    public boolean resilience4jByOneLoop() {
        return resilience4j.tryAcquirePermission();
    }

    @Benchmark
    @Threads(FEW_LOOPS)
    public boolean resilience4jByTwoLoops() {
        return resilience4j.tryAcquirePermission();
    }

    @Benchmark
    @Threads(LOOPS)
    public boolean resilience4jByFourLoops() {
        return resilience4j.tryAcquirePermission();
    }

    private boolean isRefused() {
        boolean isRefused = !weir.permits(System.nanoTime());
        if (isRefused) {
            weir.refused();
        }
        return isRefused;
    }
}
