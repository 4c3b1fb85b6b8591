package io.weir.engine;

import io.weir.health.Health;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.limit.LimitInForce;
import io.weir.limit.QueueingBulkhead;
import io.weir.overload.InFlightShare;

/**
 * The parts of a backend that bound its calls, and what they know. They are built once, and last as long as
 * the backend: a reload changes them in place, so that calls in flight still count. Thread-safe.
 *
 * @param bulkhead the limit on concurrent calls, with its queue and its dry run
 * @param limit the source of the bulkhead's numbers, fed with samples of its calls
 * @param streams the limit on concurrent streams, without a queue
 * @param instancesInForce the addresses, each with its connections and its health
 * @param serviceTime the estimate of the time that a call takes
 * @param inFlightShare the exchanges of the backend's routes among all in the gateway
 */
public record Compartment(
        QueueingBulkhead bulkhead,
        LimitInForce limit,
        QueueingBulkhead streams,
        InstancesInForce instancesInForce,
        ServiceTimeEstimate serviceTime,
        InFlightShare inFlightShare) {

    /** The present instances. A decision reads them once. */
    public Instances instances() {
        return instancesInForce.get();
    }

    /** The state of the circuit breaker. */
    public Health health() {
        return instances().health();
    }
}
