package io.weir.perf.jmh;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** Permits per microsecond. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class BulkheadBenchmark {

    private static final int THREADS = 4;

    @State(Scope.Benchmark)
    public abstract static class BulkheadState {

        @Param
        public MeasuredBulkhead.BulkheadKind implementation = MeasuredBulkhead.BulkheadKind.WEIR;

        private final int permits;
        private final boolean blocking;
        MeasuredBulkhead bulkhead = implementation.create(1, false);

        BulkheadState(int permits, boolean blocking) {
            this.permits = permits;
            this.blocking = blocking;
        }

        @Setup
        public void create() {
            bulkhead = implementation.create(permits, blocking);
        }
    }

    public static class FreePermits extends BulkheadState {
        public FreePermits() {
            super(1000, false);
        }
    }

    public static class NoPermit extends BulkheadState {
        public NoPermit() {
            super(1, false);
        }

        @Setup
        @Override
        public void create() {
            super.create();
            bulkhead.acquire();
        }
    }

    public static class OnePermit extends BulkheadState {
        public OnePermit() {
            super(1, true);
        }
    }

    @Benchmark
    @Threads(1)
    public void uncontended(FreePermits free) {
        acquireAndRelease(free.bulkhead);
    }

    @Benchmark
    @Threads(THREADS)
    public void contended(FreePermits free) {
        acquireAndRelease(free.bulkhead);
    }

    @Benchmark
    @Threads(THREADS)
    public boolean refused(NoPermit none) {
        return none.bulkhead.tryAcquire();
    }

    @Benchmark
    @Threads(THREADS)
    public void queued(OnePermit one) {
        one.bulkhead.acquire();
        one.bulkhead.release();
    }

    private static void acquireAndRelease(MeasuredBulkhead bulkhead) {
        if (!bulkhead.tryAcquire()) {
            throw new IllegalStateException("refused (expected: a permit for each thread)");
        }
        bulkhead.release();
    }
}
