package io.weir.live;

import io.weir.config.BackendProperties;
import io.weir.config.InstanceProperties;
import io.weir.engine.Backend;
import io.weir.engine.BackendSettings;
import io.weir.engine.Enforcement;
import io.weir.engine.HealthProber;
import io.weir.engine.ServiceTimeEstimate;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.Pool;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitLog;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.RegisteredBulkhead;
import io.weir.limit.TenantKey;
import io.weir.limit.Tenants;
import io.weir.metrics.BackendMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.MeterScope;
import io.weir.retry.RetryBudget;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates backends, and successors of backends whose properties have changed.
 *
 * <p>A successor shares every part of its predecessor that the change does not concern. The creation of a
 * successor changes no shared part: {@link LiveBackends} changes them when it commits the configuration.
 */
public final class BackendFactory {

    private final Resilience4jRegistries registries;
    private final PoolFactory pools;
    private final MeterBook meterBook;
    private final LittlesLawProperties littlesLaw;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final Consumer<Instance> onOpened;

    /**
     * A factory of a gateway's backends.
     *
     * @param littlesLaw the properties of the estimate of each backend's service time
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param random 0 (inclusive) to 1 (exclusive); jitters probes
     * @param onOpened is told each instance that opens while others of its backend may be in
     */
    public BackendFactory(
            Resilience4jRegistries registries,
            PoolFactory pools,
            MeterBook meterBook,
            LittlesLawProperties littlesLaw,
            LongSupplier nanoClock,
            DoubleSupplier random,
            Consumer<Instance> onOpened) {
        this.onOpened = onOpened;
        this.registries = registries;
        this.pools = pools;
        this.meterBook = meterBook;
        this.littlesLaw = littlesLaw;
        this.nanoClock = nanoClock;
        this.random = random;
    }

    /**
     * Creates a backend with a name that is not in force.
     *
     * @param permits the limit on concurrent calls: this gateway's share where the limit is for the whole
     *     cluster
     * @param plan receives the steps that undo the creation
     */
    ManagedBackend create(String name, BackendProperties properties, int permits, BackendPlan plan) {
        @Nullable Object sslBundle = pools.sslBundle(properties);
        // The limit resizes it.
        QueueingBulkhead bulkhead = new QueueingBulkhead(permits, 0);
        QueueingBulkhead streams = new QueueingBulkhead(properties.maxStreams(), 0);
        HealthSettings settings = healthSettings(properties);
        // The registries stop showing a retired backend of this name, even if requests still use it.
        plan.onRollback(() -> registries.bulkheads().remove(name));
        LimitInForce limit = new LimitInForce(
                bulkhead,
                properties.bulkhead().settings(permits, properties.deadline().toNanos()),
                nanoClock,
                BackendFactory::wallNanos);
        RegisteredBulkhead registered =
                RegisteredBulkhead.register(registries.bulkheads(), name, bulkhead, limit, Map.of());
        Health health = new Health(name, settings, new CompartmentPermits(bulkhead, limit), nanoClock, random);
        Instances instances = instances(name, properties, health, new CompartmentPermits(bulkhead, limit), plan);
        limit.limitBy(health::maxCalls);
        registries.breakers().remove(name);
        plan.onRollback(() -> registries.breakers().remove(name));
        health.resilience4j().register(registries.breakers());
        RetryBudget retryBudget = new RetryBudget(properties.retryBudget(), nanoClock.getAsLong());
        ServiceTimeEstimate serviceTime = new ServiceTimeEstimate(littlesLaw, health, nanoClock);
        MeterScope scope = meterBook.open();
        plan.onRollback(scope::close);
        BackendMeters meters = new BackendMeters(
                scope,
                name,
                bulkhead,
                limit,
                streams,
                properties.bulkhead().maxWait(properties.deadline()).toNanos(),
                health,
                instances,
                retryBudget,
                serviceTime.littlesLaw());
        meters.onRejected(registered::publishRejected);
        limit.onLearnt(new LimitLog(name, limit, nanoClock)::changed);
        Backend backend = new Backend(
                backendSettings(name, properties),
                bulkhead,
                limit,
                streams,
                dryRunBulkhead(properties, null),
                instances,
                retryBudget,
                serviceTime,
                tenants(properties, null),
                meters);
        return new ManagedBackend(
                properties, settings, backend, limit, registered, meters, sslBundle, probers(backend, properties));
    }

    /**
     * Creates the successor of a backend whose properties have changed.
     *
     * @param plan receives the steps that undo the creation
     */
    ManagedBackend createSuccessor(ManagedBackend before, BackendProperties properties, BackendPlan plan) {
        Backend old = before.backend();
        String name = old.name();
        @Nullable Object sslBundle = pools.sslBundle(properties);
        Instances instances = instances(before, properties, plan);
        RetryBudget retryBudget =
                properties.retryBudget().equals(before.properties().retryBudget())
                        ? old.retryBudget()
                        : new RetryBudget(properties.retryBudget(), nanoClock.getAsLong());
        Backend backend = new Backend(
                backendSettings(name, properties),
                old.bulkhead(),
                old.limit(),
                old.streams(),
                dryRunBulkhead(properties, old.dryRunBulkhead()),
                instances,
                retryBudget,
                old.serviceTime(),
                tenants(properties, old.tenants()),
                before.meters());
        return new ManagedBackend(
                properties,
                healthSettings(properties),
                backend,
                before.limit(),
                before.registeredBulkhead(),
                before.meters(),
                sslBundle,
                probers(backend, properties));
    }

    /** Whether a backend's connections use the present SSL bundle. */
    boolean isCurrent(ManagedBackend backend) {
        return pools.isCurrent(backend);
    }

    private static BackendSettings backendSettings(String name, BackendProperties properties) {
        return new BackendSettings(
                name,
                properties.deadline().toNanos(),
                properties.bulkhead().maxWait(properties.deadline()).toNanos(),
                properties.connection().connectTimeout().toNanos(),
                properties.streamIdleTimeout().toNanos(),
                BackendSettings.bits(properties.circuitBreaker().recordStatuses()),
                BackendSettings.bits(properties.circuitBreaker().recordGrpcStatuses()),
                new Enforcement(
                        properties.bulkhead().enforce(),
                        properties.circuitBreaker().enforce(),
                        properties.deadlineEnforce()));
    }

    private Instances instances(
            String name, BackendProperties properties, Health health, CompartmentPermits permits, BackendPlan plan) {
        return assemble(
                properties,
                health,
                address -> new Instance(
                        address.uri(),
                        address.weight(),
                        pool(name, properties, address.uri(), plan),
                        instanceHealth(name, properties, address.uri(), permits)));
    }

    /** The instances after a change; those whose address stays keep their connections and their health. */
    private Instances instances(ManagedBackend before, BackendProperties properties, BackendPlan plan) {
        Backend old = before.backend();
        boolean isReusable = pools.isReusable(before, properties);
        if (isReusable
                && properties.addresses().equals(before.properties().addresses())
                && properties.loadBalancing().equals(before.properties().loadBalancing())) {
            return old.instances();
        }
        String name = old.name();
        CompartmentPermits permits = new CompartmentPermits(old.bulkhead(), old.limit());
        return assemble(properties, old.health(), address -> {
            Instance known = old.instances().all().stream()
                    .filter(instance -> instance.uri().equals(address.uri()))
                    .findFirst()
                    .orElse(null);
            Pool pool = known != null && isReusable ? known.pool() : pool(name, properties, address.uri(), plan);
            if (known == null || old.instances().isSingle()) {
                Instance created = new Instance(
                        address.uri(),
                        address.weight(),
                        pool,
                        instanceHealth(name, properties, address.uri(), permits));
                if (known == null) {
                    created.startSlowly(nanoClock.getAsLong());
                }
                return created;
            }
            return pool == known.pool()
                    ? known.withWeight(address.weight())
                    : new Instance(address.uri(), address.weight(), pool, known.health());
        });
    }

    private Instances assemble(
            BackendProperties properties, Health health, Function<InstanceProperties, Instance> instances) {
        List<Instance> all = properties.addresses().stream().map(instances).toList();
        if (all.isEmpty()) {
            throw new IllegalArgumentException("instances: none (expected: uri, or at least one instance)");
        }
        Instance first = all.getFirst();
        return all.size() == 1
                ? Instances.of(new Instance(first.uri(), first.pool(), health), properties.loadBalancing())
                : Instances.of(
                        all,
                        health,
                        properties.loadBalancing(),
                        bound -> ThreadLocalRandom.current().nextInt(bound),
                        onOpened);
    }

    private Health instanceHealth(String name, BackendProperties properties, URI uri, CompartmentPermits permits) {
        String address = uri.getScheme() + "://" + uri.getRawAuthority();
        return Health.ofInstance(name, address, healthSettings(properties), permits, nanoClock, random);
    }

    private Pool pool(String name, BackendProperties properties, URI uri, BackendPlan plan) {
        Pool pool = pools.create(name, properties, uri);
        plan.onRollback(() -> pool.close().subscribe());
        return pool;
    }

    /**
     * The bulkhead of the dry run, which counts in place of one that is not enforced; null: the bulkhead is
     * enforced.
     */
    private static @Nullable QueueingBulkhead dryRunBulkhead(
            BackendProperties properties, @Nullable QueueingBulkhead existing) {
        if (properties.bulkhead().enforce()) {
            return null;
        }
        // The limit resizes it when the configuration is committed.
        return existing != null ? existing : new QueueingBulkhead(1, 0);
    }

    /** The tenants keep their counts while their key stays. */
    private @Nullable Tenants tenants(BackendProperties properties, @Nullable Tenants existing) {
        TenantKey key = properties.fairness().tenantKey();
        if (key == null) {
            return null;
        }
        return existing != null && existing.key().equals(key) ? existing : new Tenants(key, nanoClock);
    }

    private static long wallNanos() {
        return TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
    }

    private List<HealthProber> probers(Backend backend, BackendProperties properties) {
        return backend.instances().all().stream()
                .flatMap(instance -> Optional.ofNullable(prober(instance, properties)).stream())
                .toList();
    }

    private @Nullable HealthProber prober(Instance instance, BackendProperties properties) {
        String healthPath = properties.recovery().healthPath();
        return switch (properties.recovery().probeMode()) {
            case SHADOW, CALLER -> null;
            case PATH ->
                healthPath == null ? null : HealthProber.ofPath(instance, healthPath, pools.nextLoop(), nanoClock);
            case GRPC_HEALTH -> HealthProber.ofGrpcHealth(instance, pools.nextLoop(), nanoClock);
        };
    }

    private static HealthSettings healthSettings(BackendProperties properties) {
        return new HealthSettings(
                properties.circuitBreaker(),
                properties.recovery(),
                properties.deadline().toNanos());
    }
}
