package io.weir.reload;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.apply.RetiredGenerations;
import io.weir.door.LiveRoutes;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many reloads leak nothing. */
@Tag("full")
@Tag("measurement")
class ManyReloadsIT {

    private static final int ROUNDS = 6;
    private static final int ROUND = 100;
    /**
     * Tolerated growth of the heap in a round: a kilobyte for each reload. Without a leak, one round may grow
     * by 270 kB and the next one shrink by 90 kB; the median slope is 20 to 45 kB.
     */
    private static final long SLACK_BYTES = 1_000L * ROUND;

    private static final Pattern OURS = Pattern.compile("(weir|resilience4j|reactor)\\..*");
    /** A line of the JVM's class histogram: number, instances, bytes, class. */
    private static final Pattern INSTANCES = Pattern.compile(" *[0-9]+: +([0-9]+) +[0-9]+ +([^ ]+).*");
    /** Classes with one instance for each backend, pool, route or change. */
    private static final Set<String> LIVING = Set.of(
            "io.weir.limit.QueueingBulkhead",
            "io.weir.limit.RegisteredBulkhead",
            "io.weir.health.Breaker",
            "io.weir.dashboard.BackendHistory",
            "io.weir.door.Routes",
            "io.weir.engine.Backend",
            "io.weir.probe.HealthProber",
            "io.weir.engine.Route",
            "io.weir.metrics.BackendMeters",
            "io.weir.management.EventRing",
            "io.weir.metrics.ExchangeMeters",
            "io.weir.instance.Pool",
            "reactor.netty.resources.DefaultPooledConnectionProvider");

    private static int named;

    private static TestGateway gateway;
    private static TestBackend one;
    private static TestBackend two;

    @BeforeAll
    static void start() {
        one = TestBackend.healthy();
        two = TestBackend.healthy();
        gateway = TestGateway.start(yaml(0));
    }

    @AfterAll
    static void stop() {
        gateway.close();
        one.close();
        two.close();
    }

    @Test
    void leakNoInstances() throws Exception {
        // The first reloads load classes and fill buffers and caches.
        reloads();
        Map<String, Long> counts = counts();
        Map<String, Long> living = living();
        long[] used = new long[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            reloads();
            await().untilAsserted(() -> assertThat(counts()).isEqualTo(counts));
            // Fewer if an instance of the first round was still reachable.
            await().pollInterval(ofMillis(100))
                    .untilAsserted(() -> assertThat(living())
                            .allSatisfy((type, alive) ->
                                    assertThat(alive).isLessThanOrEqualTo(living.getOrDefault(type, 0L))));
            await().untilAsserted(() -> assertThat(one.connections() + two.connections())
                    .as("connections")
                    .isEqualTo(pooled()));
            used[round] = usedHeap();
        }
        // It may vary, but must not grow with each round.
        assertThat(medianSlope(used))
                .as("bytes more after %s reloads, the median slope of %s", ROUND, Arrays.toString(used))
                .isLessThan(SLACK_BYTES);
        gateway.assertNothingHeld();
    }

    /** Each reload adds and removes backends and routes, and changes addresses, limits and breakers. */
    private static void reloads() throws IOException {
        for (int i = 1; i <= ROUND; i++) {
            gateway.rewrite(yaml(i % ROUND));
            assertThat(gateway.bean(LiveConfiguration.class)
                            .reload(Trigger.REQUEST, "a test")
                            .problems())
                    .isEmpty();
            if (i % 10 == 0) {
                for (String name : List.of("orders", visitor(i % ROUND))) {
                    for (Door door : Door.values()) {
                        assertThat(TestCaller.get(gateway.port(), door.path(name, String.valueOf(i)))
                                        .status())
                                .isEqualTo(200);
                    }
                }
            }
        }
        // They keep the requests that they got.
        one.behave(TestBackend.ECHO);
        two.behave(TestBackend.ECHO);
        await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0
                && gateway.bean(RetiredGenerations.class).generationsInUse() == 0);
    }

    /**
     * No name repeats, so a collection that keeps names would grow. Each round ends with the initial
     * configuration.
     */
    private static String yaml(int i) {
        named += i == 0 ? 0 : 1;
        String visitor = visitor(i);
        return """
                weir:
                  backends:
                    orders:
                      uri: "%s"
                      deadline: %dms
                      bulkhead: { max-concurrent-calls: %d }
                      circuit-breaker: { failure-rate-threshold: %d }
                      recovery: { health-path: /healthy/%d }
                    %s: { uri: "%s" }
                  routes:
                    orders-compiled: { max-concurrent-calls: %d, fallback: { body: "%d" } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders-compiled, uri: "backend://orders", predicates: ["Path=/compiled/orders/**"] }
                  - { id: orders-general, uri: "backend://orders", predicates: ["Path=/general/orders/**", "After=2020-01-01T00:00:00Z"] }
                  - { id: %s-compiled, uri: "backend://%s", predicates: ["Path=/compiled/%s/**"] }
                  - { id: %s-general, uri: "backend://%s", predicates: ["Path=/general/%s/**", "Weight=%s, 5"] }
                """.formatted(
                        (i % 2 == 0 ? one : two).uri(),
                        20_000 + i,
                        10 + i,
                        10 + i % 80,
                        i % 3,
                        visitor,
                        one.uri(),
                        5 + i % 5,
                        i,
                        visitor,
                        visitor,
                        visitor,
                        visitor,
                        visitor,
                        visitor,
                        visitor);
    }

    private static String visitor(int i) {
        return "visitor-" + (i == 0 ? 0 : named);
    }

    /** Collections with one entry for each backend or route. */
    private static Map<String, Long> counts() throws MalformedObjectNameException {
        Map<String, Long> counts = new TreeMap<>();
        gateway.bean(MeterRegistry.class).getMeters().stream()
                .filter(meter -> OURS.matcher(meter.getId().getName()).matches())
                .forEach(meter -> counts.merge(meter.getId().getName(), 1L, Long::sum));
        counts.put("breakers", (long) gateway.bean(CircuitBreakerRegistry.class)
                .getAllCircuitBreakers()
                .size());
        counts.put("bulkheads", (long)
                gateway.bean(BulkheadRegistry.class).getAllBulkheads().size());
        counts.put("beans", (long) ManagementFactory.getPlatformMBeanServer()
                .queryNames(new ObjectName("io.weir:*"), null)
                .size());
        Set<Thread> threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("weir-"))
                .collect(Collectors.toSet());
        counts.put("threads", (long) threads.size());
        return counts;
    }

    /** Reachable instances by class. */
    private static Map<String, Long> living() throws JMException {
        String histogram = String.valueOf(ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "gcClassHistogram",
                        new Object[] {new String[0]},
                        new String[] {String[].class.getName()}));
        Map<String, Long> living = new TreeMap<>();
        histogram.lines().map(INSTANCES::matcher).filter(Matcher::matches).forEach(line -> {
            if (LIVING.contains(line.group(2))) {
                living.put(line.group(2), Long.valueOf(line.group(1)));
            }
        });
        assertThat(living).containsKeys("io.weir.instance.Pool", "io.weir.engine.Backend");
        return living;
    }

    /** Connections of the pools in force. */
    private static int pooled() {
        return gateway.bean(LiveRoutes.class).get().backends().values().stream()
                .mapToInt(backend -> backend.instances().first().pool().acquired()
                        + backend.instances().first().pool().idle())
                .sum();
    }

    /** The median of the slopes between each two rounds (Theil and Sen), which single rounds do not move. */
    private static long medianSlope(long[] used) {
        List<Long> slopes = new ArrayList<>();
        for (int i = 0; i < used.length; i++) {
            for (int j = i + 1; j < used.length; j++) {
                slopes.add((used[j] - used[i]) / (j - i));
            }
        }
        Collections.sort(slopes);
        return slopes.get(slopes.size() / 2);
    }

    private static long usedHeap() {
        long least = Long.MAX_VALUE;
        // Cleaners and weak references need several collections.
        for (int i = 0; i < 4; i++) {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
        }
        return least;
    }
}
