package io.weir.perf.jmh;

import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.HashKey;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.LoadBalancingPolicy;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
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
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;
import reactor.netty.resources.LoopResources;

/**
 * The time in which the instance of a call is chosen, in nanoseconds: by latency and calls in flight, and by
 * a hash. It must not grow with the number of instances.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Threads(1)
@State(Scope.Benchmark)
public class ChoiceBenchmark {

    private static final int MOST_IN_FLIGHT = 4;
    private static final long LATENCY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    @Param({"3", "200"})
    public int count;

    private final LoopResources loops = LoopResources.create("choice", 1, true);
    private @Nullable Pool pool;
    private Instances leastLatency;
    private Instances byHash;
    private long hash;

    @Setup
    public void create() {
        pool = new Pool(
                "orders",
                URI.create("http://orders:8080"),
                UpstreamProtocol.HTTP1,
                new ConnectionProperties(
                        Duration.ofMillis(250), Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
                1,
                null,
                loops);
        leastLatency = instances(LoadBalancingProperties.defaults());
        byHash = instances(
                new LoadBalancingProperties(LoadBalancingPolicy.HASH, "header:x-user", null, Duration.ZERO, null));
    }

    /** Instances with different numbers of calls under way, and latencies that differ by up to a half. */
    private Instances instances(LoadBalancingProperties balancing) {
        HealthSettings settings = NoPermits.settings();
        List<Instance> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String address = "http://orders-" + i + ":8080";
            Health health =
                    Health.ofInstance("orders", address, settings, new NoPermits(), System::nanoTime, () -> 0.5);
            Instance instance = new Instance(URI.create(address), 1, pool, health);
            instance.served(LATENCY_NANOS + i * LATENCY_NANOS / (2 * count), System.nanoTime());
            for (int call = 0; call < i % MOST_IN_FLIGHT; call++) {
                instance.streamBegan();
            }
            all.add(instance);
        }
        Instances instances = Instances.of(
                all,
                new Health("orders", settings, new NoPermits(), System::nanoTime, () -> 0.5),
                balancing,
                bound -> ThreadLocalRandom.current().nextInt(bound),
                opened -> {});
        instances.takeOver();
        return instances;
    }

    @TearDown
    public void dispose() {
        loops.dispose();
    }

    /** The default policy: the better of two random instances. */
    @Benchmark
    public @Nullable Instance byLatency() {
        return leastLatency.choose(System.nanoTime(), null, HashKey.NONE, count);
    }

    /** The instance that a key determines, unless it has many more calls than the others. */
    @Benchmark
    public @Nullable Instance byHash() {
        hash += 0x9E3779B97F4A7C15L;
        return byHash.choose(System.nanoTime(), null, hash == HashKey.NONE ? 1 : hash, count);
    }
}
