package io.weir.apply;

import io.weir.capacity.CapacitySignalProperties;
import io.weir.cluster.Membership;
import io.weir.cluster.Share;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.instance.AddressSource;
import io.weir.instance.Instance;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.instance.Pool;
import io.weir.limit.BulkheadProperties;
import io.weir.limit.BulkheadScope;
import io.weir.overload.InFlightShare;
import io.weir.reload.ConfigurationTarget;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The backends in force. A change of their properties changes or replaces only the parts that it concerns;
 * the other parts keep their state.
 *
 * <ul>
 *   <li>Bulkheads are resized in place.
 *   <li>The health stays. If the properties of the circuit breaker differ, it starts closed again, unless an
 *       operator has forced its state.
 *   <li>A pool is replaced if the address, the protocol, the connection's properties or the content of its
 *       SSL bundle differ.
 *   <li>Meters show the new parts, so that their time series continue.
 * </ul>
 *
 * <p>A change of the addresses of a backend, according to DNS or a discovery, is applied in the same way,
 * between two changes of the configuration.
 *
 * <p>Thread-safe: one change at a time, under this object's monitor.
 */
public final class LiveBackends implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(LiveBackends.class);

    private final BackendFactory factory;
    private final AddressSources sources;
    private final Resilience4jRegistries registries;
    private final Consumer<LeavingPool> leaving;
    private final Consumer<List<InFlightShare.Claim>> places;
    private final Map<String, ManagedBackend> backends = new HashMap<>();
    /** The sources of the addresses of planned backends, by name, until the plan takes them. */
    private final Map<String, PreparedSource> prepared = new HashMap<>();
    /** The addresses that could not be applied, by backend. */
    private final Map<String, List<InstanceAddress>> unusable = new HashMap<>();
    /** The gateways that share the limits of scope {@code cluster}. */
    private Membership membership;

    private boolean isClosed;
    /**
     * A plan was made from the present instances. Until its end they do not change: the plan must not put an
     * instance back in force whose pool is being closed.
     */
    private boolean isPlanPending;

    private record PreparedSource(BackendProperties properties, AddressSource source) {}

    /**
     * No backends yet.
     *
     * @param sources creates the sources of their addresses
     * @param leaving receives the pools to close after the last exchange that uses them
     * @param places divides the gateway's places for exchanges in flight
     * @param membership the gateways that share the limits of scope {@code cluster}, until
     *     {@link #divideAmong}
     */
    public LiveBackends(
            BackendFactory factory,
            AddressSources sources,
            Resilience4jRegistries registries,
            Consumer<LeavingPool> leaving,
            Consumer<List<InFlightShare.Claim>> places,
            Membership membership) {
        this.factory = factory;
        this.sources = sources;
        this.leaving = leaving;
        this.places = places;
        this.registries = registries;
        this.membership = membership;
    }

    /**
     * Looks up the addresses that no backend in force has, and waits for the first answers, a bounded time
     * for all together. The {@link #plan} that follows takes these sources, and waits for nothing. The
     * backends in force do not change. One preparation at a time.
     *
     * @return discards the sources that no plan has taken
     * @throws RuntimeException if a source cannot be created; then none remains
     */
    ConfigurationTarget.Preparation prepare(Map<String, BackendProperties> properties) {
        List<AddressSource> created;
        try {
            created = startLookups(properties);
        } catch (RuntimeException e) {
            discardPrepared();
            throw e;
        }
        // Outside the monitor: other sources report changes meanwhile, and operators change limits.
        sources.awaitFirst(created);
        return this::discardPrepared;
    }

    private synchronized List<AddressSource> startLookups(Map<String, BackendProperties> properties) {
        properties.forEach((name, next) -> {
            if (sourceInForce(name, next) == null) {
                prepared.put(name, new PreparedSource(next, sources.create(name, next)));
            }
        });
        return prepared.values().stream().map(PreparedSource::source).toList();
    }

    private synchronized void discardPrepared() {
        prepared.values().forEach(left -> left.source().close());
        prepared.clear();
    }

    /**
     * Plans the backends of the next configuration. The backends in force do not change. A new backend whose
     * addresses were not {@linkplain #prepare prepared} has none until its first look-up is answered.
     *
     * @throws RuntimeException if a backend cannot be created; then nothing remains of the plan
     */
    synchronized BackendPlan plan(Map<String, BackendProperties> properties) {
        BackendPlan plan = new BackendPlan();
        try {
            Map<String, AddressSource> planned = new HashMap<>();
            properties.forEach((name, next) -> planned.put(name, source(name, next, plan)));
            isPlanPending = true;
            plan.onRollback(this::endPlan);
            properties.forEach(
                    (name, next) -> plan.put(name, plan(name, next, Objects.requireNonNull(planned.get(name)), plan)));
        } catch (RuntimeException e) {
            plan.rollBack();
            throw e;
        }
        return plan;
    }

    /** The source of a backend's addresses: the present one, if it finds the same. */
    private AddressSource source(String name, BackendProperties next, BackendPlan plan) {
        AddressSource present = sourceInForce(name, next);
        if (present != null) {
            return present;
        }
        PreparedSource ready = prepared.get(name);
        AddressSource taken;
        if (ready != null && AddressSources.isSame(ready.properties(), next)) {
            prepared.remove(name);
            taken = ready.source();
        } else {
            taken = sources.create(name, next);
        }
        plan.onRollback(taken::close);
        return taken;
    }

    private @Nullable AddressSource sourceInForce(String name, BackendProperties next) {
        ManagedBackend before = backends.get(name);
        return before != null && AddressSources.isSame(before.properties(), next) ? before.source() : null;
    }

    private ManagedBackend plan(String name, BackendProperties next, AddressSource source, BackendPlan plan) {
        ManagedBackend before = backends.get(name);
        if (before == null) {
            return factory.create(name, next, source, share(next.bulkhead()).permits(), plan);
        }
        if (before.properties().equals(next) && factory.isCurrent(before)) {
            return before;
        }
        return factory.createSuccessor(before, next, source, plan);
    }

    /**
     * Puts planned backends in force. The failure of a step is logged and does not stop the other steps.
     *
     * @param retired receives the parts to close after the last request that uses them
     */
    synchronized void commit(BackendPlan plan, Consumer<RetiredResource> retired) {
        Map<String, ManagedBackend> planned = plan.managedBackends();
        List.copyOf(backends.keySet()).forEach(name -> {
            if (!planned.containsKey(name)) {
                retired.accept(remove(name));
            }
        });
        planned.forEach((name, next) -> {
            ManagedBackend before = backends.put(name, next);
            if (!next.equals(before)) {
                LoggedStep.run("changing backend " + name, () -> activate(before, next));
            }
        });
        LoggedStep.run("dividing the exchanges in flight", () -> places.accept(claims()));
        LoggedStep.run("following the addresses of the backends", this::endPlan);
    }

    private List<InFlightShare.Claim> claims() {
        return backends.values().stream()
                .map(managed -> new InFlightShare.Claim(
                        managed.backend().compartment().inFlightShare(),
                        managed.properties().guaranteedShare()))
                .toList();
    }

    /** Changes the shared parts in place. */
    private void activate(@Nullable ManagedBackend before, ManagedBackend next) {
        Backend backend = next.backend();
        // Connections before permits: an admitted call must find a connection.
        int connections = PoolFactory.maxConcurrentExchanges(next.properties());
        next.instances().all().forEach(instance -> instance.pool().makeRoom(connections));
        if (before == null) {
            next.instances().takeOver();
        } else {
            replaceInstances(before, next);
        }
        if (before == null || before.source() != next.source()) {
            String name = backend.name();
            next.source().onChange(() -> follow(name));
        }
        next.source().lookUpEvery(next.properties().resolveInterval());
        CapacitySignalProperties signal = next.properties().capacitySignal();
        next.instances().first().capacity().signal().configure(signal);
        if (signal != null && signal.agent() != null) {
            next.meters().showAgents();
        }
        resizeBulkhead(next);
        backend.streams().resize(next.properties().maxStreams(), 0);
        next.meters().showAddresses(next.source());
        if (before != null) {
            if (before.source() != next.source()) {
                before.source().close();
            }
            if (!next.healthSettings().equals(before.healthSettings())) {
                backend.health().configure(next.healthSettings());
                if (!next.instances().isSingle()) {
                    next.instances().all().forEach(instance -> instance.health().configure(next.healthSettings()));
                }
            }
            next.meters().replaceParts(backend);
        }
        next.start(before);
    }

    /** Puts the instances in force; those that stay keep what is known about their health. */
    private void replaceInstances(ManagedBackend before, ManagedBackend next) {
        Instances old = before.instances();
        Instances present = next.instances();
        if (present == old) {
            return;
        }
        Health health = next.backend().health();
        if (!present.isSingle()) {
            present.all().stream()
                    .filter(instance -> health.isForced() || (old.isSingle() && staysIn(old, instance)))
                    .forEach(instance -> instance.health().role().takeStateOf(health));
        }
        next.backend().compartment().instancesInForce().replace(present);
        if (present.isSingle() && !old.isSingle()) {
            old.all().stream()
                    // An operator has drained one instance, not the backend.
                    .filter(instance ->
                            staysIn(present, instance) && !instance.health().isForced())
                    .forEach(instance -> health.role().takeStateOf(instance.health()));
        }
        Set<Pool> kept = present.all().stream().map(Instance::pool).collect(Collectors.toSet());
        old.all().stream()
                .filter(instance -> !kept.contains(instance.pool()))
                .forEach(instance -> leaving.accept(new LeavingPool(instance.pool(), !staysIn(present, instance))));
    }

    private static boolean staysIn(Instances instances, Instance instance) {
        return instances.all().stream().anyMatch(other -> other.isAt(instance.address()));
    }

    /** A plan that was made from the present instances is discarded. */
    private synchronized void endPlan() {
        isPlanPending = false;
        List.copyOf(backends.keySet()).forEach(this::follow);
        factory.compareWithFiles(backends.values());
    }

    /**
     * Applies the present addresses of a backend, if they have changed. If they cannot be used now, because a
     * certificate is not readable for example, another try follows each look-up.
     */
    private synchronized void follow(String name) {
        ManagedBackend before = backends.get(name);
        // The end of the plan follows all backends.
        if (isPlanPending || before == null) {
            return;
        }
        List<InstanceAddress> present = before.source().addresses();
        if (present.equals(before.addresses())) {
            unusable.remove(name);
            return;
        }
        BackendPlan plan = new BackendPlan();
        ManagedBackend next;
        try {
            next = factory.withPresentAddresses(before, plan);
        } catch (RuntimeException e) {
            plan.rollBack();
            if (!present.equals(unusable.put(name, present))) {
                log.error("Backend {}: its changed addresses cannot be used; keeping the old ones", name, e);
            }
            before.source().repeatChange();
            return;
        }
        unusable.remove(name);
        backends.put(name, next);
        LoggedStep.run("changing the addresses of backend " + name, () -> activate(before, next));
        factory.compareWithFiles(backends.values());
    }

    /** Looks up the addresses of all backends now, in addition to the regular look-ups. */
    public synchronized void refreshAddresses() {
        backends.values().forEach(managed -> managed.source().refresh());
    }

    /**
     * Ends the look-ups of addresses, the probers and the health checks; everything else stays in force. So
     * nothing opens a connection while the event loops end: none of them would close it. Has no effect the
     * second time.
     */
    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        backends.values().forEach(ManagedBackend::close);
        sources.close();
    }

    /** Divides the limits of scope {@code cluster} among the gateways again. */
    public synchronized void divideAmong(Membership gateways) {
        membership = gateways;
        backends.values().stream()
                .filter(managed -> managed.properties().bulkhead().scope() == BulkheadScope.CLUSTER)
                .forEach(this::resizeBulkhead);
    }

    /** Shows that an operator has set the limits of these backends, and of no others. */
    synchronized void showOperatorsLimits(Set<String> names) {
        backends.forEach((name, managed) -> managed.backend().limit().showOperators(names.contains(name)));
    }

    private void resizeBulkhead(ManagedBackend managed) {
        BulkheadProperties properties = managed.properties().bulkhead();
        Share share = share(properties);
        managed.backend().bulkhead().enforce(properties.enforce());
        managed.backend().limit().configure(BackendFactory.limitSettings(managed.properties(), share.permits()));
        managed.meters().setFloored(share.isFloored());
    }

    /** This gateway's share of a fixed limit. */
    private Share share(BulkheadProperties properties) {
        return Share.of(
                properties.maxConcurrentCalls().orElse(1),
                properties.scope() == BulkheadScope.CLUSTER ? membership : Membership.ALONE);
    }

    /** Removes a backend. Requests that use it continue; its parts are closed after the last of them. */
    private RetiredResource remove(String name) {
        ManagedBackend removed = backends.remove(name);
        if (removed == null) {
            throw new IllegalStateException("backend: " + name + " (expected: a backend in force)");
        }
        unusable.remove(name);
        removed.stop();
        removed.source().close();
        Backend backend = removed.backend();
        return new RetiredResource(backend.instances().first().pool(), () -> {
            removed.meters().close();
            // The registries may already contain a new backend of the same name.
            registries
                    .breakers()
                    .find(name)
                    .filter(registered -> registered == backend.health().resilience4j())
                    .ifPresent(registered -> registries.breakers().remove(name));
            registries
                    .bulkheads()
                    .find(name)
                    .filter(registered -> registered == removed.registeredBulkhead())
                    .ifPresent(registered -> registries.bulkheads().remove(name));
            backend.instances()
                    .all()
                    .forEach(instance -> instance.pool().close().subscribe());
        });
    }
}
