package io.weir.ratelimit;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.netty.resolver.AddressResolverGroup;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Token buckets in one Redis. A script takes a permit in one round trip; all requests share one connection,
 * on which commands are pipelined. See the package for the algorithm.
 *
 * <p>A probe each second takes a permit of a bucket of its own, with the same script: it finds Redis again
 * although no request asks, and notices an error that only requests would see, such as a full memory. The
 * same timer connects, and replaces a connection on which a probe had no answer for
 * {@value #MAX_SILENCE_SECONDS} seconds, or whose server cannot count: a primary that has become a replica
 * keeps its connections. Each connection looks the name up again.
 */
// Concurrency: `connection` is written by the timer and by the completion of its attempt to connect, of which
// there is one at a time. All other changes of the connection and the probe are made by the one thread of
// `executor`, but for the end of a probe. A refusal that comes late names a connection that has been dropped.
@SuppressWarnings("FutureReturnValueIgnored") // Completion and failure are handled by callbacks.
public final class RedisBuckets implements RedisCounter {

    private static final Logger log = LoggerFactory.getLogger(RedisBuckets.class);

    private static final String PROBE_KEY = "probe";
    private static final Rate PROBE_RATE = new Rate(1, 1);

    private static final int MAX_COMMANDS_UNDER_WAY = 10_000;
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final long PROBE_INTERVAL_MILLIS = 1_000;
    private static final int MAX_SILENCE_SECONDS = 5;
    private static final int SHUTDOWN_SECONDS = 2;

    private final RedisProperties properties;
    private final LongSupplier nanoClock;
    private final long timeoutNanos;
    private final String address;
    private final ClientResources resources;
    private final EventExecutor executor;
    private final RedisClient client;
    private final SharedAvailability availability;
    private final LongAdder localDecisions = new LongAdder();
    private final Future<?> timer;

    private volatile @Nullable StatefulRedisConnection<String, String> connection;
    private volatile boolean isConnecting;
    private volatile boolean probeIsPending;
    private volatile boolean isClosed;
    private volatile @Nullable Refusal refusal;
    private long probeSentAt;

    /** The answer to a probe of a server that cannot count. */
    private record Refusal(StatefulRedisConnection<String, String> connection, String why) {}

    /** Connects in the background. */
    public RedisBuckets(RedisProperties properties, LongSupplier nanoClock) {
        this(properties, nanoClock, RedisNames.ofMachine());
    }

    /** Connects in the background, to an address that a resolver finds. */
    RedisBuckets(RedisProperties properties, LongSupplier nanoClock, AddressResolverGroup<?> names) {
        this.properties = properties;
        this.nanoClock = nanoClock;
        this.timeoutNanos = properties.timeout().toNanos();
        RedisURI uri = RedisURI.create(properties.uri());
        this.address = uri.getHost() + ':' + uri.getPort();
        this.availability = new SharedAvailability(
                properties.timeout(),
                nanoClock,
                why -> log.warn(
                        "Redis at {} does not answer ({}); each gateway counts its rate limits by itself",
                        address,
                        why),
                () -> log.warn("Redis at {} answers; all gateways count their rate limits together", address));
        this.resources = DefaultClientResources.builder()
                .ioThreadPoolSize(2)
                .computationThreadPoolSize(2)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .addressResolverGroup(names)
                .build();
        this.client = RedisClient.create(resources, uri);
        client.setOptions(ClientOptions.builder()
                // The timer connects again.
                .autoReconnect(false)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(MAX_COMMANDS_UNDER_WAY)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECT_TIMEOUT)
                        .keepAlive(true)
                        .build())
                .build());
        this.executor = resources.eventExecutorGroup().next();
        this.timer = executor.scheduleWithFixedDelay(this::maintain, 0, PROBE_INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
    }

    // ---------------------------------------------------------------- permits

    @Override
    public boolean isAvailable() {
        return availability.isAvailable();
    }

    @Override
    public long timeoutNanos() {
        return timeoutNanos;
    }

    @Override
    public CompletionStage<Taken> take(String key, Rate rate) {
        StatefulRedisConnection<String, String> connected = connection;
        if (connected == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("not connected"));
        }
        return availability.observe(() -> RedisScript.run(connected.async(), properties.keyPrefix() + key, rate));
    }

    @Override
    public void timedOut(String key) {
        availability.timedOut();
    }

    @Override
    public void decidedLocally() {
        localDecisions.increment();
    }

    @Override
    public double availableShare() {
        return isAvailable() ? 1 : 0;
    }

    @Override
    public long localDecisions() {
        return localDecisions.sum();
    }

    // ---------------------------------------------------------------- connection

    private void maintain() {
        try {
            connectOrProbe();
        } catch (RuntimeException e) {
            // An exception would end the timer.
            log.warn("Redis at {} cannot be probed", address, e);
        }
    }

    /** Connects if there is no connection, and probes if there is one. */
    private void connectOrProbe() {
        StatefulRedisConnection<String, String> connected = connection;
        Refusal refused = refusal;
        if (connected == null) {
            connect();
        } else if (refused != null && refused.connection == connected) {
            drop(connected, refused.why);
        } else if (!connected.isOpen()) {
            drop(connected, "the connection is lost");
        } else if (!probeIsPending) {
            probe(connected);
        } else if (nanoClock.getAsLong() - probeSentAt > TimeUnit.SECONDS.toNanos(MAX_SILENCE_SECONDS)) {
            drop(connected, "no answer in " + MAX_SILENCE_SECONDS + " s");
        } else {
            availability.lost("no answer in " + PROBE_INTERVAL_MILLIS + " ms");
        }
    }

    private void connect() {
        if (isConnecting || isClosed) {
            return;
        }
        connected(client.connectAsync(StringCodec.UTF8, RedisURI.create(properties.uri())));
    }

    private void connected(CompletionStage<StatefulRedisConnection<String, String>> attempt) {
        isConnecting = true;
        attempt.whenComplete((made, failure) -> {
            isConnecting = false;
            if (failure != null) {
                log.debug("no connection to Redis at {}", address, failure);
            } else if (isClosed) {
                made.closeAsync();
            } else {
                connection = made;
                executor.execute(this::maintain);
            }
        });
    }

    private void drop(StatefulRedisConnection<String, String> lost, String why) {
        connection = null;
        probeIsPending = false;
        refusal = null;
        availability.lost(why);
        lost.closeAsync();
        connect();
    }

    private void probe(StatefulRedisConnection<String, String> connected) {
        probeSentAt = nanoClock.getAsLong();
        probeIsPending = true;
        take(PROBE_KEY, PROBE_RATE).whenComplete((taken, failure) -> {
            probeIsPending = false;
            // The next turn of the timer connects again, so that there is one connection a second at most.
            if (failure != null && RedisScript.isOfUnfitServer(failure)) {
                refusal = new Refusal(
                        connected, String.valueOf(RedisScript.cause(failure).getMessage()));
            }
        });
    }

    /** Closes the connection, and ends Lettuce's threads. */
    @Override
    public void close() {
        isClosed = true;
        timer.cancel(false);
        client.shutdownAsync(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
    }
}
