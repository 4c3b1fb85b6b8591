package io.weir.engine;

import io.weir.health.Health;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.limit.LimitInForce;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Tenants;
import io.weir.overload.InFlightShare;
import io.weir.retry.RetryBudget;
import org.jspecify.annotations.Nullable;

/**
 * One backend: its settings and its live compartment. The record is immutable; the parts of the compartment
 * are thread-safe and change while exchanges use them. A reload creates a new record and keeps every part
 * whose settings stay the same, together with its state.
 *
 * @param settings the configured part
 * @param bulkhead the limit on concurrent calls, with its queue
 * @param limit the source of the bulkhead's numbers, fed with samples of its calls
 * @param streams the limit on concurrent streams, without a queue
 * @param dryRunBulkhead the bulkhead of the dry run, which counts refusals while {@code bulkhead} is not
 *     enforced; null: the bulkhead is enforced
 * @param instancesInForce the addresses, each with its connections and its health; they change in place
 * @param retryBudget the retries that the backend can bear
 * @param serviceTime the estimate of the time that a call takes
 * @param tenants tells the tenants of the backend's calls apart; null: all calls are of one tenant
 * @param inFlightShare the exchanges of the backend's routes among all in the gateway
 * @param observer receives measurements; never an input of a decision
 */
public record Backend(
        BackendSettings settings,
        QueueingBulkhead bulkhead,
        LimitInForce limit,
        QueueingBulkhead streams,
        @Nullable QueueingBulkhead dryRunBulkhead,
        InstancesInForce instancesInForce,
        RetryBudget retryBudget,
        ServiceTimeEstimate serviceTime,
        @Nullable Tenants tenants,
        InFlightShare inFlightShare,
        BackendObserver observer) {

    /** A backend whose instances do not change, or only with the record, and without a guaranteed share. */
    public Backend(
            BackendSettings settings,
            QueueingBulkhead bulkhead,
            LimitInForce limit,
            QueueingBulkhead streams,
            @Nullable QueueingBulkhead dryRunBulkhead,
            Instances instances,
            RetryBudget retryBudget,
            ServiceTimeEstimate serviceTime,
            @Nullable Tenants tenants,
            BackendObserver observer) {
        this(
                settings,
                bulkhead,
                limit,
                streams,
                dryRunBulkhead,
                new InstancesInForce(instances),
                retryBudget,
                serviceTime,
                tenants,
                new InFlightShare(),
                observer);
    }

    /** The present instances. A decision reads them once. */
    public Instances instances() {
        return instancesInForce.get();
    }

    /** The state of the circuit breaker. */
    public Health health() {
        return instances().health();
    }

    /** The backend's name. */
    public String name() {
        return settings.name();
    }
}
