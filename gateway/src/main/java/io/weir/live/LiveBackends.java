package io.weir.live;

import io.weir.cluster.Membership;
import io.weir.cluster.Share;
import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.limit.BulkheadProperties;
import io.weir.limit.BulkheadScope;
import io.weir.live.RetiredGenerations.RetiredResource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

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
 * <p>Thread-safe: one change at a time, under this object's monitor.
 */
public final class LiveBackends {

    private final BackendFactory factory;
    private final Resilience4jRegistries registries;
    private final Map<String, ManagedBackend> backends = new HashMap<>();
    /** The gateways that share the limits of scope {@code cluster}. */
    private Membership membership;

    /**
     * No backends yet.
     *
     * @param membership the gateways that share the limits of scope {@code cluster}, until
     *     {@link #divideAmong}
     */
    public LiveBackends(BackendFactory factory, Resilience4jRegistries registries, Membership membership) {
        this.factory = factory;
        this.registries = registries;
        this.membership = membership;
    }

    /**
     * Plans the backends of the next configuration. The backends in force do not change.
     *
     * @throws RuntimeException if a backend cannot be created; then nothing remains of the plan
     */
    synchronized BackendPlan plan(Map<String, BackendProperties> properties) {
        BackendPlan plan = new BackendPlan();
        try {
            properties.forEach((name, next) -> plan.put(name, plan(name, next, plan)));
        } catch (RuntimeException e) {
            plan.rollBack();
            throw e;
        }
        return plan;
    }

    private ManagedBackend plan(String name, BackendProperties next, BackendPlan plan) {
        ManagedBackend before = backends.get(name);
        if (before == null) {
            return factory.create(name, next, share(next.bulkhead()).permits(), plan);
        }
        if (before.properties().equals(next) && factory.isCurrent(before)) {
            return before;
        }
        return factory.createSuccessor(before, next, plan);
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
                ConfigurationApplier.logFailure("changing backend " + name, () -> activate(before, next, retired));
            }
        });
    }

    /** Changes the shared parts in place. */
    private void activate(@Nullable ManagedBackend before, ManagedBackend next, Consumer<RetiredResource> retired) {
        Backend backend = next.backend();
        // Connections before permits: an admitted call must find a connection.
        int connections = PoolFactory.maxConcurrentExchanges(next.properties());
        backend.instances().all().forEach(instance -> instance.pool().makeRoom(connections));
        if (before == null || backend.instances() != before.backend().instances()) {
            backend.instances().takeOver();
        }
        resizeBulkhead(next);
        backend.streams().resize(next.properties().maxStreams(), 0);
        if (before != null) {
            Backend old = before.backend();
            if (!next.healthSettings().equals(before.healthSettings())) {
                backend.health().configure(next.healthSettings());
                if (!backend.instances().isSingle()) {
                    backend.instances()
                            .all()
                            .forEach(instance -> instance.health().configure(next.healthSettings()));
                }
            }
            next.meters()
                    .replaceParts(
                            next.properties()
                                    .bulkhead()
                                    .maxWait(next.properties().deadline())
                                    .toNanos(),
                            backend.instances(),
                            backend.retryBudget());
            List<Pool> kept =
                    backend.instances().all().stream().map(Instance::pool).toList();
            old.instances().all().stream()
                    .map(Instance::pool)
                    .filter(pool -> !kept.contains(pool))
                    .forEach(pool -> retired.accept(
                            new RetiredResource(pool, () -> pool.close().subscribe())));
        }
        next.start(before);
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
        backends.forEach((name, managed) -> managed.limit().showOperators(names.contains(name)));
    }

    private void resizeBulkhead(ManagedBackend managed) {
        BulkheadProperties properties = managed.properties().bulkhead();
        Share share = share(properties);
        managed.limit().countIn(managed.backend().dryRunBulkhead());
        managed.limit()
                .configure(properties.settings(
                        share.permits(), managed.properties().deadline().toNanos()));
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
        removed.stop();
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
