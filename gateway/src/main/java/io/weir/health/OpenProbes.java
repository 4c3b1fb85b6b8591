package io.weir.health;

import io.weir.health.HealthState.Open;
import org.jspecify.annotations.Nullable;

/**
 * The probes of a breaker while it is open. The schedule belongs to the open state. No probe starts while the
 * instance has asked to be left alone ({@link Pushback}).
 */
public final class OpenProbes implements Probe.Owner {

    private final StateMachine machine;

    OpenProbes(StateMachine machine) {
        this.machine = machine;
    }

    /**
     * Starts a probe if the breaker is open and a probe is due. {@link #answered} or
     * {@link #failed} must follow.
     *
     * @param usualNanos the usual time of such a request; 0: unknown
     * @param isCallers whether a caller waits for the answer; such a probe is never patient
     */
    public @Nullable Probe tryStart(long now, long usualNanos, boolean isCallers) {
        return machine.present() instanceof Open open && !machine.pushback().isInForce(now)
                ? owned(open.probes().tryStart(now, patienceNanos(usualNanos), !isCallers))
                : null;
    }

    /**
     * Starts a caller's request as a probe if the breaker is open and no probe has started for two intervals.
     * One at a time.
     *
     * @param usualNanos as for {@link #tryStart}
     */
    public @Nullable Probe tryStartLastResort(long now, long usualNanos) {
        return machine.present() instanceof Open open && !machine.pushback().isInForce(now)
                ? owned(open.probes().tryStartLastResort(now, patienceNanos(usualNanos)))
                : null;
    }

    /**
     * Starts a caller's request as a probe of an instance while other instances could serve it. The intervals
     * double up to half a minute: each such probe may cost its caller the answer.
     *
     * @param usualNanos as for {@link #tryStart}
     */
    public @Nullable Probe tryStartRare(long now, long usualNanos) {
        return machine.present() instanceof Open open && !machine.pushback().isInForce(now)
                ? owned(open.probes().tryStartRare(now, open.since(), patienceNanos(usualNanos)))
                : null;
    }

    private @Nullable Probe owned(@Nullable Probe started) {
        return started == null ? null : started.ownedBy(this);
    }

    private long patienceNanos(long usualNanos) {
        return machine.settings().probeNanos(usualNanos);
    }

    /** Whether {@link #tryStartLastResort} would start a probe. */
    public boolean isLastResortDue(long now, long usualNanos) {
        HealthGroup group = machine.membership().members();
        if (group != null) {
            return group.isLastResortDue(now, usualNanos);
        }
        return machine.present() instanceof Open open
                && !machine.pushback().isInForce(now)
                && open.probes().isLastResortDue(now, patienceNanos(usualNanos));
    }

    /** A probe was answered well. It may have been started in an earlier opening. */
    @Override
    public void answered(Probe probe, long now) {
        if (probe.end() && machine.present() instanceof Open open) {
            machine.recovered(open, "a probe was answered", now - probe.startedAt(), now);
        }
    }

    @Override
    public void pushedBack(long nanos, long now) {
        machine.pushback().asked(nanos, now);
    }

    /** A probe failed, or was given up. That changes no state: the breaker is open already. */
    public void failed(Probe probe) {
        probe.end();
    }

    /** Time until the next probe; zero if the breaker is not open, or if a probe is due. */
    public long nanosToNext() {
        HealthGroup group = machine.membership().members();
        if (group != null) {
            return group.nanosToNextProbe();
        }
        if (!(machine.present() instanceof Open open)) {
            return 0;
        }
        long now = machine.now();
        return Math.max(machine.pushback().leftNanos(now), open.probes().nanosToNextProbe(now, patienceNanos(0)));
    }

    /** Probes under way. */
    public int underWay() {
        HealthGroup group = machine.membership().members();
        if (group != null) {
            return group.probesUnderWay();
        }
        return machine.present() instanceof Open open ? open.probes().underWay() : 0;
    }
}
