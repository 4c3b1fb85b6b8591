package io.weir.engine;

import io.weir.limit.GuaranteedShare;
import io.weir.limit.Priority;
import io.weir.limit.Tenants;
import org.jspecify.annotations.Nullable;

/**
 * The rank of a call among those that wait for a permit: whether it is in the guaranteed share of its route,
 * its class, and the tenant with which it shares its turn.
 */
// Concurrency: written on the exchange's event loop, before the call waits; any thread reads it from then on.
final class QueueRank {

    private final ExchangeRecord record;
    private final Backend backend;
    private final Priority priority;
    /** Null: none, or the call has not had to wait. */
    private @Nullable String tenant;

    private boolean isGuaranteed;
    private boolean countsInShare;

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

    /** Whether the call goes before all others. */
    boolean isGuaranteed() {
        return isGuaranteed;
    }

    /** Determines the rank; before the call waits. */
    void determine() {
        tenant = CallerHash.tenant(record);
        GuaranteedShare share = share();
        if (share != null && !countsInShare) {
            isGuaranteed = share.tryEnter(backend.bulkhead().maxConcurrentCalls());
            countsInShare = isGuaranteed;
        }
    }

    /** The call has its permit. */
    void permitHeld() {
        GuaranteedShare share = share();
        if (share != null && !countsInShare) {
            share.enter();
            countsInShare = true;
        }
    }

    /** The call holds no permit any more, or never gets one. */
    void permitReturned() {
        GuaranteedShare share = record.route().guaranteedShare();
        if (share != null && countsInShare) {
            countsInShare = false;
            share.leave();
        }
    }

    /** The share of the route; null: none, or the call goes to the backend of its fallback. */
    private @Nullable GuaranteedShare share() {
        return record.fellBack() ? null : record.route().guaranteedShare();
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
