package io.weir.engine;

import io.weir.limit.Priority;
import io.weir.limit.Tenants;
import org.jspecify.annotations.Nullable;

/**
 * The rank of a call among those that wait for a permit: its class, and the tenant with which it shares its
 * turn.
 */
// Concurrency: written on the exchange's event loop, before the call waits; any thread reads it from then on.
final class QueueRank {

    private final ExchangeRecord record;
    private final Backend backend;
    private final Priority priority;
    /** Null: none, or the call has not had to wait. */
    private @Nullable String tenant;

    /** The rank of a call that has not waited. */
    QueueRank(ExchangeRecord record, Backend backend, Priority priority) {
        this.record = record;
        this.backend = backend;
        this.priority = priority;
    }

    /** The call's class; one lower for a retry, a fallback, or a call of a slow route. */
    Priority priority() {
        return priority;
    }

    /** The call's tenant; null: none, or it is not read yet. */
    @Nullable
    String tenant() {
        return tenant;
    }

    /** Reads the call's tenant; before the call waits. */
    void readTenant() {
        tenant = CallerHash.tenant(record);
    }

    /** Counts the end of a wait for the call's tenant. */
    void countTenant(boolean admitted) {
        Tenants tenants = backend.tenants();
        String name = tenant;
        if (tenants != null && name != null) {
            tenants.count(name, admitted);
        }
    }
}
