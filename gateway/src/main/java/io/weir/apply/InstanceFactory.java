package io.weir.apply;

import io.weir.capacity.CapacitySignal;
import io.weir.capacity.StatedCapacity;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.instance.Instance;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.instance.Pool;
import io.weir.management.RecentEvents;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Creates the instances of backends, each with its connection pool and its health. */
final class InstanceFactory {

    private final Resilience4jRegistries registries;
    private final PoolFactory pools;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final Consumer<Instance> onOpened;
    private final RecentEvents recentEvents;

    /**
     * A factory of the instances of a gateway's backends.
     *
     * @param random 0 (inclusive) to 1 (exclusive); jitters probes
     * @param onOpened is told each instance that opens while others of its backend may be in
     * @param recentEvents receives the ejections of instances
     */
    InstanceFactory(
            Resilience4jRegistries registries,
            PoolFactory pools,
            LongSupplier nanoClock,
            DoubleSupplier random,
            Consumer<Instance> onOpened,
            RecentEvents recentEvents) {
        this.registries = registries;
        this.pools = pools;
        this.nanoClock = nanoClock;
        this.random = random;
        this.onOpened = onOpened;
        this.recentEvents = recentEvents;
    }

    /**
     * Creates the instances of a new backend.
     *
     * @param health the health of the backend
     * @param permits the permits of the backend's compartment
     * @param plan receives the steps that undo the creation
     */
    Instances create(
            BackendProperties properties,
            List<InstanceAddress> addresses,
            Health health,
            CompartmentPermits permits,
            BackendPlan plan) {
        String name = health.resilience4j().getName();
        CapacitySignal signal = new CapacitySignal(permits::limitChanged);
        return assemble(
                properties,
                addresses,
                health,
                address -> new Instance(
                        address,
                        pool(name, properties, address, plan),
                        instanceHealth(health, properties, address, permits),
                        new StatedCapacity(signal)));
    }

    /**
     * Creates the instances after a change; those whose address stays keep their health.
     *
     * @param isReusable whether they also keep their connections
     * @param plan receives the steps that undo the creation
     */
    Instances createSuccessors(
            ManagedBackend before,
            BackendProperties properties,
            List<InstanceAddress> addresses,
            boolean isReusable,
            BackendPlan plan) {
        Instances present = before.instances();
        if (isReusable
                && addresses.equals(before.addresses())
                && properties.loadBalancing().equals(before.properties().loadBalancing())) {
            return present;
        }
        Backend old = before.backend();
        String name = old.name();
        CompartmentPermits permits = new CompartmentPermits(old.bulkhead(), old.limit());
        return assemble(properties, addresses, old.health(), address -> {
            Instance known = present.all().stream()
                    .filter(instance -> instance.isAt(address))
                    .findFirst()
                    .orElse(null);
            Pool pool = known != null && isReusable ? known.pool() : pool(name, properties, address, plan);
            if (known == null || present.isSingle()) {
                StatedCapacity capacity = known == null
                        ? new StatedCapacity(present.first().capacity().signal())
                        : known.capacity();
                Instance created = new Instance(
                        address, pool, instanceHealth(old.health(), properties, address, permits), capacity);
                if (known == null) {
                    created.startSlowly(nanoClock.getAsLong());
                }
                return created;
            }
            return known.with(address.weight(), address.isBackup(), pool);
        });
    }

    private Instances assemble(
            BackendProperties properties,
            List<InstanceAddress> addresses,
            Health health,
            Function<InstanceAddress, Instance> instances) {
        List<Instance> all = addresses.stream().map(instances).toList();
        Instance first = all.getFirst();
        return all.size() == 1
                ? Instances.of(
                        new Instance(first.address(), first.pool(), health, first.capacity()),
                        properties.loadBalancing())
                : Instances.of(
                        all,
                        health,
                        properties.loadBalancing(),
                        bound -> ThreadLocalRandom.current().nextInt(bound),
                        onOpened);
    }

    private Health instanceHealth(
            Health backend, BackendProperties properties, InstanceAddress address, CompartmentPermits permits) {
        String name = backend.resilience4j().getName();
        String shown = Instance.shownAddressOf(address.shown());
        Health health = Health.ofInstance(name, shown, healthSettings(properties), permits, nanoClock, random);
        recentEvents.watch(registries.breakers(), backend.resilience4j(), shown, health);
        return health;
    }

    /** The settings of the health of a backend and of its instances. */
    static HealthSettings healthSettings(BackendProperties properties) {
        return new HealthSettings(
                properties.circuitBreaker(),
                properties.recovery(),
                properties.deadline().toNanos());
    }

    private Pool pool(String name, BackendProperties properties, InstanceAddress address, BackendPlan plan) {
        Pool pool = pools.create(name, properties, address);
        plan.onRollback(() -> pool.close().subscribe());
        return pool;
    }
}
