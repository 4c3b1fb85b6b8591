package io.weir.management;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.weir.engine.Backend;
import io.weir.engine.Enforcement;
import io.weir.health.Breaker;
import io.weir.instance.Pool;
import io.weir.limit.LittlesLaw;
import io.weir.limit.QueueingBulkhead;
import io.weir.metrics.BackendMeters;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A backend's live state, as the endpoint {@code weir} shows it. Times are in milliseconds, rates in percent.
 *
 * @param uri where it is
 * @param deadlineMs time for an exchange
 * @param calls the bulkhead
 * @param streams streams and WebSockets
 * @param breaker the circuit breaker
 * @param pool the connections
 * @param law Little's law; null if nobody measures
 * @param retryBudget retries that the budget's share would allow now
 * @param dryRun what is only tried out; null: everything is enforced
 */
public record BackendView(
        String uri,
        double deadlineMs,
        Calls calls,
        Streams streams,
        BreakerView breaker,
        Connections pool,
        @Nullable Law law,
        long retryBudget,
        @Nullable DryRun dryRun) {

    private static final double MILLISECOND = 1e6;

    /** Calls in the backend, and in front of it. */
    public record Calls(int active, int limit, int waiting, int queueCapacity, double maxWaitMs) {}

    /** Streams and WebSockets. */
    public record Streams(int active, int limit) {}

    /**
     * The circuit breaker.
     *
     * @param failureRate null while there are too few calls to say
     * @param slowCallRate null while there are too few calls to say
     * @param overdue calls under way that are slow already
     * @param nextProbeMs time to the next probe; null if none is to come
     */
    public record BreakerView(
            String state,
            boolean forced,
            @Nullable Float failureRate,
            @Nullable Float slowCallRate,
            int overdue,
            int probes,
            @Nullable Double nextProbeMs) {

        static BreakerView of(Breaker breaker) {
            CircuitBreaker.Metrics metrics = breaker.resilience4j().getMetrics();
            boolean open = breaker.state() == CircuitBreaker.State.OPEN;
            return new BreakerView(
                    BackendMeters.stateWord(breaker),
                    BackendMeters.isForced(breaker),
                    rate(metrics.getFailureRate()),
                    rate(metrics.getSlowCallRate()),
                    breaker.overdue(),
                    breaker.probesUnderWay(),
                    open ? breaker.nanosToNextProbe() / MILLISECOND : null);
        }

        private static @Nullable Float rate(float percent) {
            return percent < 0 ? null : percent;
        }
    }

    /**
     * Protections that are tried out.
     *
     * @param bulkhead whether it only counts
     * @param circuitBreaker whether it only counts
     * @param deadline whether it only counts
     * @param waiting calls that would wait for a permit now
     * @param wouldRefuse exchanges that went on and would have been refused, since the start, by reason
     */
    public record DryRun(
            boolean bulkhead, boolean circuitBreaker, boolean deadline, int waiting, Map<String, Long> wouldRefuse) {

        static @Nullable DryRun of(Backend backend) {
            Enforcement enforcement = backend.settings().enforcement();
            if (enforcement.bulkhead() && enforcement.circuitBreaker() && enforcement.deadline()) {
                return null;
            }
            QueueingBulkhead trial = backend.dryRunBulkhead();
            return new DryRun(
                    !enforcement.bulkhead(),
                    !enforcement.circuitBreaker(),
                    !enforcement.deadline(),
                    trial == null ? 0 : trial.queued(),
                    backend.observer() instanceof BackendMeters meters ? meters.wouldHaveRefused() : Map.of());
        }
    }

    /** The connections to the backend. */
    public record Connections(int acquired, int idle, int pending, int limit) {}

    /** Little's law. */
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

        static Law of(LittlesLaw law, QueueingBulkhead bulkhead) {
            LittlesLaw.Figures figures = law.figures();
            return new Law(
                    figures.arrivalRate(),
                    figures.serviceNanos() / MILLISECOND,
                    figures.waitingNanos() / MILLISECOND,
                    figures.activeCalls(),
                    figures.waitingCalls(),
                    figures.waitingShare(),
                    figures.uncongestedNanos() / MILLISECOND,
                    bulkhead.maxConcurrentCalls(),
                    figures.suggestedLimit(),
                    figures.retired());
        }
    }

    /** The state of a backend now. */
    public static BackendView of(Backend backend) {
        QueueingBulkhead bulkhead = backend.bulkhead();
        QueueingBulkhead streams = backend.streams();
        Pool pool = backend.pool();
        return new BackendView(
                // Not the URI itself: it may carry a user's name and password.
                backend.settings().uri().getScheme() + "://"
                        + backend.settings().authority(),
                backend.settings().deadlineNanos() / MILLISECOND,
                new Calls(
                        bulkhead.inUse(),
                        bulkhead.maxConcurrentCalls(),
                        bulkhead.queued(),
                        bulkhead.queueCapacity(),
                        backend.settings().maxWaitNanos() / MILLISECOND),
                new Streams(streams.inUse(), streams.maxConcurrentCalls()),
                BreakerView.of(backend.breaker()),
                new Connections(pool.acquired(), pool.idle(), pool.pending(), pool.maxConnections()),
                backend.observer() instanceof BackendMeters meters ? Law.of(meters.law(), bulkhead) : null,
                backend.retryBudget().available(),
                DryRun.of(backend));
    }
}
