package io.weir.ratelimit;

import static io.weir.testing.Refusals.assertRefused;
import static java.util.concurrent.TimeUnit.HOURS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.metrics.RouteMeter;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestCaller;
import io.weir.testing.TestRedis;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Rate limits that all gateways share in a real Redis. */
@ExtendWith(Leaks.class)
class SharedRateLimitIT {

    private static @Nullable TestRedis running;
    private static SharedLimits limits;

    @BeforeAll
    static void start() throws IOException {
        TestRedis redis = TestRedis.start();
        running = redis;
        limits = new SharedLimits(redis.uri(), false);
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        limits.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        if (running != null) {
            limits.close();
            running.close();
        }
    }

    private static TestRedis redis() {
        return Objects.requireNonNull(running, "no Redis");
    }

    private static Quota takeAtOther(Door door, String route, String key) {
        return Objects.requireNonNull(limits.takeAtOther(door, route, key), key);
    }

    @Door.Any
    void countsTheRequestsOfAllGateways(Door door) throws IOException {
        TestCaller.Answer first = limits.ask(door, "both", "a");
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.header("RateLimit-Policy")).isEqualTo("\"default\";q=3;w=3600");
        assertThat(first.header("RateLimit")).isEqualTo("\"default\";r=2;t=1200");

        Quota elsewhere = takeAtOther(door, "both", "a");
        assertThat(elsewhere.isAllowed()).isTrue();
        assertThat(elsewhere.remaining()).isEqualTo(1);

        assertThat(limits.ask(door, "both", "a").header("RateLimit")).startsWith("\"default\";r=0;t=1");
        assertThat(takeAtOther(door, "both", "a").isAllowed()).isFalse();
        TestCaller.Answer refused = limits.ask(door, "both", "a");
        assertRefused(refused, Reason.RATE_LIMITED);
        assertThat(refused.header("RateLimit")).startsWith("\"default\";r=0;t=1");
        // Other callers have quotas of their own.
        assertThat(limits.ask(door, "both", "b").status()).isEqualTo(200);
        assertThat(limits.meter(RouteMeter.RATE_LIMIT_SHARED_UP)).isEqualTo(1);
    }

    @Test
    void keepsNoSecretsAndForgetsFullBuckets() throws IOException {
        assertThat(limits.ask(Door.COMPILED, "both", "s3cret").status()).isEqualTo(200);

        try (RedisClient client = RedisClient.create(redis().uri());
                StatefulRedisConnection<String, String> connection = client.connect()) {
            Map<String, Long> expiries = connection.sync().keys("*").stream()
                    .collect(Collectors.toMap(Function.identity(), connection.sync()::pttl));
            assertThat(expiries.keySet())
                    .allMatch(key -> key.startsWith("test:"))
                    .noneMatch(key -> key.contains("s3cret"))
                    .anyMatch(key -> key.startsWith("test:" + Door.COMPILED.id("both") + ":3/3600000ms/3:"));
            // A bucket is full again at the latest after the period; -1 would be never.
            assertThat(expiries.values()).allMatch(millis -> millis >= -2 && millis != -1);
            assertThat(expiries.values()).allMatch(millis -> millis <= HOURS.toMillis(1));
        }
    }

    @Door.Any
    void countsByItselfWhileRedisIsGone(Door door) throws Exception {
        assertThat(limits.ask(door, "ends", "a").status()).isEqualTo(200);
        double before = limits.meter(RouteMeter.RATE_LIMIT_LOCAL);
        redis().kill();
        try {
            assertThat(limits.ask(door, "ends", "a").status()).isEqualTo(200);
            limits.awaitShare(0);
            // A new caller has a quota here, and no more than that.
            for (int i = 0; i < 3; i++) {
                assertThat(limits.ask(door, "ends", "c").status()).isEqualTo(200);
            }
            assertRefused(limits.ask(door, "ends", "c"), Reason.RATE_LIMITED);
            assertThat(limits.meter(RouteMeter.RATE_LIMIT_LOCAL)).isEqualTo(before + 5);
        } finally {
            redis().startAgain();
        }
        limits.awaitShare(1);
        assertThat(takeAtOther(door, "ends", "a").remaining()).isEqualTo(2);
        assertThat(limits.ask(door, "ends", "a").header("RateLimit")).startsWith("\"default\";r=1;");
    }

    @Test
    void countsByItselfWhileRedisHangs() throws Exception {
        assertThat(limits.ask(Door.COMPILED, "hangs", "a").status()).isEqualTo(200);
        redis().freeze();
        try {
            limits.awaitShare(0);
            double before = limits.meter(RouteMeter.RATE_LIMIT_LOCAL);
            long began = System.nanoTime();
            for (int i = 0; i < 100; i++) {
                assertThat(limits.ask(Door.COMPILED, "hangs", "caller" + i).status())
                        .isEqualTo(200);
            }
            assertThat(limits.meter(RouteMeter.RATE_LIMIT_LOCAL)).isEqualTo(before + 100);
            assertThat(System.nanoTime() - began)
                    .as("no request has waited its second")
                    .isLessThan(Duration.ofSeconds(50).toNanos());
        } finally {
            redis().thaw();
        }
        limits.awaitShare(1);
        assertThat(takeAtOther(Door.COMPILED, "hangs", "a").remaining()).isEqualTo(1);
    }

    /** The script in Redis and Bucket4j's local bucket are the same algorithm. */
    @Test
    void allowsTheBurstAndThenTheRate() throws Exception {
        SharedBuckets.Rate rate = new SharedBuckets.Rate(1e6 / 7, 5);
        for (int i = 4; i >= 0; i--) {
            SharedBuckets.Taken taken =
                    limits.other.take("burst", rate).toCompletableFuture().get();
            assertThat(taken.isAllowed()).isTrue();
            // A permit returns every 143 ms; the machine may pause.
            assertThat(taken.remaining()).isBetween((long) i, 4L);
        }
        SharedBuckets.Rate slow = new SharedBuckets.Rate(3.6e9, 1);
        assertThat(limits.other.take("slow", slow).toCompletableFuture().get().isAllowed())
                .isTrue();
        SharedBuckets.Taken refused =
                limits.other.take("slow", slow).toCompletableFuture().get();
        assertThat(refused.isAllowed()).isFalse();
        assertThat(refused.nanosToNextPermit())
                .isCloseTo(HOURS.toNanos(1), within(Duration.ofMinutes(2).toNanos()));
    }

    @Test
    void failsWithTheErrorOfRedis() throws Exception {
        try (RedisClient client = RedisClient.create(redis().uri());
                StatefulRedisConnection<String, String> connection = client.connect()) {
            connection.sync().hset("test:wrong", "a", "b");
        }
        CompletableFuture<SharedBuckets.Taken> failed =
                limits.other.take("wrong", new SharedBuckets.Rate(1, 1)).toCompletableFuture();

        assertThat(failed.handle((taken, failure) ->
                                String.valueOf(failure instanceof CompletionException ? failure.getCause() : failure))
                        .get())
                .contains("WRONGTYPE");
    }
}
