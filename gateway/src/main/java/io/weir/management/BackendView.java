package io.weir.management;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.weir.capacity.StatedCapacity;
import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.health.HealthChecks;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.Pool;
import io.weir.limit.Limit;
import io.weir.limit.LimitInForce;
import io.weir.limit.LittlesLaw;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Tenants;
import io.weir.metrics.BackendMeters;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The live state of a backend in the endpoint {@code weir}. Times are in milliseconds, rates in percent.
 *
 * @param uri scheme and authority of the backend; of several instances, one after the other
 * @param deadlineMs deadline of an exchange
 * @param calls the bulkhead
 * @param limit the limit of the bulkhead, and the reason for it
 * @param streams streams and WebSockets
 * @param inFlight the exchanges of the backend's routes
 * @param breaker the circuit breaker
 * @param pool the connections
 * @param tenants the tenants whose calls had to wait in the last ten to twenty seconds; null: the backend has
 *     no fairness.key
 * @param law Little's law; null: not measured
 * @param retryBudget retries that the retry budget allows now
 * @param hedges the calls that had no answer at the time of their hedge, since the start, by result; empty:
 *     none
 * @param dryRun the protections in dry-run mode; null: all are enforced
 * @param instances the instances; null: the backend has one address
 * @param check the health check of a backend with one address; null: none is configured, or the backend has
 *     several instances, each with its own
 * @param openRoutes the routes that are refused alone while others of the backend are answered; null: none
 * @param changes the changes of operators that are in force
 */
public record BackendView(
        String uri,
        double deadlineMs,
        Calls calls,
        LimitView limit,
        Streams streams,
        InFlight inFlight,
        BreakerView breaker,
        Connections pool,
        Tenants.@Nullable Figures tenants,
        @Nullable Law law,
        long retryBudget,
        Map<String, Long> hedges,
        @Nullable DryRun dryRun,
        @Nullable List<InstanceView> instances,
        @Nullable CheckView check,
        @Nullable List<OpenRoute> openRoutes,
        List<OperatorChangeView> changes) {

    private static final double NANOS_PER_MILLI = 1e6;

    /**
     * Calls in the backend and in its queue.
     *
     * @param waitingByPriority the waiting calls of each priority
     */
    public record Calls(
            int active,
            int limit,
            int waiting,
            Map<String, Integer> waitingByPriority,
            int queueCapacity,
            double maxWaitMs) {}

    /**
     * The limit on concurrent calls, and the reason for it.
     *
     * @param inForce the limit in force
     * @param binds the one that is in force: {@code auto}, {@code signal}, {@code fixed}, {@code operator} or
     *     {@code ramp}
     * @param own the limit that auto has found, or that the configuration fixes
     * @param stated the limit that the backend states, within the bounds of auto; null: it has stated none in
     *     the last ten seconds. It is in force, unless most calls under it have timed out or were shed
     * @param min smallest limit that auto may find; of a fixed limit, its number
     * @param max largest limit that auto may find; of a fixed limit, its number
     * @param baseLatencyMs latency of the backend while calls do not queue in it; null: not known
     * @param answersPerSecond answers per second while the limit was reached; null: not known
     * @param utilisation share of the last window's calls that ended while the limit was reached, 0 to 1;
     *     null: the limit is fixed
     * @param reason the reason of the last change, as in {@code weir_limit_changes_total}, or {@code initial}
     *     or {@code fixed}
     * @param changedAt the time of the last change, as ISO 8601 has it; null: the limit is fixed
     */
    public record LimitView(
            int inForce,
            String binds,
            int own,
            @Nullable Integer stated,
            int min,
            int max,
            @Nullable Double baseLatencyMs,
            @Nullable Double answersPerSecond,
            @Nullable Double utilisation,
            String reason,
            @Nullable String changedAt) {

        static LimitView of(LimitInForce limit) {
            Limit.Beliefs beliefs = limit.beliefs();
            boolean fixed = beliefs.isFixed();
            return new LimitView(
                    limit.inForce(),
                    limit.binding().word(),
                    beliefs.limit(),
                    limit.stated() == 0 ? null : limit.stated(),
                    limit.min(),
                    limit.max(),
                    known(beliefs.baseLatencyNanos() / NANOS_PER_MILLI),
                    known(beliefs.answersPerSecond()),
                    fixed ? null : beliefs.utilisation(),
                    beliefs.lastChange().word(),
                    fixed
                            ? null
                            : Instant.ofEpochMilli(beliefs.changedAtMillis()).toString());
        }

        private static @Nullable Double known(double value) {
            return value == 0 ? null : value;
        }
    }

    /** Streams and WebSockets. */
    public record Streams(int active, int limit) {}

    /**
     * Exchanges in the gateway: calls, queued or sent to the backend, and streams.
     *
     * @param guaranteed those for which no other backend can use the places
     */
    public record InFlight(int active, int guaranteed) {}

    /**
     * The state of the circuit breaker.
     *
     * @param enforced whether an open breaker refuses calls
     * @param since the time of the last transition, as ISO 8601 has it
     * @param why the evidence that led to the state
     * @param failureRate null: too few calls in the window
     * @param slowCallRate null: too few calls in the window
     * @param overdue calls in flight that have waited for the stall time
     * @param nextProbeMs time to the next probe; null: the breaker is not open, or a health check
     *     keeps it open
     * @param pushbackMs time for which the backend or instance has asked to be left alone; null: it has not
     */
    public record BreakerView(
            String state,
            boolean forced,
            boolean enforced,
            String since,
            String why,
            @Nullable Float failureRate,
            @Nullable Float slowCallRate,
            int overdue,
            int probes,
            @Nullable Double nextProbeMs,
            @Nullable Double pushbackMs) {

        static BreakerView of(Health health) {
            CircuitBreaker.Metrics metrics = health.resilience4j().getMetrics();
            CircuitBreaker.State state = health.state();
            boolean open = state == CircuitBreaker.State.OPEN;
            long pushbackNanos = health.pushback().leftNanos(health.now());
            return new BreakerView(
                    health.word(),
                    health.isForced(),
                    health.settings().breaker().enforce(),
                    Instant.now()
                            .minusNanos(health.nanosInState())
                            .truncatedTo(ChronoUnit.MILLIS)
                            .toString(),
                    health.why(),
                    rate(metrics.getFailureRate()),
                    rate(metrics.getSlowCallRate()),
                    health.overdue(),
                    health.probes().underWay(),
                    open && !health.isHeldByCheck() ? health.probes().nanosToNext() / NANOS_PER_MILLI : null,
                    pushbackNanos == 0 ? null : pushbackNanos / NANOS_PER_MILLI);
        }

        private static @Nullable Float rate(float percent) {
            return percent < 0 ? null : percent;
        }
    }

    /**
     * Protections in dry-run mode: they count, and refuse nothing.
     *
     * @param bulkhead whether the bulkhead is in dry-run mode
     * @param circuitBreaker whether the circuit breaker is in dry-run mode
     * @param deadline whether the deadline is in dry-run mode
     * @param waiting calls that would wait for a permit now
     * @param wouldRefuse exchanges that would have been refused since the start, by reason
     */
    public record DryRun(
            boolean bulkhead, boolean circuitBreaker, boolean deadline, int waiting, Map<String, Long> wouldRefuse) {

        static @Nullable DryRun of(Backend backend) {
            QueueingBulkhead trial = backend.bulkhead().dryRun();
            boolean isBreakerEnforced = backend.health().settings().breaker().enforce();
            boolean isDeadlineEnforced = backend.settings().enforcesDeadline();
            if (trial == null && isBreakerEnforced && isDeadlineEnforced) {
                return null;
            }
            return new DryRun(
                    trial != null,
                    !isBreakerEnforced,
                    !isDeadlineEnforced,
                    trial == null ? 0 : trial.queued(),
                    backend.observer() instanceof BackendMeters meters ? meters.wouldHaveRefused() : Map.of());
        }
    }

    /** The connections to the backend, or to one of its instances. */
    public record Connections(int acquired, int idle, int pending, int limit) {

        static Connections of(Pool pool) {
            return new Connections(pool.acquired(), pool.idle(), pool.pending(), pool.maxConnections());
        }

        static Connections of(Instances instances) {
            return instances.all().stream()
                    .map(instance -> of(instance.pool()))
                    .reduce(new Connections(0, 0, 0, 0), Connections::plus);
        }

        private Connections plus(Connections other) {
            return new Connections(
                    acquired + other.acquired, idle + other.idle, pending + other.pending, limit + other.limit);
        }
    }

    /**
     * One of several instances.
     *
     * @param uri scheme and authority
     * @param weight share of the calls, relative to the other weights
     * @param backup whether it gets calls only while no other instance can take them
     * @param active calls under way that the breaker has let in since it last opened
     * @param latencyMs the usual latency, as of the last call; null: not known
     * @param capacity the number of calls that it takes at once, as it has stated in the last ten seconds;
     *     null: it has not
     * @param answered calls that were answered well, since the start
     * @param failed calls that failed, or were answered with a sign of overload, since the start
     * @param ejections times that the instance was taken out because it failed and others did not, since the
     *     start
     * @param breaker the instance's own circuit breaker; its state is {@code drained} while an operator has
     *     taken the instance out
     * @param check the health check; null: none is configured, and no agent keeps the instance out
     * @param pool the connections to the instance
     */
    public record InstanceView(
            String uri,
            int weight,
            boolean backup,
            int active,
            @Nullable Double latencyMs,
            @Nullable Integer capacity,
            long answered,
            long failed,
            long ejections,
            BreakerView breaker,
            @Nullable CheckView check,
            Connections pool) {

        static @Nullable List<InstanceView> of(Instances instances) {
            if (instances.isSingle()) {
                return null;
            }
            return instances.all().stream().map(InstanceView::of).toList();
        }

        private static InstanceView of(Instance instance) {
            long latencyNanos = instance.lastLatencyNanos();
            int capacity = instance.capacity().calls(instance.health().now());
            return new InstanceView(
                    instance.shownAddress(),
                    instance.weight(),
                    instance.isBackup(),
                    instance.inFlight(),
                    latencyNanos == 0 ? null : latencyNanos / NANOS_PER_MILLI,
                    capacity == StatedCapacity.NONE ? null : capacity,
                    instance.answeredCalls(),
                    instance.failedCalls(),
                    instance.health().ejections(),
                    BreakerView.of(instance.health()),
                    CheckView.of(instance.health()),
                    Connections.of(instance.pool()));
        }
    }

    /**
     * The health check of an instance.
     *
     * @param verdict {@code unknown}, {@code passing} or {@code failing}
     * @param ignored whether a failing check has no effect, since it fails at every instance in use
     * @param failures checks that have failed in a row
     * @param lastFailure the last failure; null: none since the instance passes
     * @param agent the word by which its agent keeps the instance out; null: it does not
     */
    public record CheckView(
            String verdict,
            boolean ignored,
            int failures,
            @Nullable String lastFailure,
            @Nullable String agent) {

        static @Nullable CheckView of(Health health) {
            HealthChecks.Status status = health.check();
            return status == null
                    ? null
                    : new CheckView(
                            status.verdict().word(),
                            status.isIgnored(),
                            status.failures(),
                            status.lastFailure(),
                            status.agent());
        }
    }

    /**
     * A route whose own breaker is open or half-open.
     *
     * @param route the route's id; {@code (others)}: those beyond the 64 that are told apart
     */
    public record OpenRoute(String route, BreakerView breaker) {

        static @Nullable List<OpenRoute> of(Health backend) {
            List<OpenRoute> open = backend.role().routes().notClosed().stream()
                    .map(one -> new OpenRoute(one.id(), BreakerView.of(one.health())))
                    .toList();
            return open.isEmpty() ? null : open;
        }
    }

    /** The addresses of a backend; of its only instance, the name. */
    private static String addresses(Instances instances) {
        return instances.isSingle()
                ? instances.first().uri().getScheme() + "://"
                        + instances.first().authority()
                : instances.all().stream().map(Instance::shownAddress).collect(Collectors.joining(", "));
    }

    /**
     * Little's law.
     *
     * @param uncongestedMs with auto, its base latency
     * @param limit the limit in force
     * @param suggestedLimit with auto, its limit; else the limit that the present calls need; 0: not known,
     *     or too few calls to say
     */
    public record Law(
            double arrivalRate,
            double serviceMs,
            double waitingMs,
            double activeCalls,
            double waitingCalls,
            double waitingShare,
            double uncongestedMs,
            int limit,
            int suggestedLimit,
            long retired) {

        static Law of(LittlesLaw law, Backend backend) {
            LittlesLaw.Figures figures = law.figures(backend.limit().limit());
            return new Law(
                    figures.arrivalRate(),
                    figures.serviceNanos() / NANOS_PER_MILLI,
                    figures.waitingNanos() / NANOS_PER_MILLI,
                    figures.activeCalls(),
                    figures.waitingCalls(),
                    figures.waitingShare(),
                    figures.uncongestedNanos() / NANOS_PER_MILLI,
                    backend.bulkhead().maxConcurrentCalls(),
                    figures.suggestedLimit(),
                    figures.retired());
        }
    }

    /**
     * The present state of a backend.
     *
     * @param changes the changes of operators that are in force
     */
    public static BackendView of(Backend backend, List<OperatorChangeView> changes) {
        QueueingBulkhead bulkhead = backend.bulkhead();
        QueueingBulkhead streams = backend.streams();
        Tenants tenants = backend.tenants();
        Map<String, Integer> waiting = new LinkedHashMap<>();
        for (Priority priority : Priority.values()) {
            waiting.put(priority.word(), bulkhead.queued(priority));
        }
        return new BackendView(
                addresses(backend.instances()),
                backend.settings().deadlineNanos() / NANOS_PER_MILLI,
                new Calls(
                        bulkhead.inUse(),
                        bulkhead.maxConcurrentCalls(),
                        bulkhead.queued(),
                        waiting,
                        bulkhead.queueCapacity(),
                        backend.settings().maxWaitNanos() / NANOS_PER_MILLI),
                LimitView.of(backend.limit()),
                new Streams(streams.inUse(), streams.maxConcurrentCalls()),
                new InFlight(
                        backend.compartment().inFlightShare().inFlight(),
                        backend.compartment().inFlightShare().guaranteed()),
                BreakerView.of(backend.health()),
                Connections.of(backend.instances()),
                tenants == null ? null : tenants.figures(),
                backend.observer() instanceof BackendMeters meters ? Law.of(meters.law(), backend) : null,
                backend.retryBudget().available(),
                backend.observer() instanceof BackendMeters meters ? meters.hedges() : Map.of(),
                DryRun.of(backend),
                InstanceView.of(backend.instances()),
                backend.instances().isSingle() ? CheckView.of(backend.health()) : null,
                OpenRoute.of(backend.health()),
                changes);
    }
}
