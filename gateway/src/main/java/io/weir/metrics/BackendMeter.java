package io.weir.metrics;

import static io.weir.metrics.MeterDefinition.counter;
import static io.weir.metrics.MeterDefinition.gauge;
import static io.weir.metrics.MeterDefinition.timer;

/** Meters of a backend, its limit, and its instances. */
public enum BackendMeter implements Meters {
    /** Requests refused to protect a backend or the gateway. */
    SHED(
            counter("weir.shed", "backend", "reason", "priority"),
            "Requests that the gateway refused with a 503 to protect the backend or itself, by reason and by"
                    + " priority: critical, normal or sheddable."),
    /** The effect that a limit in dry-run mode would have. */
    WOULD_REFUSE(
            counter("weir.would.refuse", "backend", "reason"),
            "Requests that a protection in dry-run mode would have refused, by reason."),
    /** The effect of an operator's chaos experiments. */
    FAULTS_INJECTED(
            counter("weir.faults.injected", "backend", "fault"),
            "Attempts that got a fault which an operator has injected, by fault: latency, abort, hang, reset or"
                    + " truncate."),
    /** The share of each priority, if the calls do not all fit. */
    PERMITS_GRANTED(
            counter("weir.permits.granted", "backend", "priority"),
            "Calls that got a permit, by priority: critical, normal or sheddable. Retries and fallbacks have the next"
                    + " lower priority."),
    /** The waiting calls of each priority. */
    QUEUE_WAITING(
            gauge("weir.queue.waiting", "backend", "priority"),
            "Calls that wait for a permit, by priority: critical, normal or sheddable."),
    /** The cost of a full bulkhead for the calls that it admits. */
    QUEUE_WAIT(
            timer("weir.queue.wait", "backend"),
            "Time that calls waited for their permit. Refused calls are not counted."),
    /** Shows whether calls are sent with enough time to be answered. */
    BUDGET_LEFT(timer("weir.budget.left", "backend"), "Time left of the deadline when a call got its permit."),
    /** Time of calls in the backend. */
    SERVICE_TIME(
            timer("weir.service.time", "backend"),
            "Time of calls in the backend, all attempts together, without streams, and without the time of waiting"
                    + " for their callers."),
    /** The load that repeated attempts add. */
    ATTEMPTS(
            counter("weir.attempts", "backend", "attempt"),
            "Attempts to send a call to the backend, by attempt: first, or repeated. The first ones are the calls that"
                    + " were not refused; all of them divided by these is the amplification."),
    /** Retries, and whether the budget allowed them. */
    RETRIES(
            counter("weir.retries", "backend", "verdict"),
            "Retries wanted, by the verdict of the retry budget: allowed or denied."),
    /** Second attempts beside first ones that were late. */
    HEDGES(
            counter("weir.hedges", "backend", "result"),
            "Calls without an answer at the time of hedge.after, by result: started (sent a second time), and won (the"
                    + " second attempt answered first, or alone); or why it was not sent: would-start (dry-run mode),"
                    + " no-instance, no-permit, queue, recovering or budget."),
    /** Calls in the backend. */
    PERMITS_USED(gauge("weir.permits.used", "backend"), "Permits of the bulkhead in use."),
    /** The limit of calls in the backend. */
    PERMITS_LIMIT(
            gauge("weir.permits.limit", "backend"),
            "Limit of concurrent calls in force: the lowest of weir_limit, of an operator's limit, and of the ceiling"
                    + " while the backend recovers."),
    /** The limit, apart from an operator's and from the ramp of a recovering backend. */
    LIMIT(
            gauge("weir.limit", "backend"),
            "Limit of concurrent calls that auto has found, that the backend states, or that the configuration fixes."
                    + " weir_permits_limit is the one in force."),
    /** The floor. */
    LIMIT_MIN(gauge("weir.limit.min", "backend"), "Smallest limit that auto may find; of a fixed limit, its number."),
    /** The ceiling. */
    LIMIT_MAX(gauge("weir.limit.max", "backend"), "Largest limit that auto may find; of a fixed limit, its number."),
    /** Why the limit moves. */
    LIMIT_CHANGES(
            counter("weir.limit.changes", "backend", "reason"),
            "Changes of the limit by auto, by reason: growth, growth-reverted, queueing, shedding, timeouts,"
                    + " recovery, or probe (lowered for a moment, to measure the latency)."),
    /** With the rate of answers, the basis of the limit. */
    LIMIT_BASE_LATENCY(
            gauge("weir.limit.base.latency", "backend").in("seconds"),
            "Latency of the backend while calls do not queue in it, as auto has measured it; 0 if not known."),
    /** With the base latency, the basis of the limit. */
    LIMIT_ANSWER_RATE(
            gauge("weir.limit.answer.rate", "backend"),
            "Answers of the backend per second while the limit was reached, as auto has measured it; 0 if not known."),
    /** Whether the limit is the bottleneck. */
    LIMIT_UTILISATION(
            gauge("weir.limit.utilisation", "backend").in("ratio"),
            "Share of the calls that ended while the limit was reached, in the last window of auto; 0 if not known."),
    /** What the backend says about itself. */
    CAPACITY_STATED(
            gauge("weir.capacity.stated", "backend"),
            "Limit of concurrent calls that the backend states (capacity-signal), within the bounds of auto; 0: it"
                    + " has stated none in the last ten seconds."),
    /** Shows a backend whose statements are no use. */
    CAPACITY_IGNORED(
            counter("weir.capacity.ignored", "backend", "reason"),
            "Statements of the backend's capacity that were ignored, by reason: not-a-number, zero (for longer than ten"
                    + " seconds), jump (a hundred times as much, or less), agent-word (a line of an agent with an unknown"
                    + " word), agent-silent (an agent gave no line), or disproved (most calls timed out or were shed,"
                    + " so that lower limits of auto count for five minutes)."),
    /** Shows that all gateways together may exceed a limit of scope cluster. */
    PERMITS_FLOORED(
            gauge("weir.permits.floored", "backend"),
            "1 if this gateway's share of a limit of scope cluster was rounded up to one permit."),
    /** Calls that wait for the backend. */
    QUEUE_LENGTH(gauge("weir.queue.length", "backend"), "Calls that wait for a permit."),
    /** The limit of calls that wait for the backend. */
    QUEUE_CAPACITY(gauge("weir.queue.capacity", "backend"), "Limit of calls that wait for a permit."),
    /** The limit of the wait. */
    QUEUE_WAIT_LIMIT(
            gauge("weir.queue.wait.limit", "backend").in("seconds"), "Longest time that a call may wait for a permit."),
    /** Streams and WebSockets. */
    STREAMS_USED(
            gauge("weir.streams.used", "backend"),
            "Open streams and WebSockets, and calls that their callers hold up."),
    /** The limit of streams and WebSockets. */
    STREAMS_LIMIT(gauge("weir.streams.limit", "backend"), "Limit of open streams and WebSockets."),
    /** The backend's part of the exchanges in the gateway. */
    BACKEND_IN_FLIGHT(
            gauge("weir.backend.inflight", "backend"),
            "Requests of the backend's routes in the gateway, queued or sent to a backend, streams included."),
    /** The places that only this backend uses. */
    BACKEND_IN_FLIGHT_GUARANTEED(
            gauge("weir.backend.inflight.guaranteed", "backend"),
            "Places for requests in the gateway that are guaranteed to the backend (guaranteed-share)."),
    /** What a backend sent against HTTP, for which only its connection was closed. */
    BACKEND_VIOLATIONS(
            counter("weir.backend.violations", "backend", "kind"),
            "Violations of HTTP by the backend, each of which ended a connection, but no call."),
    /** Calls outside the limit. */
    CALLS_MOVED(
            counter("weir.calls.moved", "backend", "reason"),
            "Calls with a place in the compartment of streams instead of a permit: held-up by their callers;"
                    + " left-behind, since the backend answered calls that it got much later; scout, sent while it"
                    + " answered none of those with permits, or while those of a slow route held the permits."),
    /** The breaker's state; exactly one of the series is 1. */
    BREAKER_STATE(
            gauge("weir.breaker.state", "backend", "state"),
            "1 for the present state of the circuit breaker, 0 for the others: closed, open, half-open, forced-open,"
                    + " forced-closed."),
    /** Whether an operator holds the breaker. */
    BREAKER_FORCED(
            gauge("weir.breaker.forced", "backend"), "1 while an operator forces the circuit breaker open or closed."),
    /** Whether an open breaker refuses calls; an alert leaves the others out. */
    BREAKER_ENFORCED(
            gauge("weir.breaker.enforced", "backend"),
            "1 if an open circuit breaker refuses calls, 0 if it only counts them (enforce: false)."),
    /** Probes of an open breaker. */
    BREAKER_PROBES(
            gauge("weir.breaker.probes", "backend"), "Probes in flight that test whether the backend has recovered."),
    /** Why no probe is sent. */
    PUSHBACK_INSTANCES(
            gauge("weir.pushback.instances", "backend"),
            "Instances that get no probes and no retries for now, since they have asked for it by Retry-After or"
                    + " grpc-retry-pushback-ms."),
    /** The first sign of a hang. */
    CALLS_OVERDUE(
            gauge("weir.calls.overdue", "backend"),
            "Calls in flight that have waited for their answer for stall-duration."),
    /** Connections to the backend. */
    POOL_CONNECTIONS(
            gauge("weir.pool.connections", "backend", "state"),
            "Connections to the backend, by state: acquired or idle."),
    /** Normally near 0, since a permit guarantees a connection; a lasting value is a defect. */
    POOL_PENDING(gauge("weir.pool.pending", "backend"), "Calls with a permit that wait for a connection."),
    /** The limit of connections to the backend. */
    POOL_LIMIT(gauge("weir.pool.limit", "backend"), "Limit of connections to the backend."),
    /** The state of each of several instances; of a series, exactly one state is 1. */
    INSTANCE_STATE(
            gauge("weir.instance.state", "backend", "instance", "state"),
            "Of a backend with several instances, 1 for the present state of the instance, 0 for the others: closed,"
                    + " open, half-open, drained, forced-open, forced-closed. The tag instance is its address, at"
                    + " most 256 for each backend; 'others' counts the rest."),
    /** The configured share of an instance. */
    INSTANCE_WEIGHT(
            gauge("weir.instance.weight", "backend", "instance"),
            "Weight of the instance: its share of the calls, relative to the other weights; 0: a backup."),
    /** The load of an instance. */
    INSTANCE_IN_FLIGHT(
            gauge("weir.instance.inflight", "backend", "instance"),
            "Calls in the instance that its breaker has let in since it last opened."),
    /** The results of an instance. */
    INSTANCE_CALLS(
            counter("weir.instance.calls", "backend", "instance", "outcome"),
            "Calls to the instance, by outcome: answered or failed. A failed one was answered with a failure or a"
                    + " sign of overload, or timed out, or lost its connection. Calls whose callers left are not"
                    + " counted."),
    /** The latency by which calls are distributed. */
    INSTANCE_LATENCY(
            gauge("weir.instance.latency", "backend", "instance").in("seconds"),
            "Usual latency of the instance, by which the calls are distributed: it rises at once and falls with"
                    + " faster answers; 0 if not known. Of 'others', the highest one."),
    /** Shows an instance that fails again and again. */
    INSTANCE_EJECTIONS(
            counter("weir.instance.ejections", "backend", "instance"),
            "Times that the instance got no more calls, since it failed and others did not."),
    /** Connections to an instance. */
    INSTANCE_CONNECTIONS(
            gauge("weir.instance.connections", "backend", "instance", "state"),
            "Connections to the instance, by state: acquired or idle."),
    /** Shows that the addresses of a backend are no longer looked up. */
    ADDRESSES_STALE(
            gauge("weir.addresses.stale", "backend").in("seconds"),
            "Time for which the look-ups of the backend's addresses, in DNS or the discovery, have failed in a row."
                    + " The last known addresses stay in use. 0 if the last look-up succeeded, or if the addresses"
                    + " are listed."),
    /** The balance of the retry budget. */
    RETRY_BUDGET(gauge("weir.retry.budget", "backend"), "Retries that the retry budget allows now."),
    /** λ. */
    LAW_ARRIVAL_RATE(
            gauge("weir.law.arrival.rate", "backend"), "Little's law: calls that the backend serves per second."),
    /** W, in the backend. */
    LAW_SERVICE_TIME(
            gauge("weir.law.service.time", "backend").in("seconds"),
            "Little's law: mean time of a call in the backend."),
    /** W, in the queue. */
    LAW_WAITING_TIME(
            gauge("weir.law.waiting.time", "backend").in("seconds"), "Little's law: mean time of a call in the queue."),
    /** L, in the backend. */
    LAW_ACTIVE_CALLS(
            gauge("weir.law.active.calls", "backend"),
            "Little's law: arrival rate times service time, to compare with the limit."),
    /** The dead-time ratio. */
    LAW_WAITING_RATIO(
            gauge("weir.law.waiting.ratio", "backend").in("ratio"),
            "Little's law: share of the response time that a call spends in the queue."),
    /** W in the backend, without congestion. */
    LAW_UNCONGESTED_TIME(
            gauge("weir.law.uncongested.time", "backend").in("seconds"),
            "Little's law: mean time of a call in the backend without congestion, with auto its base latency; 0 if"
                    + " not known."),
    /** The limit that the law suggests. */
    LAW_SUGGESTED_LIMIT(
            gauge("weir.law.suggested.limit", "backend"),
            "Little's law: with auto, its limit; else the limit that the present calls need; 0 if not known, or if"
                    + " the calls are too few to say.");

    @SuppressWarnings("ImmutableEnumChecker") // Its list of tags is immutable.
    private final MeterDefinition definition;

    BackendMeter(MeterDefinition definition, String description) {
        this.definition = definition.describedAs(description);
    }

    @Override
    public MeterDefinition definition() {
        return definition;
    }
}
