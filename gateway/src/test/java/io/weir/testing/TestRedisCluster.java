package io.weir.testing;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.util.FileSystemUtils;

/** A real Redis Cluster of three nodes without replicas; each node has a third of the slots. */
public final class TestRedisCluster implements AutoCloseable {

    private static final int NODES = 3;

    private final Path directory;
    private final List<TestRedis> nodes = new ArrayList<>();

    private TestRedisCluster(Path directory) {
        this.directory = directory;
    }

    /** Starts one. Skips the test if Redis is not installed, unless {@code -Dredis=required}. */
    public static TestRedisCluster start() throws IOException {
        TestRedisCluster cluster = new TestRedisCluster(Files.createTempDirectory("weir-redis"));
        for (int i = 0; i < NODES; i++) {
            cluster.nodes.add(TestRedis.startNode(Files.createDirectory(cluster.directory.resolve("node" + i))));
        }
        for (int i = 0; i < NODES; i++) {
            int node = i;
            cluster.ask(node, commands -> {
                commands.clusterAddSlots(
                        IntStream.range(firstSlot(node), firstSlot(node + 1)).toArray());
                return commands.clusterSetConfigEpoch(node + 1L);
            });
        }
        for (int i = 1; i < NODES; i++) {
            TestRedis other = cluster.nodes.get(i);
            cluster.ask(
                    0,
                    commands -> commands.dispatch(
                            CommandType.CLUSTER,
                            new StatusOutput<>(StringCodec.UTF8),
                            new CommandArgs<>(StringCodec.UTF8)
                                    .add("MEET")
                                    .add("127.0.0.1")
                                    .add(other.port())
                                    .add(other.clusterPort())));
        }
        for (int i = 0; i < NODES; i++) {
            int node = i;
            await().until(() ->
                    cluster.ask(node, RedisCommands::clusterInfo).contains("cluster_slots_ok:" + SlotHash.SLOT_COUNT));
        }
        return cluster;
    }

    private static int firstSlot(int node) {
        return node * SlotHash.SLOT_COUNT / NODES;
    }

    /** The node that has a key, by its number. */
    public static int nodeOf(String key) {
        int slot = SlotHash.getSlot(key);
        return IntStream.range(0, NODES)
                .filter(node -> slot < firstSlot(node + 1))
                .findFirst()
                .orElseThrow();
    }

    private <T> T ask(int node, Function<RedisCommands<String, String>, T> command) {
        try (RedisClient client = RedisClient.create(nodes.get(node).uri())) {
            StatefulRedisConnection<String, String> connection =
                    await().ignoreException(RedisException.class).until(() -> client.connect(), any -> true);
            return command.apply(connection.sync());
        }
    }

    /** The keys in a node. */
    public List<String> keys(int node) {
        return ask(node, commands -> commands.keys("*"));
    }

    /** The URI of its nodes. */
    public String uri() {
        return "redis://"
                + nodes.stream().map(node -> "127.0.0.1:" + node.port()).collect(Collectors.joining(","));
    }

    /** One of its nodes. */
    public TestRedis node(int number) {
        return nodes.get(number);
    }

    @Override
    public void close() throws IOException {
        nodes.forEach(TestRedis::close);
        FileSystemUtils.deleteRecursively(directory);
    }
}
