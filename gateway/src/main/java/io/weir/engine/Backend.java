package io.weir.engine;

import io.weir.health.Health;
import io.weir.instance.Instances;
import io.weir.limit.LimitInForce;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Tenants;
import io.weir.outcome.Reason;
import io.weir.retry.RetryBudget;
import org.jspecify.annotations.Nullable;

/**
 * One backend: its settings and its live compartment. Immutable; a reload creates a new record with the same
 * compartment, and keeps every other part whose settings stay the same, together with its state.
 *
 * @param settings the configured part
 * @param retryBudget the retries that the backend can bear
 * @param tenants tells the tenants of the backend's calls apart; null: all calls are of one tenant
 * @param observer receives measurements; never an input of a decision
 */
public record Backend(
        BackendSettings settings,
        Compartment compartment,
        RetryBudget retryBudget,
        @Nullable Tenants tenants,
        BackendObserver observer) {

    /** The limit on concurrent calls. */
    public QueueingBulkhead bulkhead() {
        return compartment.bulkhead();
    }

    /** The source of the bulkhead's numbers. */
    public LimitInForce limit() {
        return compartment.limit();
    }

    /** The limit on concurrent streams. */
    public QueueingBulkhead streams() {
        return compartment.streams();
    }

    /** The estimate of the time that a call takes. */
    public ServiceTimeEstimate serviceTime() {
        return compartment.serviceTime();
    }

    /** The present instances. A decision reads them once. */
    public Instances instances() {
        return compartment.instances();
    }

    /** The state of the circuit breaker. */
    public Health health() {
        return compartment.health();
    }

    /** The backend's name. */
    public String name() {
        return settings.name();
    }

    /** Whether a protection refuses a call for this reason. A refusal that is not enforced is counted. */
    boolean enforces(boolean isEnforced, Reason reason) {
        if (!isEnforced) {
            observer.wouldRefuse(reason);
        }
        return isEnforced;
    }

    /** As {@link #enforces}, of the limits on calls and streams, for a call for which there is no permit. */
    boolean enforcesLimits() {
        return enforces(bulkhead().isEnforced(), Reason.BULKHEAD_FULL);
    }
}
