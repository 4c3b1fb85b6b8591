package io.weir.health;

import io.weir.health.HealthState.Cause;
import io.weir.health.HealthState.Open;
import org.jspecify.annotations.Nullable;

/** The effect of an instance's health check on its breaker. {@link HealthChecks} judges the check. */
final class CheckVerdict {

    private final StateMachine machine;
    /** For display; null: the instance has no health check. */
    private volatile HealthChecks.@Nullable Status status;

    CheckVerdict(StateMachine machine) {
        this.machine = machine;
    }

    void status(HealthChecks.@Nullable Status next) {
        status = next;
    }

    HealthChecks.@Nullable Status status() {
        return status;
    }

    /**
     * The health check fails: the instance gets neither calls nor probes until {@link #passed} or
     * {@link #ignored}. Calls under way go on. A state that an operator forces stays.
     *
     * @param isSilent whether the instance answered neither the check nor any call: its calls under way hang
     */
    void failed(String cause, boolean isSilent, long now) {
        HealthState seen = machine.present();
        while (!seen.isOperators()
                && !(seen instanceof Open held && held.isHeldByCheck())
                && !machine.transition(seen, held(seen, cause, isSilent, now))) {
            seen = machine.present();
        }
    }

    private Open held(HealthState from, String cause, boolean isSilent, long now) {
        ProbeSchedule none = machine.noProbes(now);
        return from instanceof Open open
                ? open.withCause(Cause.CALLS_AND_CHECK, none)
                : new Open(none, StateMachine.rates(from), isSilent, 0, now, cause, Cause.CHECK);
    }

    /** The health check passes: the instance returns, unless its calls have ejected it. */
    void passed(long now) {
        if (machine.present() instanceof Open open && open.cause() == Cause.CHECK) {
            machine.halfOpen(open, "its health check passes", now);
        } else {
            ignored(now);
        }
    }

    /** The health check has no effect: an instance that it has taken out returns when a probe is answered. */
    void ignored(long now) {
        while (machine.present() instanceof Open open && open.isHeldByCheck()) {
            if (machine.transition(open, open.withCause(Cause.CALLS, machine.schedule(now)))) {
                machine.openedAgain();
            }
        }
    }

    /** The instance has another weight: its peers divide the calls anew. */
    void weightChanged() {
        HealthGroup peers = machine.membership().peers();
        if (peers != null) {
            peers.changed(null);
        }
    }
}
