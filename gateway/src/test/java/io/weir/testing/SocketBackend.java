package io.weir.testing;

import io.netty.channel.EventLoop;
import io.netty.resolver.AddressResolverGroup;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.engine.BackendSettings;
import io.weir.engine.Compartment;
import io.weir.engine.ServiceTimeEstimate;
import io.weir.health.Health;
import io.weir.health.RecoveryProperties;
import io.weir.instance.ConnectionFiles;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.instance.Violations;
import io.weir.limit.LimitInForce;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.overload.InFlightShare;
import io.weir.retry.RetryBudget;
import io.weir.retry.RetryBudgetProperties;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/** A backend on a real socket; its connections have their own event loop. */
public final class SocketBackend implements AutoCloseable {

    public static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);

    final LoopResources loops = LoopResources.create("socket-backend", 1, true);
    public final QueueingBulkhead bulkhead = new QueueingBulkhead(20, 0);
    public final Health health;
    public final Pool pool;
    public final Backend backend;

    /**
     * A backend of this server.
     *
     * @param healthPath as in {@link RecoveryProperties}
     */
    public SocketBackend(TestBackend server, Duration deadline, @Nullable String healthPath) {
        this(URI.create(server.uri()), deadline, healthPath, null);
    }

    /**
     * A backend whose name stands for several addresses.
     *
     * @param uri with the name
     * @param resolver resolves the name; null: Reactor Netty's
     */
    public SocketBackend(
            URI uri,
            Duration deadline,
            @Nullable String healthPath,
            @Nullable AddressResolverGroup<InetSocketAddress> resolver) {
        health = TestHealth.of(
                TestHealth.settings(
                        deadline,
                        20,
                        null,
                        new RecoveryProperties(null, Duration.ofMillis(10), 5, Duration.ofSeconds(30), healthPath)),
                System::nanoTime);
        pool = new Pool(
                "orders",
                InstanceAddress.of(uri, 1),
                UpstreamProtocol.HTTP1,
                new ConnectionProperties(CONNECT_TIMEOUT, Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
                20,
                null,
                loops,
                resolver,
                new Violations("orders"),
                ConnectionFiles.unbounded());
        BackendSettings settings = new BackendSettings(
                "orders",
                false,
                deadline.toNanos(),
                0,
                CONNECT_TIMEOUT.toNanos(),
                deadline.toNanos(),
                BackendSettings.bits(Set.of(503)),
                BackendSettings.bits(Set.of()),
                true);
        backend = new Backend(
                settings,
                new Compartment(
                        bulkhead,
                        new LimitInForce(bulkhead),
                        new QueueingBulkhead(1, 0),
                        new InstancesInForce(Instances.of(new Instance(uri, pool, health))),
                        new ServiceTimeEstimate(
                                new LittlesLawProperties(Duration.ofSeconds(10)), health, System::nanoTime),
                        new InFlightShare()),
                new RetryBudget(new RetryBudgetProperties(100, 10), System.nanoTime()),
                null,
                BackendObserver.NONE);
    }

    /** The event loop of the connections. */
    public EventLoop loop() {
        return loops.onClient(true).next();
    }

    @Override
    public void close() {
        pool.close().block();
        loops.disposeLater(Duration.ZERO, Duration.ofSeconds(1)).block();
    }
}
