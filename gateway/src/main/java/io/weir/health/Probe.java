package io.weir.health;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A request that finds out whether a backend has recovered. {@link OpenProbes#answered} or {@link
 * OpenProbes#failed} ends it; only the first call counts.
 */
public final class Probe {

    private final ProbeSchedule schedule;
    private final long patienceNanos;
    private final boolean isPatient;
    private final boolean isLastResort;
    private final AtomicBoolean ended = new AtomicBoolean();

    Probe(ProbeSchedule schedule, long patienceNanos, boolean isPatient, boolean isLastResort) {
        this.schedule = schedule;
        this.patienceNanos = patienceNanos;
        this.isPatient = isPatient;
        this.isLastResort = isLastResort;
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

    /** Gives the probe's place back. False: it has ended before. */
    boolean end() {
        if (!ended.compareAndSet(false, true)) {
            return false;
        }
        schedule.ended(this);
        return true;
    }
}
