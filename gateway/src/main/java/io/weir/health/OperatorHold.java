package io.weir.health;

import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.Forced;
import io.weir.health.HealthState.Open;
import org.jspecify.annotations.Nullable;

/** The states that an operator sets and ends. */
public final class OperatorHold {

    private final StateMachine machine;

    OperatorHold(StateMachine machine) {
        this.machine = machine;
    }

    /** Forces the breaker open: it refuses every call until {@linkplain #release() released}. */
    public void forceOpen() {
        force(null);
        HealthGroup group = machine.membership().members();
        if (group != null) {
            group.forceAll(true);
        }
    }

    /**
     * Forces the breaker closed: it permits every call and cannot open until {@linkplain #release()
     * released}.
     */
    public void forceClosed() {
        force(new Generation(machine.now()));
        HealthGroup group = machine.membership().members();
        if (group != null) {
            group.forceAll(false);
        }
    }

    private void force(@Nullable Generation generation) {
        long now = machine.now();
        machine.replace(new Forced(generation, machine.window(), now, "forced by an operator"));
    }

    /** Ends a forced state. The breaker is then closed, with an empty window. */
    public void release() {
        HealthGroup group = machine.membership().members();
        if (group != null) {
            group.releaseAll();
        }
        machine.replace(machine.fresh("released by an operator"));
        machine.routes().release();
        if (group != null) {
            // The instances may have opened before the backend was released.
            group.changed(null);
        }
    }

    /**
     * Takes an instance out: it gets neither calls nor probes until it {@linkplain #restore() returns}. Its
     * calls under way end as they would have, and are no evidence. A state that an operator forces on the
     * backend does not return it.
     */
    public void drain() {
        HealthState seen = machine.present();
        while (!(seen instanceof Drained)
                && !machine.transition(
                        seen,
                        new Drained(
                                seen.generation(),
                                StateMachine.rates(seen),
                                machine.now(),
                                "drained by an operator"))) {
            seen = machine.present();
        }
    }

    /**
     * Returns a drained instance: with the ramp of a recovering one, since it may have restarted meanwhile,
     * or in the state that an operator forces on the backend. No effect on any other instance.
     */
    public void restore() {
        HealthGroup group = machine.membership().peers();
        Forced forced = group == null ? null : group.forced();
        long now = machine.now();
        if (machine.present() instanceof Drained drained) {
            machine.transition(
                    drained, forced == null ? machine.ramp(0, now, "returned by an operator") : like(forced, now));
        }
    }

    /** A state as another health has it, of calls that begin now. */
    Forced like(Forced other, long now) {
        return new Forced(other.generation() == null ? null : new Generation(now), machine.window(), now, other.why());
    }

    /** Opens the breaker as if the backend had failed. For Resilience4j's interface. */
    void openNow() {
        HealthState seen = machine.present();
        while (!(seen instanceof Open)) {
            machine.open(seen, false, "opened through Resilience4j", machine.now());
            seen = machine.present();
        }
    }

    /** Half-opens an open breaker. For Resilience4j's interface. */
    void halfOpenNow() {
        HealthGroup group = machine.membership().members();
        if (group != null) {
            group.halfOpenAll();
        } else if (machine.present() instanceof Open open) {
            machine.halfOpen(open, "half-opened through Resilience4j", machine.now());
        }
    }
}
