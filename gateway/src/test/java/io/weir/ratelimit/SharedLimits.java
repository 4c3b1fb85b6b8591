package io.weir.ratelimit;

import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.metrics.Meters;
import io.weir.metrics.RouteMeter;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A gateway whose routes {@code both}, {@code ends} and {@code hangs} share limits of three permits an hour
 * in Redis, and a counter that takes the place of a second gateway.
 */
final class SharedLimits implements AutoCloseable {

    static final String PREFIX = "test:";

    // Patient: a pause of the machine must not look like a failure of Redis.
    private static final Duration TIMEOUT = Duration.ofSeconds(1);
    private static final String LIMIT =
            "rate-limit: { key: \"header:X-Api-Key\", permits: 3, period: 1h, shared: true }";
    private static final RateLimitProperties PROPERTIES =
            new RateLimitProperties("header:X-Api-Key", 3, Duration.ofHours(1), null, 1_000, true, true);

    /** The counter of the second gateway. */
    final RedisCounter other;

    private final TestBackend backend = TestBackend.healthy();
    private final TestGateway gateway;

    /** Starts the gateway; returns when both gateways reach Redis. */
    SharedLimits(String uri, boolean isCluster) {
        this.gateway = TestGateway.setup()
                .weir("rate-limit.redis: { uri: \"%s\", cluster: %s, timeout: %dms, key-prefix: \"%s\" }"
                        .formatted(uri, isCluster, TIMEOUT.toMillis(), PREFIX))
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("both", "orders", LIMIT)
                .route("ends", "orders", LIMIT)
                .route("hangs", "orders", LIMIT)
                .start();
        RedisProperties properties = new RedisProperties(uri, isCluster, TIMEOUT, PREFIX);
        this.other = isCluster
                ? new RedisClusterBuckets(properties, System::nanoTime)
                : new RedisBuckets(properties, System::nanoTime);
        awaitShare(1);
    }

    double meter(Meters meter) {
        MeterRegistry registry = gateway.bean(MeterRegistry.class);
        return registry.get(meter.definition().meterName())
                .meter()
                .measure()
                .iterator()
                .next()
                .getValue();
    }

    /** Waits until that share of the keys is counted in Redis, by both gateways. */
    void awaitShare(double value) {
        await().until(() -> Math.abs(meter(RouteMeter.RATE_LIMIT_SHARED_UP) - value) < 0.001
                && Math.abs(other.availableShare() - value) < 0.001);
    }

    TestCaller.Answer ask(Door door, String route, String key) throws IOException {
        return TestCaller.get(gateway.port(), door.path(route, "1"), "X-Api-Key: " + key);
    }

    private RateLimiter limiterAtOther(Door door, String route) {
        return RateLimiter.of(door.id(route), PROPERTIES, null, other, System::nanoTime);
    }

    /** The key in Redis, without the prefix. */
    String sharedKey(Door door, String route, String key) {
        return limiterAtOther(door, route)
                .sharedKey(new DefaultHttpHeaders().set("X-Api-Key", key), () -> "", claim -> null);
    }

    /** Takes a permit at the second gateway; null: its own count would decide. */
    @Nullable
    Quota takeAtOther(Door door, String route, String key) {
        CompletableFuture<@Nullable Quota> taken = new CompletableFuture<>();
        limiterAtOther(door, route).takeShared(sharedKey(door, route, key), taken::complete);
        return taken.join();
    }

    void assertNothingHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @Override
    public void close() {
        other.close();
        gateway.close();
        backend.close();
    }
}
