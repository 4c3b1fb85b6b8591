package io.weir.ratelimit;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.metrics.Meters;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestRedis;
import io.weir.testing.TestRedisCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Rate limits that all gateways share in a real Redis Cluster. A limiter in this test takes the place of a
 * second gateway.
 */
@ExtendWith(Leaks.class)
@Timeout(60)
class RedisClusterIT {

    private static final int DOWN = 1;
    private static final String PREFIX = "test:";
    private static final RateLimitProperties LIMIT =
            new RateLimitProperties("header:X-Api-Key", 3, Duration.ofHours(1), null, 1_000, true, true);

    private static @Nullable TestRedisCluster running;
    private static TestBackend backend;
    private static TestGateway gateway;
    private static RedisClusterBuckets other;

    @BeforeAll
    static void start() throws IOException {
        TestRedisCluster redis = TestRedisCluster.start();
        running = redis;
        backend = TestBackend.healthy();
        String limit = "rate-limit: { key: \"header:X-Api-Key\", permits: 3, period: 1h, shared: true }";
        // Patient: a pause of the machine must not look like a failure of Redis.
        gateway = TestGateway.setup()
                .weir("rate-limit.redis: { uri: \"" + redis.uri() + "\", cluster: true, timeout: 1s, key-prefix: \""
                        + PREFIX + "\" }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("both", "orders", limit)
                .route("ends", "orders", limit)
                .route("hangs", "orders", limit)
                .start();
        other = new RedisClusterBuckets(
                new RedisProperties(redis.uri(), true, Duration.ofSeconds(1), PREFIX), System::nanoTime);
        awaitShare(1);
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @AfterAll
    static void stop() throws IOException {
        if (running != null) {
            running.close();
            other.close();
            gateway.close();
            backend.close();
        }
    }

    private static TestRedisCluster redis() {
        if (running == null) {
            throw new IllegalStateException("no Redis");
        }
        return running;
    }

    private static double meter(Meters meter) {
        MeterRegistry registry = gateway.bean(MeterRegistry.class);
        return registry.get(meter.meterName())
                .meter()
                .measure()
                .iterator()
                .next()
                .getValue();
    }

    private static void awaitShare(double value) {
        await().until(() -> Math.abs(meter(Meters.RATE_LIMIT_SHARED_UP) - value) < 0.001
                && Math.abs(other.availableShare() - value) < 0.001);
    }

    private static TestCaller.Answer ask(Door door, String route, String key) throws IOException {
        return TestCaller.get(gateway.port(), door.path(route, "1"), "X-Api-Key: " + key);
    }

    private static RateLimiter limiter(Door door, String route) {
        return RateLimiter.of(door.id(route), LIMIT, null, other, System::nanoTime);
    }

    private static String sharedKey(Door door, String route, String key) {
        return limiter(door, route).sharedKey(new DefaultHttpHeaders().set("X-Api-Key", key), () -> "", claim -> null);
    }

    /** A second gateway with the same route; null: its own count would decide. */
    private static @Nullable Quota takeAtOther(Door door, String route, String key) {
        CompletableFuture<@Nullable Quota> taken = new CompletableFuture<>();
        limiter(door, route).takeShared(sharedKey(door, route, key), taken::complete);
        return taken.join();
    }

    private static long remainingAtOther(Door door, String route, String key) {
        return Objects.requireNonNull(takeAtOther(door, route, key), key).remaining();
    }

    /** A caller whose bucket is in a node. */
    private static String callerOf(int node, Door door, String route, int number) {
        return IntStream.range(0, Integer.MAX_VALUE)
                .mapToObj(i -> "caller" + i)
                .filter(key -> TestRedisCluster.nodeOf(PREFIX + sharedKey(door, route, key)) == node)
                .skip(number)
                .findFirst()
                .orElseThrow();
    }

    @Door.Each
    void countsTheRequestsOfAllGatewaysInTheNodeOfTheKey(Door door) throws IOException {
        for (int node = 0; node < 3; node++) {
            String caller = callerOf(node, door, "both", 0);
            assertThat(ask(door, "both", caller).header("RateLimit")).isEqualTo("\"default\";r=2;t=1200");
            assertThat(remainingAtOther(door, "both", caller)).isEqualTo(1);
            assertThat(ask(door, "both", caller).header("RateLimit")).startsWith("\"default\";r=0;t=1");
            assertRefused(ask(door, "both", caller), Reason.RATE_LIMITED);
            assertThat(redis().keys(node)).contains(PREFIX + sharedKey(door, "both", caller));
        }
        assertThat(meter(Meters.RATE_LIMIT_SHARED_UP)).isEqualTo(1);
    }

    @Door.Each
    void countsTheKeysOfANodeThatIsGoneByItself(Door door) throws Exception {
        String concerned = callerOf(DOWN, door, "ends", 0);
        assertThat(ask(door, "ends", concerned).status()).isEqualTo(200);
        TestRedis node = redis().node(DOWN);
        node.kill();
        try {
            awaitShare(2.0 / 3);
            assertKeysOfOneNodeCountHere(door, "ends");
        } finally {
            node.startAgain();
        }
        awaitShare(1);
        assertThat(remainingAtOther(door, "ends", concerned))
                .as("Redis counts again, without its data")
                .isEqualTo(2);
    }

    @Test
    void countsTheKeysOfANodeThatHangsByItselfAndWaitsForNone() throws Exception {
        TestRedis node = redis().node(DOWN);
        node.freeze();
        try {
            awaitShare(2.0 / 3);
            long began = System.nanoTime();
            assertKeysOfOneNodeCountHere(Door.COMPILED, "hangs");
            for (int i = 0; i < 50; i++) {
                assertThat(ask(Door.COMPILED, "hangs", callerOf(DOWN, Door.COMPILED, "hangs", 10 + i))
                                .status())
                        .isEqualTo(200);
            }
            assertThat(System.nanoTime() - began)
                    .as("no request has waited its second")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
        } finally {
            node.thaw();
        }
        awaitShare(1);
    }

    private static void assertKeysOfOneNodeCountHere(Door door, String route) throws IOException {
        double before = meter(Meters.RATE_LIMIT_LOCAL);
        String concerned = callerOf(DOWN, door, route, 1);
        for (int i = 0; i < 3; i++) {
            assertThat(ask(door, route, concerned).status()).isEqualTo(200);
        }
        assertRefused(ask(door, route, concerned), Reason.RATE_LIMITED);
        assertThat(takeAtOther(door, route, concerned)).as("fails at once").isNull();
        assertThat(meter(Meters.RATE_LIMIT_LOCAL)).isEqualTo(before + 4);

        String elsewhere = callerOf(2, door, route, 0);
        assertThat(ask(door, route, elsewhere).header("RateLimit")).startsWith("\"default\";r=2;");
        assertThat(remainingAtOther(door, route, elsewhere)).isEqualTo(1);
        assertThat(meter(Meters.RATE_LIMIT_LOCAL)).as("counted in Redis").isEqualTo(before + 4);
    }

    @Test
    void readsTheNodesOfAUri() {
        assertThat(RedisClusterBuckets.seeds("rediss://me:a,b@one:7000,two,[::1]:7002"))
                .extracting(RedisURI::getHost)
                .containsExactly("one", "two", "[::1]");
        assertThat(RedisClusterBuckets.seeds("redis://one")).hasSize(1);
    }
}
