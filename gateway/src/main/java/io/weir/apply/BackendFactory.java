package io.weir.apply;

import io.weir.capacity.AgentProperties;
import io.weir.capacity.CapacitySignalProperties;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.engine.BackendSettings;
import io.weir.engine.Compartment;
import io.weir.engine.ServiceTimeEstimate;
import io.weir.faults.ActiveFaults;
import io.weir.health.Health;
import io.weir.health.HealthCheckProperties;
import io.weir.health.HealthSettings;
import io.weir.instance.AddressSource;
import io.weir.instance.Instance;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitLog;
import io.weir.limit.LimitSettings;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.RegisteredBulkhead;
import io.weir.limit.TenantKey;
import io.weir.limit.Tenants;
import io.weir.management.RecentEvents;
import io.weir.metrics.BackendMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.MeterScope;
import io.weir.overload.InFlightShare;
import io.weir.probe.HealthChecker;
import io.weir.probe.HealthProber;
import io.weir.retry.RetryBudget;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
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
    private final InstanceFactory instanceFactory;
    private final Supplier<@Nullable ActiveFaults> faults;

    /**
     * A factory of a gateway's backends.
     *
     * @param littlesLaw the properties of the estimate of each backend's service time
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param random 0 (inclusive) to 1 (exclusive); jitters probes
     * @param onOpened is told each instance that opens while others of its backend may be in
     * @param recentEvents receives the ejections of instances
     * @param faults the injected faults, which probes and health checks get, too; null: none is active
     */
    public BackendFactory(
            Resilience4jRegistries registries,
            PoolFactory pools,
            MeterBook meterBook,
            LittlesLawProperties littlesLaw,
            LongSupplier nanoClock,
            DoubleSupplier random,
            Consumer<Instance> onOpened,
            RecentEvents recentEvents,
            Supplier<@Nullable ActiveFaults> faults) {
        this.faults = faults;
        this.registries = registries;
        this.pools = pools;
        this.meterBook = meterBook;
        this.littlesLaw = littlesLaw;
        this.nanoClock = nanoClock;
        this.random = random;
        this.instanceFactory = new InstanceFactory(registries, pools, nanoClock, random, onOpened, recentEvents);
    }

    /**
     * Creates a backend with a name that is not in force.
     *
     * @param source the source of the addresses of its instances
     * @param permits the limit on concurrent calls: this gateway's share where the limit is for the whole
     *     cluster
     * @param plan receives the steps that undo the creation
     */
    ManagedBackend create(
            String name, BackendProperties properties, AddressSource source, int permits, BackendPlan plan) {
        @Nullable Object sslBundle = pools.sslBundle(properties);
        // The limit resizes it.
        QueueingBulkhead bulkhead = new QueueingBulkhead(permits, 0);
        QueueingBulkhead streams = new QueueingBulkhead(properties.maxStreams(), 0);
        HealthSettings settings = InstanceFactory.healthSettings(properties);
        // The registries stop showing a retired backend of this name, even if requests still use it.
        plan.onRollback(() -> registries.bulkheads().remove(name));
        LimitInForce limit = limit(properties, bulkhead, permits);
        RegisteredBulkhead registered =
                RegisteredBulkhead.register(registries.bulkheads(), name, bulkhead, limit, Map.of());
        CompartmentPermits compartmentPermits = new CompartmentPermits(bulkhead, limit);
        Health health = health(name, settings, compartmentPermits, plan);
        List<InstanceAddress> addresses = source.addresses();
        Instances instances = instanceFactory.create(properties, addresses, health, compartmentPermits, plan);
        InstancesInForce instancesInForce = new InstancesInForce(instances);
        limit.stateBy((learnt, now) -> instancesInForce.get().statedLimit(learnt, now));
        limit.limitBy(health.caps()::maxCalls, health.caps()::limitShare);
        RetryBudget retryBudget = new RetryBudget(properties.retryBudget(), nanoClock.getAsLong());
        ServiceTimeEstimate serviceTime = new ServiceTimeEstimate(littlesLaw, health, nanoClock);
        Compartment compartment =
                new Compartment(bulkhead, limit, streams, instancesInForce, serviceTime, new InFlightShare());
        BackendSettings backendSettings = backendSettings(name, properties);
        BackendMeters meters =
                new BackendMeters(openMeters(plan), name, compartment, backendSettings.maxWaitNanos(), retryBudget);
        meters.onRejected(registered::publishRejected);
        limit.onLearnt(new LimitLog(name, limit, nanoClock)::changed);
        Backend backend = new Backend(backendSettings, compartment, retryBudget, tenants(properties, null), meters);
        return new ManagedBackend(
                properties,
                settings,
                backend,
                source,
                addresses,
                instances,
                registered,
                meters,
                sslBundle,
                probers(name, instances, properties),
                checker(name, instances, properties, null));
    }

    private LimitInForce limit(BackendProperties properties, QueueingBulkhead bulkhead, int permits) {
        return new LimitInForce(bulkhead, limitSettings(properties, permits), nanoClock, BackendFactory::wallNanos);
    }

    /**
     * The settings of a backend's limit.
     *
     * @param permits this gateway's share of a fixed limit
     */
    static LimitSettings limitSettings(BackendProperties properties, int permits) {
        return properties
                .bulkhead()
                .settings(permits, properties.deadline().toNanos())
                .withSignal(properties.capacitySignal() != null);
    }

    /** The health of a new backend, registered in place of that of a retired backend of this name. */
    private Health health(String name, HealthSettings settings, CompartmentPermits permits, BackendPlan plan) {
        Health health = new Health(name, settings, permits, nanoClock, random);
        registries.breakers().remove(name);
        plan.onRollback(() -> registries.breakers().remove(name));
        health.resilience4j().register(registries.breakers());
        return health;
    }

    private MeterScope openMeters(BackendPlan plan) {
        MeterScope scope = meterBook.open();
        plan.onRollback(scope::close);
        return scope;
    }

    /**
     * Creates the successor of a backend whose properties have changed.
     *
     * @param source the source of the addresses of its instances
     * @param plan receives the steps that undo the creation
     */
    ManagedBackend createSuccessor(
            ManagedBackend before, BackendProperties properties, AddressSource source, BackendPlan plan) {
        Backend old = before.backend();
        String name = old.name();
        @Nullable Object sslBundle = pools.sslBundle(properties);
        List<InstanceAddress> addresses = source.addresses();
        Instances instances = instanceFactory.createSuccessors(
                before, properties, addresses, pools.isReusable(before, properties), plan);
        RetryBudget retryBudget =
                properties.retryBudget().equals(before.properties().retryBudget())
                        ? old.retryBudget()
                        : new RetryBudget(properties.retryBudget(), nanoClock.getAsLong());
        Backend backend = new Backend(
                backendSettings(name, properties),
                old.compartment(),
                retryBudget,
                tenants(properties, old.tenants()),
                before.meters());
        return new ManagedBackend(
                properties,
                InstanceFactory.healthSettings(properties),
                backend,
                source,
                addresses,
                instances,
                before.registeredBulkhead(),
                before.meters(),
                sslBundle,
                probers(name, instances, properties),
                checker(name, instances, properties, before));
    }

    /**
     * The same backend with the present addresses of its source.
     *
     * @param plan receives the steps that undo the creation
     */
    ManagedBackend withPresentAddresses(ManagedBackend before, BackendPlan plan) {
        List<InstanceAddress> addresses = before.source().addresses();
        Instances instances = instanceFactory.createSuccessors(before, before.properties(), addresses, true, plan);
        return before.withInstances(
                addresses,
                instances,
                probers(before.backend().name(), instances, before.properties()),
                checker(before.backend().name(), instances, before.properties(), before));
    }

    /** Whether a backend's connections use the present SSL bundle. */
    boolean isCurrent(ManagedBackend backend) {
        return pools.isCurrent(backend);
    }

    private static BackendSettings backendSettings(String name, BackendProperties properties) {
        return new BackendSettings(
                name,
                properties.protocol() == UpstreamProtocol.H2,
                properties.deadline().toNanos(),
                properties.bulkhead().maxWait(properties.deadline()).toNanos(),
                properties.connection().connectTimeout().toNanos(),
                properties.streamIdleTimeout().toNanos(),
                BackendSettings.bits(properties.circuitBreaker().recordStatuses()),
                BackendSettings.bits(properties.circuitBreaker().recordGrpcStatuses()),
                properties.deadlineEnforce());
    }

    /** Logs if the limits of the pools of all backends exceed the files for their connections. */
    void compareWithFiles(Collection<ManagedBackend> backends) {
        pools.compareWithFiles(backends.stream()
                .flatMap(each -> each.instances().all().stream())
                .map(Instance::pool));
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

    private List<HealthProber> probers(String name, Instances instances, BackendProperties properties) {
        return instances.all().stream()
                .flatMap(instance -> Optional.ofNullable(prober(instance, properties)).stream())
                .map(prober -> prober.withFaults(name, faults))
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

    /** The health checks and agents of a backend: those of its predecessor, if they are the same. */
    private @Nullable HealthChecker checker(
            String name, Instances instances, BackendProperties properties, @Nullable ManagedBackend before) {
        HealthCheckProperties check = properties.healthCheck();
        AgentProperties agent = agent(properties);
        if (check == null && agent == null) {
            return null;
        }
        HealthChecker existing = before == null ? null : before.checker();
        if (before != null
                && instances == before.instances()
                && Objects.equals(check, before.properties().healthCheck())
                && Objects.equals(agent, agent(before.properties()))) {
            return existing;
        }
        return new HealthChecker(
                name,
                instances.all(),
                check,
                agent,
                existing == null ? pools.nextLoop() : existing.loop(),
                nanoClock,
                random,
                faults);
    }

    private static @Nullable AgentProperties agent(BackendProperties properties) {
        CapacitySignalProperties signal = properties.capacitySignal();
        return signal == null ? null : signal.agent();
    }
}
