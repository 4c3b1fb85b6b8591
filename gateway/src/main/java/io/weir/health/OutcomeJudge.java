package io.weir.health;

import io.github.resilience4j.core.metrics.Metrics.Outcome;
import io.github.resilience4j.core.metrics.Snapshot;
import io.weir.health.HealthState.Closed;
import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.Forced;
import io.weir.health.HealthState.HalfOpen;
import io.weir.health.HealthState.Open;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Records the results of calls, and opens the breaker when their rates reach a threshold. It has no state of
 * its own: a result is recorded in the state of the breaker, and forgotten with it.
 */
final class OutcomeJudge {

    private static final double NANOS_PER_SECOND = 1e9;

    private final Health health;
    private final StateMachine machine;

    OutcomeJudge(Health health, StateMachine machine) {
        this.health = health;
        this.machine = machine;
    }

    /**
     * A call of a backend with one instance, or of an instance, was answered well.
     *
     * @param generation the call's generation; null: the call is no evidence
     */
    void succeeded(@Nullable Generation generation, long backendNanos, long now) {
        boolean slow = isSlow(backendNanos);
        health.resilience4j().publishSuccess(backendNanos);
        switch (machine.present()) {
            case Closed closed
            when closed.generation() == generation -> {
                Snapshot rates = closed.window().record(backendNanos, slow ? Outcome.SLOW_SUCCESS : Outcome.SUCCESS);
                openIfFailing(closed, rates, null, now);
                tellPeers(backendNanos, null, now);
            }
            case HalfOpen ramp
            when ramp.generation() == generation -> {
                ramp.window().record(backendNanos, Outcome.SUCCESS);
                ramp.succeeded();
                machine.rampGrew(ramp, now);
                tellPeers(backendNanos, null, now);
            }
            // After failures, an answer to an earlier call is no new evidence. After a stall, any answer
            // shows that the backend answers again.
            case Open open
            when open.isStalled() && generation != null ->
                machine.recovered(open, "a call that was under way was answered", backendNanos, now);
            case Forced forced
            when forced.generation() == generation ->
                forced.window().record(backendNanos, slow ? Outcome.SLOW_SUCCESS : Outcome.SUCCESS);
            default -> {
                // The call is of an earlier generation.
            }
        }
    }

    /**
     * A call of a backend with one instance, or of an instance, has failed.
     *
     * @param generation as for {@link #succeeded}
     */
    void failed(@Nullable Generation generation, long backendNanos, BackendFailure failure, long now) {
        boolean slow = isSlow(backendNanos);
        health.resilience4j().publishError(backendNanos, failure);
        switch (machine.present()) {
            case Closed closed
            when closed.generation() == generation -> {
                Snapshot rates = closed.window().record(backendNanos, slow ? Outcome.SLOW_ERROR : Outcome.ERROR);
                openIfFailing(closed, rates, failure, now);
                tellPeers(backendNanos, failure, now);
            }
            case HalfOpen ramp
            when ramp.generation() == generation -> {
                ramp.window().record(backendNanos, Outcome.ERROR);
                ramp.failed(now);
                tellPeers(backendNanos, failure, now);
                if (ramp.isFailing(machine.settings().breaker().failureRateThreshold()) && !isOthers(now)) {
                    machine.fail(ramp, false, "failing, " + ramp.counts() + ": " + failure.getMessage(), now);
                }
            }
            case Forced forced
            when forced.generation() == generation ->
                forced.window().record(backendNanos, slow ? Outcome.SLOW_ERROR : Outcome.ERROR);
            default -> {
                // While open, a failure is no new evidence. In other states, the call is of an earlier
                // generation.
            }
        }
    }

    private void tellPeers(long backendNanos, @Nullable BackendFailure failure, long now) {
        HealthGroup group = machine.membership().peers();
        if (group == null) {
            return;
        }
        if (failure == null) {
            group.succeeded(health, backendNanos, now);
        } else {
            group.failed(health, backendNanos, failure, now);
        }
    }

    /** Of a backend with several instances: the result of a call to one of them. */
    void pool(long backendNanos, @Nullable BackendFailure failure, long now) {
        boolean slow = isSlow(backendNanos);
        Outcome outcome;
        if (failure == null) {
            health.resilience4j().publishSuccess(backendNanos);
            outcome = slow ? Outcome.SLOW_SUCCESS : Outcome.SUCCESS;
        } else {
            health.resilience4j().publishError(backendNanos, failure);
            outcome = slow ? Outcome.SLOW_ERROR : Outcome.ERROR;
        }
        switch (machine.present()) {
            case Closed closed -> openIfFailing(closed, closed.window().record(backendNanos, outcome), failure, now);
            case Forced forced -> forced.window().record(backendNanos, outcome);
            case HalfOpen ramp -> ramp.window().record(backendNanos, outcome);
            case Open open -> {
                // The call was sent before the instances opened.
            }
            case Drained drained -> {
                // Only an instance is drained, and no results are pooled in its health.
            }
        }
    }

    /** Whether the failures of a ramp are those of single routes, or of few callers. */
    private boolean isOthers(long now) {
        return !machine.isRoute() && machine.isVetoed(now);
    }

    private boolean isSlow(long backendNanos) {
        return backendNanos >= machine.settings().slowNanos();
    }

    private void openIfFailing(Closed closed, Snapshot rates, @Nullable BackendFailure last, long now) {
        HealthSettings settings = machine.settings();
        CircuitBreakerProperties breaker = settings.breaker();
        int calls = rates.getTotalNumberOfCalls();
        if (calls < settings.minimumNumberOfCalls()) {
            return;
        }
        if (rates.getNumberOfFailedCalls() > 0
                && rates.getFailureRate() >= breaker.failureRateThreshold()
                && machine.membership().isForItToOpen(health, false, breaker.failureRateThreshold(), now)
                && !machine.isVetoed(now)) {
            String why = "failing, %d of %d calls failed%s"
                    .formatted(rates.getNumberOfFailedCalls(), calls, last == null ? "" : ": " + last.getMessage());
            machine.fail(closed, false, why, now);
        } else if (rates.getTotalNumberOfSlowCalls() > 0
                && rates.getSlowCallRate() >= breaker.slowCallRateThreshold()
                && machine.membership().isForItToOpen(health, true, breaker.slowCallRateThreshold(), now)) {
            String why = "slow, %d of %d calls took %s or longer"
                    .formatted(rates.getTotalNumberOfSlowCalls(), calls, seconds(settings.slowNanos()));
            machine.fail(closed, false, why, now);
        }
    }

    static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.1f s", nanos / NANOS_PER_SECOND);
    }
}
