package io.weir.ratelimit;

import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.TcpUserTimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Delay;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Token buckets in a Redis Cluster. Each key has its bucket in the node of its slot, where the same script
 * as in {@link RedisBuckets} takes a permit. Lettuce finds the nodes, follows slots that move, and connects
 * again.
 *
 * <p>Each node has its own {@link SharedAvailability}, with a probe each second by a key of its own slots. So
 * while a node does not answer, requests for keys of its slots fail at once, and no others do. If the cluster
 * requires full coverage, the other nodes refuse their keys, too ({@code CLUSTERDOWN}).
 */
// Concurrency: `connection` is written by the completion of the attempt to connect, of which there is one at
// a time. Nodes come, go and are probed on the one thread of `executor`; their availability is thread-safe.
@SuppressWarnings("FutureReturnValueIgnored") // Completion and failure are handled by callbacks.
public final class RedisClusterBuckets implements RedisCounter {

    private static final Logger log = LoggerFactory.getLogger(RedisClusterBuckets.class);

    private static final Rate PROBE_RATE = new Rate(1, 1);
    private static final int MAX_COMMANDS_UNDER_WAY = 10_000;
    private static final int MAX_PROBE_KEYS = 1_000_000;
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration MAX_SILENCE = Duration.ofSeconds(5);
    private static final Duration REFRESH_INTERVAL = Duration.ofSeconds(10);
    private static final Duration MIN_REFRESH_INTERVAL = Duration.ofSeconds(1);
    private static final long PROBE_INTERVAL_MILLIS = 1_000;
    private static final int SHUTDOWN_SECONDS = 2;

    private final RedisProperties properties;
    private final LongSupplier nanoClock;
    private final long timeoutNanos;
    private final ClientResources resources;
    private final EventExecutor executor;
    private final RedisClusterClient client;
    private final Map<String, Node> nodes = new ConcurrentHashMap<>();
    private final LongAdder localDecisions = new LongAdder();
    private final Future<?> timer;

    private volatile @Nullable StatefulRedisClusterConnection<String, String> connection;
    private volatile boolean isConnecting;
    private volatile boolean isClosed;

    /** A node with slots. */
    private static final class Node {

        private final SharedAvailability availability;
        private volatile boolean probeIsPending;
        /** A key of one of the node's slots; confined to the executor. */
        private String probeKey = "";

        Node(String address, Duration timeout, LongSupplier nanoClock) {
            this.availability = new SharedAvailability(
                    timeout,
                    nanoClock,
                    why -> log.warn(
                            "Redis at {} does not answer ({}); each gateway counts the rate limits of its slots by"
                                    + " itself",
                            address,
                            why),
                    () -> log.warn(
                            "Redis at {} answers; all gateways count the rate limits of its slots together", address));
        }
    }

    /** Connects in the background. */
    public RedisClusterBuckets(RedisProperties properties, LongSupplier nanoClock) {
        this.properties = properties;
        this.nanoClock = nanoClock;
        this.timeoutNanos = properties.timeout().toNanos();
        this.resources = DefaultClientResources.builder()
                .ioThreadPoolSize(2)
                .computationThreadPoolSize(2)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .addressResolverGroup(RedisNames.ofMachine())
                .reconnectDelay(Delay.constant(Duration.ofMillis(PROBE_INTERVAL_MILLIS)))
                .build();
        this.client = RedisClusterClient.create(resources, seeds(properties.uri()));
        client.setOptions(ClusterClientOptions.builder()
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(MAX_COMMANDS_UNDER_WAY)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECT_TIMEOUT)
                        .keepAlive(true)
                        // A node whose machine is gone closes no connection.
                        .tcpUserTimeout(TcpUserTimeoutOptions.builder()
                                .enable()
                                .tcpUserTimeout(MAX_SILENCE)
                                .build())
                        .build())
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .enablePeriodicRefresh(REFRESH_INTERVAL)
                        .adaptiveRefreshTriggersTimeout(MIN_REFRESH_INTERVAL)
                        .build())
                .build());
        this.executor = resources.eventExecutorGroup().next();
        this.timer = executor.scheduleWithFixedDelay(this::maintain, 0, PROBE_INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** The nodes of a URI with several hosts. */
    static List<RedisURI> seeds(String uri) {
        int from = Math.max(uri.indexOf("//") + 2, uri.lastIndexOf('@') + 1);
        return Arrays.stream(uri.substring(from).split(",", -1))
                .map(host -> seed(uri.substring(0, from) + host))
                .toList();
    }

    private static RedisURI seed(String uri) {
        RedisURI seed = RedisURI.create(uri);
        // A node that accepts connections and does not answer would delay a look-up of the topology, and so a
        // fail-over, by the default of a minute.
        seed.setTimeout(CONNECT_TIMEOUT);
        return seed;
    }

    // ---------------------------------------------------------------- permits

    @Override
    public boolean isAvailable() {
        for (Node node : nodes.values()) {
            if (node.availability.isAvailable()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public double availableShare() {
        StatefulRedisClusterConnection<String, String> connected = connection;
        if (connected == null) {
            return 0;
        }
        int available = 0;
        for (RedisClusterNode each : connected.getPartitions()) {
            Node node = nodes.get(each.getNodeId());
            available += node != null && node.availability.isAvailable()
                    ? each.getSlots().size()
                    : 0;
        }
        return (double) available / SlotHash.SLOT_COUNT;
    }

    @Override
    public long timeoutNanos() {
        return timeoutNanos;
    }

    @Override
    public CompletionStage<Taken> take(String key, Rate rate) {
        String prefixed = properties.keyPrefix() + key;
        StatefulRedisClusterConnection<String, String> connected = connection;
        Node node = connected == null ? null : node(connected, prefixed);
        return connected == null || node == null || !node.availability.isAvailable()
                ? CompletableFuture.failedFuture(new IllegalStateException("the node of the key does not answer"))
                : take(connected, node, prefixed, rate);
    }

    private CompletionStage<Taken> take(
            StatefulRedisClusterConnection<String, String> connected, Node node, String key, Rate rate) {
        return node.availability.observe(() -> RedisScript.run(connected.async(), key, rate));
    }

    /** The node of a key's slot; null: no known node has the slot. */
    private @Nullable Node node(StatefulRedisClusterConnection<String, String> connected, String key) {
        RedisClusterNode found = connected.getPartitions().getMasterBySlot(SlotHash.getSlot(key));
        return found == null ? null : nodes.get(found.getNodeId());
    }

    @Override
    public void timedOut(String key) {
        StatefulRedisClusterConnection<String, String> connected = connection;
        Node node = connected == null ? null : node(connected, properties.keyPrefix() + key);
        if (node != null) {
            node.availability.timedOut();
        }
    }

    @Override
    public void decidedLocally() {
        localDecisions.increment();
    }

    @Override
    public long localDecisions() {
        return localDecisions.sum();
    }

    // ---------------------------------------------------------------- nodes

    private void maintain() {
        try {
            connectOrProbe();
        } catch (RuntimeException e) {
            // An exception would end the timer.
            log.warn("the cluster of Redis cannot be probed", e);
        }
    }

    private void connectOrProbe() {
        StatefulRedisClusterConnection<String, String> connected = connection;
        if (connected == null) {
            connect();
            return;
        }
        List<RedisClusterNode> withSlots = connected.getPartitions().getPartitions().stream()
                .filter(each -> !each.hasNoSlots())
                .toList();
        nodes.keySet()
                .retainAll(withSlots.stream().map(RedisClusterNode::getNodeId).collect(Collectors.toSet()));
        withSlots.forEach(each -> probe(connected, each, nodes.computeIfAbsent(each.getNodeId(), id -> newNode(each))));
    }

    private Node newNode(RedisClusterNode known) {
        String address = known.getUri().getHost() + ':' + known.getUri().getPort();
        return new Node(address, properties.timeout(), nanoClock);
    }

    private void connect() {
        if (isConnecting || isClosed) {
            return;
        }
        isConnecting = true;
        // Lettuce connects only if it knows the nodes.
        client.refreshPartitionsAsync()
                .thenCompose(known -> client.connectAsync(StringCodec.UTF8))
                .whenComplete((made, failure) -> {
                    isConnecting = false;
                    if (failure != null) {
                        log.debug("no connection to a node of the cluster of Redis", failure);
                    } else if (isClosed) {
                        made.closeAsync();
                    } else {
                        connection = made;
                        executor.execute(this::maintain);
                    }
                });
    }

    private void probe(StatefulRedisClusterConnection<String, String> connected, RedisClusterNode known, Node node) {
        if (node.probeIsPending) {
            node.availability.lost("no answer in " + PROBE_INTERVAL_MILLIS + " ms");
            return;
        }
        if (node.probeKey.isEmpty() || !known.hasSlot(SlotHash.getSlot(node.probeKey))) {
            node.probeKey = probeKey(known);
        }
        node.probeIsPending = true;
        take(connected, node, node.probeKey, PROBE_RATE).whenComplete((taken, failure) -> node.probeIsPending = false);
    }

    /** A key that belongs to a slot of a node. */
    private String probeKey(RedisClusterNode node) {
        String key = "";
        for (int i = 0; i < MAX_PROBE_KEYS; i++) {
            key = properties.keyPrefix() + "probe" + i;
            if (node.hasSlot(SlotHash.getSlot(key))) {
                break;
            }
        }
        return key;
    }

    @Override
    public void close() {
        isClosed = true;
        timer.cancel(false);
        StatefulRedisClusterConnection<String, String> connected = connection;
        // Lettuce warns of connections that it closes twice.
        CompletionStage<Void> closed =
                connected == null ? CompletableFuture.completedFuture(null) : connected.closeAsync();
        closed.whenComplete((done, failure) -> {
            client.shutdownAsync(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
            resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        });
    }
}
