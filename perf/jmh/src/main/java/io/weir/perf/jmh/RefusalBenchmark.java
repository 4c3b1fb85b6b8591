package io.weir.perf.jmh;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.weir.health.Health;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
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

    /** The gateway's breaker, or that of Resilience4j. */
    public enum BreakerKind {
        WEIR,
        RESILIENCE4J
    }

    @Param
    public BreakerKind implementation = BreakerKind.WEIR;

    private final Health weir = openHealth();
    private final CircuitBreaker resilience4j = open(CircuitBreaker.ofDefaults("orders"));

    private static Health openHealth() {
        Health health = new Health("orders", NoPermits.settings(), new NoPermits(), System::nanoTime, () -> 0.5);
        open(health.resilience4j());
        return health;
    }

    private static CircuitBreaker open(CircuitBreaker breaker) {
        // As the gateway's meters listen.
        breaker.getEventPublisher().onCallNotPermitted(event -> {});
        breaker.transitionToOpenState();
        return breaker;
    }

    @Benchmark
    @Threads(1)
    public boolean byOneLoop() {
        return isRefused();
    }

    @Benchmark
    @Threads(FEW_LOOPS)
    public boolean byTwoLoops() {
        return isRefused();
    }

    @Benchmark
    @Threads(LOOPS)
    public boolean byFourLoops() {
        return isRefused();
    }

    private boolean isRefused() {
        if (implementation == BreakerKind.RESILIENCE4J) {
            return !resilience4j.tryAcquirePermission();
        }
        boolean isRefused = !weir.permits(System.nanoTime());
        if (isRefused) {
            weir.refused();
        }
        return isRefused;
    }
}
