package io.weir.ratelimit;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.weir.metrics.RouteMeter;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestRedis;
import io.weir.testing.TestRedisCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Rate limits that all gateways share in a real Redis Cluster. */
@ExtendWith(Leaks.class)
@Tag("full")
class RedisClusterIT {

    private static final int DOWN = 1;

    private static @Nullable TestRedisCluster running;
    private static SharedLimits limits;

    @BeforeAll
    static void start() throws IOException {
        TestRedisCluster redis = TestRedisCluster.start();
        running = redis;
        limits = new SharedLimits(redis.uri(), true);
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        limits.assertNothingHeld();
    }

    @AfterAll
    static void stop() throws IOException {
        if (running != null) {
            limits.close();
            running.close();
        }
    }

    private static TestRedisCluster redis() {
        return Objects.requireNonNull(running, "no Redis");
    }

    private static long remainingAtOther(Door door, String route, String key) {
        return Objects.requireNonNull(limits.takeAtOther(door, route, key), key).remaining();
    }

    /** A caller whose bucket is in a node. */
    private static String callerOf(int node, Door door, String route, int number) {
        return IntStream.range(0, Integer.MAX_VALUE)
                .mapToObj(i -> "caller" + i)
                .filter(key ->
                        TestRedisCluster.nodeOf(SharedLimits.PREFIX + limits.sharedKey(door, route, key)) == node)
                .skip(number)
                .findFirst()
                .orElseThrow();
    }

    @Door.Any
    void countsTheRequestsOfAllGatewaysInTheNodeOfTheKey(Door door) throws IOException {
        for (int node = 0; node < 3; node++) {
            String caller = callerOf(node, door, "both", 0);
            assertThat(limits.ask(door, "both", caller).header("RateLimit")).isEqualTo("\"default\";r=2;t=1200");
            assertThat(remainingAtOther(door, "both", caller)).isEqualTo(1);
            assertThat(limits.ask(door, "both", caller).header("RateLimit")).startsWith("\"default\";r=0;t=1");
            assertRefused(limits.ask(door, "both", caller), Reason.RATE_LIMITED);
            assertThat(redis().keys(node)).contains(SharedLimits.PREFIX + limits.sharedKey(door, "both", caller));
        }
        assertThat(limits.meter(RouteMeter.RATE_LIMIT_SHARED_UP)).isEqualTo(1);
    }

    @Door.Any
    void countsTheKeysOfANodeThatIsGoneByItself(Door door) throws Exception {
        String concerned = callerOf(DOWN, door, "ends", 0);
        assertThat(limits.ask(door, "ends", concerned).status()).isEqualTo(200);
        TestRedis node = redis().node(DOWN);
        node.kill();
        try {
            limits.awaitShare(2.0 / 3);
            assertKeysOfOneNodeCountHere(door, "ends");
        } finally {
            node.startAgain();
        }
        limits.awaitShare(1);
        assertThat(remainingAtOther(door, "ends", concerned))
                .as("Redis counts again, without its data")
                .isEqualTo(2);
    }

    @Test
    void countsTheKeysOfANodeThatHangsByItselfAndWaitsForNone() throws Exception {
        TestRedis node = redis().node(DOWN);
        node.freeze();
        try {
            limits.awaitShare(2.0 / 3);
            long began = System.nanoTime();
            assertKeysOfOneNodeCountHere(Door.COMPILED, "hangs");
            for (int i = 0; i < 50; i++) {
                assertThat(limits.ask(Door.COMPILED, "hangs", callerOf(DOWN, Door.COMPILED, "hangs", 10 + i))
                                .status())
                        .isEqualTo(200);
            }
            assertThat(System.nanoTime() - began)
                    .as("no request has waited its second")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
        } finally {
            node.thaw();
        }
        limits.awaitShare(1);
    }

    private static void assertKeysOfOneNodeCountHere(Door door, String route) throws IOException {
        double before = limits.meter(RouteMeter.RATE_LIMIT_LOCAL);
        String concerned = callerOf(DOWN, door, route, 1);
        for (int i = 0; i < 3; i++) {
            assertThat(limits.ask(door, route, concerned).status()).isEqualTo(200);
        }
        assertRefused(limits.ask(door, route, concerned), Reason.RATE_LIMITED);
        assertThat(limits.takeAtOther(door, route, concerned))
                .as("fails at once")
                .isNull();
        assertThat(limits.meter(RouteMeter.RATE_LIMIT_LOCAL)).isEqualTo(before + 4);

        String elsewhere = callerOf(2, door, route, 0);
        assertThat(limits.ask(door, route, elsewhere).header("RateLimit")).startsWith("\"default\";r=2;");
        assertThat(remainingAtOther(door, route, elsewhere)).isEqualTo(1);
        assertThat(limits.meter(RouteMeter.RATE_LIMIT_LOCAL))
                .as("counted in Redis")
                .isEqualTo(before + 4);
    }

    @Test
    void readsTheNodesOfAUri() {
        assertThat(RedisClusterBuckets.seeds("rediss://me:a,b@one:7000,two,[::1]:7002"))
                .extracting(RedisURI::getHost)
                .containsExactly("one", "two", "[::1]");
        assertThat(RedisClusterBuckets.seeds("redis://one")).hasSize(1);
    }
}
