package io.weir.ratelimit;

import static io.weir.testing.Refusals.assertRefused;
import static java.util.concurrent.TimeUnit.HOURS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
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
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rate limits that all gateways share, with a real Redis. A limiter in this test takes the place of a second
 * gateway.
 */
@ExtendWith(Leaks.class)
@Timeout(60)
class SharedRateLimitIT {

    private static final String LIMIT =
            "rate-limit: { key: \"header:X-Api-Key\", permits: 3, period: 1h, shared: true }";

    private static @Nullable TestRedis running;
    private static TestBackend backend;
    private static TestGateway gateway;
    private static RedisBuckets other;

    @BeforeAll
    static void start() throws IOException {
        TestRedis redis = TestRedis.start();
        running = redis;
        backend = TestBackend.healthy();
        // Patient: a pause of the machine must not look like a failure of Redis.
        String properties = "{ uri: \"" + redis.uri() + "\", timeout: 1s, key-prefix: \"test:\" }";
        gateway = TestGateway.setup()
                .weir("rate-limit.redis: " + properties)
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("both", "orders", LIMIT)
                .route("ends", "orders", LIMIT)
                .route("hangs", "orders", LIMIT)
                .start();
        other = new RedisBuckets(
                new RedisProperties(redis.uri(), false, Duration.ofSeconds(1), "test:"), System::nanoTime);
        await().until(other::isAvailable);
        awaitShared(1);
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @AfterAll
    static void stop() {
        if (running != null) {
            running.close();
            other.close();
            gateway.close();
            backend.close();
        }
    }

    private static TestRedis redis() {
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

    private static void awaitShared(double value) {
        await().until(() -> meter(Meters.RATE_LIMIT_SHARED_UP) == value);
    }

    private static TestCaller.Answer ask(Door door, String route, String key) throws IOException {
        return TestCaller.get(gateway.port(), door.path(route, "1"), "X-Api-Key: " + key);
    }

    /** A second gateway with the same route. */
    private static Quota takeAtOther(Door door, String route, String key) {
        RateLimitProperties properties =
                new RateLimitProperties("header:X-Api-Key", 3, Duration.ofHours(1), null, 1_000, true, true);
        CompletableFuture<Quota> taken = new CompletableFuture<>();
        RateLimiter limiter = RateLimiter.of(door.id(route), properties, null, other, System::nanoTime);
        limiter.takeShared(
                limiter.sharedKey(new DefaultHttpHeaders().set("X-Api-Key", key), () -> "", claim -> null),
                taken::complete);
        return taken.join();
    }

    @ParameterizedTest
    @EnumSource
    void countsTheRequestsOfAllGateways(Door door) throws IOException {
        TestCaller.Answer first = ask(door, "both", "a");
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.header("RateLimit-Policy")).isEqualTo("\"default\";q=3;w=3600");
        assertThat(first.header("RateLimit")).isEqualTo("\"default\";r=2;t=1200");

        Quota elsewhere = takeAtOther(door, "both", "a");
        assertThat(elsewhere.isAllowed()).isTrue();
        assertThat(elsewhere.remaining()).isEqualTo(1);

        assertThat(ask(door, "both", "a").header("RateLimit")).startsWith("\"default\";r=0;t=1");
        assertThat(takeAtOther(door, "both", "a").isAllowed()).isFalse();
        TestCaller.Answer refused = ask(door, "both", "a");
        assertRefused(refused, Reason.RATE_LIMITED);
        assertThat(refused.header("RateLimit")).startsWith("\"default\";r=0;t=1");
        // Other callers have quotas of their own.
        assertThat(ask(door, "both", "b").status()).isEqualTo(200);
        assertThat(meter(Meters.RATE_LIMIT_SHARED_UP)).isEqualTo(1);
    }

    @Test
    void keepsNoSecretsAndForgetsFullBuckets() throws IOException {
        assertThat(ask(Door.COMPILED, "both", "s3cret").status()).isEqualTo(200);

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

    @ParameterizedTest
    @EnumSource
    void countsByItselfWhileRedisIsGone(Door door) throws Exception {
        assertThat(ask(door, "ends", "a").status()).isEqualTo(200);
        double before = meter(Meters.RATE_LIMIT_LOCAL);
        redis().kill();
        try {
            assertThat(ask(door, "ends", "a").status()).isEqualTo(200);
            awaitShared(0);
            // A new caller has a quota here, and no more than that.
            for (int i = 0; i < 3; i++) {
                assertThat(ask(door, "ends", "c").status()).isEqualTo(200);
            }
            assertRefused(ask(door, "ends", "c"), Reason.RATE_LIMITED);
            assertThat(meter(Meters.RATE_LIMIT_LOCAL)).isEqualTo(before + 5);
        } finally {
            redis().startAgain();
        }
        awaitShared(1);
        await().until(other::isAvailable);
        assertThat(takeAtOther(door, "ends", "a").remaining()).isEqualTo(2);
        assertThat(ask(door, "ends", "a").header("RateLimit")).startsWith("\"default\";r=1;");
    }

    @Test
    void countsByItselfWhileRedisHangs() throws Exception {
        assertThat(ask(Door.COMPILED, "hangs", "a").status()).isEqualTo(200);
        redis().freeze();
        try {
            awaitShared(0);
            double before = meter(Meters.RATE_LIMIT_LOCAL);
            long began = System.nanoTime();
            for (int i = 0; i < 100; i++) {
                assertThat(ask(Door.COMPILED, "hangs", "caller" + i).status()).isEqualTo(200);
            }
            assertThat(meter(Meters.RATE_LIMIT_LOCAL)).isEqualTo(before + 100);
            assertThat(System.nanoTime() - began)
                    .as("no request has waited its second")
                    .isLessThan(Duration.ofSeconds(50).toNanos());
        } finally {
            redis().thaw();
        }
        awaitShared(1);
        await().until(other::isAvailable);
        assertThat(takeAtOther(Door.COMPILED, "hangs", "a").remaining()).isEqualTo(1);
    }

    /** The script in Redis and Bucket4j's local bucket are the same algorithm. */
    @Test
    void allowsTheBurstAndThenTheRate() throws Exception {
        SharedBuckets.Rate rate = new SharedBuckets.Rate(1e6 / 7, 5);
        for (int i = 4; i >= 0; i--) {
            SharedBuckets.Taken taken =
                    other.take("burst", rate).toCompletableFuture().get();
            assertThat(taken.isAllowed()).isTrue();
            // A permit returns every 143 ms; the machine may pause.
            assertThat(taken.remaining()).isBetween((long) i, 4L);
        }
        SharedBuckets.Rate slow = new SharedBuckets.Rate(3.6e9, 1);
        assertThat(other.take("slow", slow).toCompletableFuture().get().isAllowed())
                .isTrue();
        SharedBuckets.Taken refused =
                other.take("slow", slow).toCompletableFuture().get();
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
                other.take("wrong", new SharedBuckets.Rate(1, 1)).toCompletableFuture();

        assertThat(failed.handle((taken, failure) ->
                                String.valueOf(failure instanceof CompletionException ? failure.getCause() : failure))
                        .get())
                .contains("WRONGTYPE");
    }
}
