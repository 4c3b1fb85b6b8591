package io.weir.health;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A request that finds out whether a backend, an instance or a route has recovered. {@link #answered} or
 * {@link #failed} ends it; only the first call counts.
 */
public final class Probe {

    private final ProbeSchedule schedule;
    private final long startedAt;
    private final long patienceNanos;
    private final boolean isPatient;
    private final boolean isLastResort;
    private final AtomicBoolean ended = new AtomicBoolean();
    /** Set before the probe is handed out. */
    private @Nullable Owner owner;

    Probe(ProbeSchedule schedule, long startedAt, long patienceNanos, boolean isPatient, boolean isLastResort) {
        this.schedule = schedule;
        this.startedAt = startedAt;
        this.patienceNanos = patienceNanos;
        this.isPatient = isPatient;
        this.isLastResort = isLastResort;
    }

    long startedAt() {
        return startedAt;
    }

    /** The time after which the probe is given up. */
    public long patienceNanos() {
        return patienceNanos;
    }

    boolean isPatient() {
        return isPatient;
    }

    boolean isLastResort() {
        return isLastResort;
    }

    /** What has started the probe. */
    interface Owner {

        /** The probe was answered well. */
        void answered(Probe probe, long now);

        /** The answer asks the gateway to stay away for this time. */
        void pushedBack(long nanos, long now);
    }

    Probe ownedBy(Owner starter) {
        owner = starter;
        return this;
    }

    /** The probe was answered well. It may have been started in an earlier opening. */
    public void answered(long now) {
        if (owner != null) {
            owner.answered(this, now);
        }
    }

    /** The answer, which is not good, asks the gateway to stay away for this time. */
    public void pushedBack(long nanos, long now) {
        if (owner != null) {
            owner.pushedBack(nanos, now);
        }
    }

    /** The probe failed, or was given up. That changes no state: the breaker is open already. */
    public void failed() {
        end();
    }

    /** Gives the probe's place back. False: it has ended before. */
    boolean end() {
        if (!ended.compareAndSet(false, true)) {
            return false;
        }
        schedule.ended(this);
        return true;
    }
}
