package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.SlotHash;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.weir.cluster.ClusterProperties;
import io.weir.ratelimit.SharedBuckets.Rate;
import io.weir.ratelimit.SharedBuckets.Taken;
import io.weir.testing.NameServer;
import io.weir.testing.TestRedis;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The primary of a real Redis fails over: its name leads to another server, and the old one goes on. */
class RedisFailoverIT {

    private static final String OLD = "127.0.0.1";
    private static final String NEW = "127.0.0.2";
    /** Ten permits, which do not return within the test. */
    private static final Rate RATE = new Rate(3.6e9, 10);

    /** What the old primary answers after the fail-over. */
    private enum Answer {
        READONLY,
        MASTERDOWN,
        NOREPLICAS,
        CLUSTERDOWN
    }

    @TempDir
    Path directory;

    private final NameServer dns = new NameServer(OLD);

    @AfterEach
    void close() {
        dns.close();
    }

    private RedisBuckets buckets(TestRedis redis) {
        String uri = "redis://" + NameServer.NAME + ':' + redis.port();
        return new RedisBuckets(
                new RedisProperties(uri, false, Duration.ofSeconds(1), "test:"),
                System::nanoTime,
                RedisNames.of(new SingletonDnsServerAddressStreamProvider(ClusterProperties.address(dns.address()))));
    }

    private static StatefulRedisConnection<String, String> connect(RedisClient client) {
        return await().ignoreExceptionsInstanceOf(RedisException.class).until(client::connect, any -> true);
    }

    private static void failOver(RedisCommands<String, String> old, Answer answer) {
        switch (answer) {
            case READONLY -> old.replicaof(NEW, 1);
            case MASTERDOWN -> {
                old.configSet("replica-serve-stale-data", "no");
                old.replicaof(NEW, 1);
            }
            case NOREPLICAS -> old.configSet("min-replicas-to-write", "1");
            case CLUSTERDOWN ->
                old.clusterDelSlots(IntStream.range(0, SlotHash.SLOT_COUNT).toArray());
        }
    }

    private static Taken take(RedisBuckets buckets) throws Exception {
        return buckets.take("caller", RATE).toCompletableFuture().get();
    }

    @ParameterizedTest
    @EnumSource
    void countsInTheNewPrimaryWhileTheOldOneKeepsItsConnection(Answer answer) throws Exception {
        boolean isNode = answer == Answer.CLUSTERDOWN;
        try (TestRedis old = isNode ? TestRedis.startNode(directory) : TestRedis.start();
                TestRedis promoted = TestRedis.startAt(NEW, old);
                RedisClient client = RedisClient.create(old.uri());
                RedisClient other = RedisClient.create(promoted.uri());
                StatefulRedisConnection<String, String> atOld = connect(client);
                StatefulRedisConnection<String, String> atNew = connect(other);
                RedisBuckets buckets = buckets(old)) {
            if (isNode) {
                atOld.sync()
                        .clusterAddSlots(IntStream.range(0, SlotHash.SLOT_COUNT).toArray());
            }
            await().until(buckets::isAvailable);
            assertThat(take(buckets).remaining()).isEqualTo(9);
            assertThat(take(buckets).remaining()).isEqualTo(8);

            failOver(atOld.sync(), answer);
            dns.resolveTo(NEW);

            await().ignoreExceptions()
                    .untilAsserted(() -> assertThat(take(buckets).remaining()).isEqualTo(9));
            await().until(buckets::isAvailable);
            assertThat(atNew.sync().keys("test:caller")).hasSize(1);
            await().untilAsserted(() ->
                    assertThat(atOld.sync().clientList().lines()).as("one left").hasSize(1));
        }
    }

    /** Another connection would meet the same error. */
    @Test
    void keepsTheConnectionToAServerWhoseMemoryIsFull() throws Exception {
        try (TestRedis redis = TestRedis.start();
                RedisClient client = RedisClient.create(redis.uri());
                StatefulRedisConnection<String, String> observer = connect(client);
                RedisBuckets buckets = buckets(redis)) {
            await().until(buckets::isAvailable);
            observer.sync().configSet("maxmemory", "1");
            await().until(() -> !buckets.isAvailable());
            assertThat(figure(observer, "total_connections_received")).isEqualTo(2);

            observer.sync().configSet("maxmemory", "0");
            await().until(buckets::isAvailable);
            assertThat(figure(observer, "total_connections_received")).isEqualTo(2);
        }
    }

    @Test
    void countsAgainInTheSameServerWhenItCan() throws Exception {
        try (TestRedis redis = TestRedis.start();
                RedisClient client = RedisClient.create(redis.uri());
                StatefulRedisConnection<String, String> observer = connect(client);
                RedisBuckets buckets = buckets(redis)) {
            await().until(buckets::isAvailable);
            observer.sync().configSet("min-replicas-to-write", "1");
            await().until(() -> figure(observer, "total_connections_received") >= 4);
            assertThat(buckets.isAvailable()).isFalse();

            observer.sync().configSet("min-replicas-to-write", "0");
            await().until(buckets::isAvailable);
            assertThat(take(buckets).remaining()).isEqualTo(9);
        }
    }

    private static long figure(StatefulRedisConnection<String, String> observer, String name) throws IOException {
        return observer.sync()
                .info("stats")
                .lines()
                .filter(line -> line.startsWith(name + ':'))
                .mapToLong(line -> Long.parseLong(line.substring(name.length() + 1)))
                .findFirst()
                .orElseThrow(() -> new IOException(name));
    }
}
