package io.weir.health;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The probes of one opening: one per interval, jittered by a tenth, and a limit on concurrent probes.
 *
 * <p>A backend that hangs swallows probes. So each probe is given up after the stall time, and while one is
 * unanswered the next ones are spaced evenly over that time, so that a place is free soon after the backend
 * has recovered. One probe at a time is patient, for 2, 4, 8 … times the stall time up to the deadline, so
 * that a backend which answers again, but more slowly than before, is found.
 *
 * <p>The jitter spreads the probes of several gateways. It is small, because it delays the detection of a
 * recovery.
 */
// Concurrency: a probe is claimed by a CAS of `lastStartedAt`, so only one of the threads that find a probe
// due starts it. A thread that loses corrects the counters.
final class ProbeSchedule {

    private static final double JITTER = 0.1;
    private static final int LAST_RESORT_INTERVALS = 2;
    private static final int LARGEST_EXPONENT = 20;
    private static final long LONGEST_RARE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final long intervalNanos;
    private final int maxProbes;
    private final long deadlineNanos;
    private final DoubleSupplier random;
    private final AtomicLong lastStartedAt;
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicInteger unansweredPatient = new AtomicInteger();
    private final AtomicBoolean patientUnderWay = new AtomicBoolean();
    private final AtomicBoolean lastResortUnderWay = new AtomicBoolean();
    private volatile double jitter;

    /** An interval so long that no probe is due, and so short that its multiples do not overflow. */
    private static final long NEVER_NANOS = Long.MAX_VALUE / 8;

    /** A schedule that starts with the opening: the first probe is due an interval later. */
    ProbeSchedule(HealthSettings settings, DoubleSupplier random, long now) {
        this(settings, random, now, settings.recovery().probeInterval().toNanos());
    }

    /** A schedule without probes: a passed health check ends the opening. */
    static ProbeSchedule never(HealthSettings settings, DoubleSupplier random, long now) {
        return new ProbeSchedule(settings, random, now, NEVER_NANOS);
    }

    private ProbeSchedule(HealthSettings settings, DoubleSupplier random, long now, long intervalNanos) {
        this.intervalNanos = intervalNanos;
        this.maxProbes = settings.recovery().maxProbes();
        this.deadlineNanos = settings.deadlineNanos();
        this.random = random;
        this.lastStartedAt = new AtomicLong(now);
        this.jitter = nextJitter();
    }

    /**
     * Starts a probe if one is due.
     *
     * @param stallNanos the time after which a probe is given up, except the patient one
     * @param mayBePatient whether no caller waits for the probe
     */
    @Nullable
    Probe tryStart(long now, long stallNanos, boolean mayBePatient) {
        long last = lastStartedAt.get();
        if (now - last < spacingNanos(stallNanos)) {
            return null;
        }
        if (underWay.incrementAndGet() > maxProbes || !claim(last, now)) {
            underWay.decrementAndGet();
            return null;
        }
        if (mayBePatient && maxProbes > 1 && patientUnderWay.compareAndSet(false, true)) {
            int exponent = Math.min(LARGEST_EXPONENT, 1 + unansweredPatient.get());
            long patience = Math.min(deadlineNanos, Math.max(stallNanos, stallNanos << exponent));
            return new Probe(this, now, patience, true, false);
        }
        return new Probe(this, now, stallNanos, false, false);
    }

    /**
     * Starts a caller's request as a probe if no probe has started for two intervals. One at a time, since a
     * caller waits for the answer.
     */
    @Nullable
    Probe tryStartLastResort(long now, long stallNanos) {
        long last = lastStartedAt.get();
        if (!isLastResortDue(now, stallNanos) || !lastResortUnderWay.compareAndSet(false, true)) {
            return null;
        }
        if (!claim(last, now)) {
            lastResortUnderWay.set(false);
            return null;
        }
        underWay.incrementAndGet();
        return new Probe(this, now, stallNanos, false, true);
    }

    /**
     * As {@link #tryStartLastResort}, at intervals that double.
     *
     * @param since the moment of the opening
     */
    @Nullable
    Probe tryStartRare(long now, long since, long stallNanos) {
        long last = lastStartedAt.get();
        return now - last < Math.min(LONGEST_RARE_NANOS, last - since) ? null : tryStartLastResort(now, stallNanos);
    }

    boolean isLastResortDue(long now, long stallNanos) {
        return now - lastStartedAt.get() >= LAST_RESORT_INTERVALS * spacingNanos(stallNanos)
                && !lastResortUnderWay.get();
    }

    private boolean claim(long last, long now) {
        if (!lastStartedAt.compareAndSet(last, now)) {
            return false;
        }
        jitter = nextJitter();
        return true;
    }

    /** Called once for each probe, with or without an answer. */
    void ended(Probe probe) {
        underWay.decrementAndGet();
        if (probe.isPatient()) {
            unansweredPatient.incrementAndGet();
            patientUnderWay.set(false);
        }
        if (probe.isLastResort()) {
            lastResortUnderWay.set(false);
        }
    }

    /** Time until the next probe is due; zero if one is due. */
    long nanosToNextProbe(long now, long stallNanos) {
        return Math.max(0, lastStartedAt.get() + spacingNanos(stallNanos) - now);
    }

    /** The number of probes under way. */
    int underWay() {
        return underWay.get();
    }

    private long spacingNanos(long stallNanos) {
        // One place belongs to the patient probe.
        long evenly = stallNanos / Math.max(1, maxProbes - 1);
        long spacing = underWay.get() == 0 ? intervalNanos : Math.max(intervalNanos, evenly);
        return (long) (spacing * jitter);
    }

    private double nextJitter() {
        return 1 + JITTER * (2 * random.getAsDouble() - 1);
    }
}
