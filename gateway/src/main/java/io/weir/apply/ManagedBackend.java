package io.weir.apply;

import io.weir.config.BackendProperties;
import io.weir.engine.Backend;
import io.weir.health.HealthSettings;
import io.weir.instance.AddressSource;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.limit.RegisteredBulkhead;
import io.weir.metrics.BackendMeters;
import io.weir.probe.HealthChecker;
import io.weir.probe.HealthProber;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A backend with the properties that it was created from and the parts that the engine does not see.
 *
 * @param properties the backend's properties
 * @param healthSettings the settings of its health, derived from the properties
 * @param backend the backend as the engine uses it
 * @param source the source of the addresses of its instances
 * @param addresses the addresses that the instances were created from
 * @param instances the instances; in force once the backend is committed
 * @param registeredBulkhead its bulkhead's entry in Resilience4j's registry
 * @param meters its meters
 * @param sslBundle the SSL bundle that the backend's pool was created with; null: none
 * @param probers probe the health path or health service of its instances; empty: callers' requests are the
 *     probes
 * @param checker checks the health of its instances; null: no health check is configured
 */
record ManagedBackend(
        BackendProperties properties,
        HealthSettings healthSettings,
        Backend backend,
        AddressSource source,
        List<InstanceAddress> addresses,
        Instances instances,
        RegisteredBulkhead registeredBulkhead,
        BackendMeters meters,
        @Nullable Object sslBundle,
        List<HealthProber> probers,
        @Nullable HealthChecker checker) {

    /** The same backend with other instances. */
    ManagedBackend withInstances(
            List<InstanceAddress> others,
            Instances next,
            List<HealthProber> nextProbers,
            @Nullable HealthChecker nextChecker) {
        return new ManagedBackend(
                properties,
                healthSettings,
                backend,
                source,
                others,
                next,
                registeredBulkhead,
                meters,
                sslBundle,
                nextProbers,
                nextChecker);
    }

    /**
     * Starts the probers and the health checks.
     *
     * @param before the predecessor, whose probers are closed and whose checks end, unless they go on; null:
     *     none
     */
    void start(@Nullable ManagedBackend before) {
        if (before != null) {
            before.closeProbers();
        }
        probers.forEach(HealthProber::start);
        HealthChecker replaced = before == null ? null : before.checker;
        if (replaced == checker) {
            return;
        }
        if (replaced != null) {
            replaced.replaceBy(checker);
        } else if (checker != null) {
            checker.start();
        }
    }

    /** Ends the look-ups, the probers and the health checks; the instances keep their state. */
    void close() {
        source.close();
        closeProbers();
        if (checker != null) {
            checker.close();
        }
    }

    /** Stops the probers and the health checks. */
    void stop() {
        closeProbers();
        if (checker != null) {
            checker.replaceBy(null);
        }
    }

    private void closeProbers() {
        probers.forEach(HealthProber::close);
    }
}
