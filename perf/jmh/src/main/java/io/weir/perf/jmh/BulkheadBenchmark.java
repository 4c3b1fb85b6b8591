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

    /** Whose bulkhead it is. */
    public enum Whose {
        WEIR,
        RESILIENCE4J
    }

    /** More permits than threads. */
    @State(Scope.Benchmark)
    public static class Free {

        @Param
        public Whose whose = Whose.WEIR;

        private Limit limit = Limit.weir(1);

        @Setup
        public void permits() {
            limit = whose == Whose.WEIR ? Limit.weir(1000) : Limit.refusingResilience4j(1000);
        }
    }

    /** One permit, and it is out. */
    @State(Scope.Benchmark)
    public static class Taken {

        @Param
        public Whose whose = Whose.WEIR;

        private Limit limit = Limit.weir(1);

        @Setup
        public void permits() {
            limit = whose == Whose.WEIR ? Limit.weir(1) : Limit.refusingResilience4j(1);
            limit.acquire();
        }
    }

    /** One permit for all, who wait for it. */
    @State(Scope.Benchmark)
    public static class Wanted {

        @Param
        public Whose whose = Whose.WEIR;

        private Limit limit = Limit.weir(1);

        @Setup
        public void permits() {
            limit = whose == Whose.WEIR ? Limit.weir(1) : Limit.blockingResilience4j(1);
        }
    }

    /** One thread takes a permit and gives it back. */
    @Benchmark
    @Threads(1)
    public void uncontended(Free free) {
        through(free.limit);
    }

    /** Several threads take permits and give them back; there is one for each. */
    @Benchmark
    @Threads(THREADS)
    public void contended(Free free) {
        through(free.limit);
    }

    /** Several threads are refused. */
    @Benchmark
    @Threads(THREADS)
    public boolean refused(Taken taken) {
        return taken.limit.tryAcquire();
    }

    /** Several threads wait for one permit, and give it back at once. */
    @Benchmark
    @Threads(THREADS)
    public void queued(Wanted wanted) {
        wanted.limit.acquire();
        wanted.limit.release();
    }

    private static void through(Limit limit) {
        if (!limit.tryAcquire()) {
            throw new IllegalStateException("refused (expected: a permit for each thread)");
        }
        limit.release();
    }
}
